package slurmtest_test

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/slurmtide/slurmtide/slurmclient/slurm"
	"github.com/slurmtide/slurmtide/slurmclient/slurmtest"
)

// nodeStates returns the states of the nodes in a list.
func nodeStates(t *testing.T, body string) map[string]string {
	t.Helper()
	states := map[string]string{}
	for _, n := range decodeJSON(t, body)["nodes"].([]any) {
		m := n.(map[string]any)
		var words []string
		for _, w := range m["state"].([]any) {
			words = append(words, w.(string))
		}
		states[m["name"].(string)] = strings.Join(words, "+")
	}
	return states
}

func TestShowFlagsChangeNodeStates(t *testing.T) {
	c := smallCluster("")
	must(t, c.CreateNodes("NodeName=f1 CPUs=1 RealMemory=1000 State=FUTURE"))
	mustSubmit(t, c, foreverJob(slurm.JobRequest{Tasks: 1}))
	c.Step(time.Second)
	url := startServer(t, c).URL + "/slurm/v0.0.45/nodes/"
	cases := map[string]struct {
		query  string
		status int
		want   map[string]string
	}{
		"without flags":      {"", 200, map[string]string{"n1": "MIXED", "n2": "IDLE"}},
		"DETAIL hides MIXED": {"?flags=DETAIL", 200, map[string]string{"n1": "ALLOCATED", "n2": "IDLE"}},
		"DETAIL and MIXED":   {"?flags=DETAIL&flags=MIXED", 200, map[string]string{"n1": "MIXED", "n2": "IDLE"}},
		"FUTURE adds nodes": {"?flags=FUTURE", 200,
			map[string]string{"n1": "ALLOCATED", "n2": "IDLE", "f1": "FUTURE+DYNAMIC_NORM"}},
		"an unknown flag fails": {"?flags=NOSUCH", 500, map[string]string{"n1": "ALLOCATED", "n2": "IDLE"}},
	}
	for name, tc := range cases {
		status, body := doRequest(t, "GET", url+tc.query, "")
		if diff := cmp.Diff(tc.want, nodeStates(t, body)); status != tc.status || diff != "" {
			t.Errorf("%s: status %d, want %d\n%s", name, status, tc.status, diff)
		}
	}
	if status, body := doRequest(t, "GET", url+"?flags=DETAIL,MIXED", ""); status != 500 ||
		body != "Unspecified error" {
		t.Errorf("flags joined by a comma: %d %s", status, body)
	}
}

func TestCompactAnswersHaveTheSameContent(t *testing.T) {
	var bodies []string
	for _, compact := range []bool{false, true} {
		c := slurmtest.New(slurmtest.Config{Now: testClock, Compact: compact,
			Nodes: []slurmtest.NodeConf{{Names: "n[1-3]"}}})
		_, body := doRequest(t, "GET", startServer(t, c).URL+"/slurm/v0.0.45/nodes/", "")
		bodies = append(bodies, body)
	}
	var pretty bytes.Buffer
	must(t, json.Compact(&pretty, []byte(bodies[0])))
	if diff := cmp.Diff(strings.TrimSpace(pretty.String()), strings.TrimSpace(bodies[1])); diff != "" {
		t.Error(diff)
	}
}

func TestSlurmdbIsNotServedWithoutAccounting(t *testing.T) {
	c := slurmtest.New(slurmtest.Config{Now: testClock, NoAccounting: true})
	url := startServer(t, c).URL
	if status, _ := doRequest(t, "GET", url+"/slurmdb/v0.0.45/users/", ""); status != http.StatusNotFound {
		t.Errorf("status %d, want 404", status)
	}
	_, body := doRequest(t, "GET", url+"/slurm/v0.0.45/ping/", "")
	if !strings.Contains(body, `"accounting_storage": ""`) {
		t.Errorf("the answer has a value for accounting_storage: %s", body)
	}
}

func TestOpenAPIListsTheServedVersions(t *testing.T) {
	_, body := doRequest(t, "GET", startServer(t, smallCluster(slurmtest.Release2411)).URL+"/openapi/v3", "")
	paths := decodeJSON(t, body)["paths"].(map[string]any)
	for path, want := range map[string]bool{"/slurm/v0.0.40/nodes/": true, "/slurm/v0.0.42/job/{job_id}": true,
		"/slurm/v0.0.42/shares": true, "/slurm/v0.0.43/nodes/": false, "/slurmdb/v0.0.41/ping/": false} {
		if _, got := paths[path]; got != want {
			t.Errorf("%s is listed: %v, want %v", path, got, want)
		}
	}
}

func TestPathsDependOnTheVersion(t *testing.T) {
	old, young := startServer(t, smallCluster(slurmtest.Release2411)).URL, startServer(t, smallCluster("")).URL
	const conf = `{"node_conf": "NodeName=x1 State=FUTURE"}`
	for _, tc := range []struct {
		method, url, body string
		want              int
	}{
		{"POST", young + "/slurm/v0.0.45/new/node/", conf, 200},
		{"POST", young + "/slurm/v0.0.44/new/node/", conf, 404},
		{"DELETE", young + "/slurm/v0.0.43/reservation/r", "", 422},
		{"DELETE", young + "/slurm/v0.0.42/reservation/r", "", 404},
		{"GET", old + "/slurmdb/v0.0.41/ping/", "", 404},
		{"GET", old + "/slurmdb/v0.0.42/ping/", "", 200},
	} {
		if status, body := doRequest(t, tc.method, tc.url, tc.body); status != tc.want {
			t.Errorf("%s %s: status %d, want %d: %.200s", tc.method, tc.url, status, tc.want, body)
		}
	}
}

func TestBadRequestsAreRefused(t *testing.T) {
	url := startServer(t, smallCluster("")).URL + "/slurm/v0.0.45"
	for _, tc := range []struct {
		name, path, body string
		want             int
	}{
		{"a body that is not JSON", "/job/submit", "nonsense", 400},
		{"no job", "/job/submit", `{}`, 422},
		{"no environment", "/job/submit", `{"script": "#!/bin/sh\n", "job": {}}`, 422},
		{"an unknown state", "/node/n1", `{"state": ["SLEEPY"]}`, 500},
		{"a state as text", "/node/n1", `{"state": "DRAIN"}`, 200},
		{"a number that is null", "/node/n1", `{"weight": null}`, 200},
	} {
		if status, body := doRequest(t, "POST", url+tc.path, tc.body); status != tc.want {
			t.Errorf("%s: status %d, want %d: %.300s", tc.name, status, tc.want, body)
		}
	}
	req, err := http.NewRequestWithContext(t.Context(), "POST", url+"/node/n1", strings.NewReader("state=DRAIN"))
	must(t, err)
	req.Header.Set("X-SLURM-USER-TOKEN", "token")
	req.Header.Set("Content-Type", "text/plain")
	resp, err := http.DefaultClient.Do(req)
	must(t, err)
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusUnsupportedMediaType {
		t.Errorf("another content type: status %d, want 415", resp.StatusCode)
	}
}

func TestLongArrayTextIsTruncated(t *testing.T) {
	for limit, want := range map[int]string{
		0:   "1,3,6,10,15,21,28,36,45,55,66,78,91,105,120,136,153,171,190,...",
		200: "1,3,6,10,15,21,28,36,45,55,66,78,91,105,120,136,153,171,190,210,231,253,276,300",
	} {
		c := slurmtest.New(slurmtest.Config{Now: testClock, BitstrLen: limit,
			Nodes: []slurmtest.NodeConf{{Names: "n1", MemoryMiB: 1000}}})
		id := mustSubmit(t, c, slurmtest.JobSpec{JobRequest: slurm.JobRequest{Hold: true,
			Array: "1,3,6,10,15,21,28,36,45,55,66,78,91,105,120,136,153,171,190,210,231,253,276,300"}})
		if j, _ := c.Job(id); j.ArrayTasks != want {
			t.Errorf("limit %d: %q, want %q", limit, j.ArrayTasks, want)
		}
	}
}

func TestUnknownUserMaySubmitToOldReleasesOnly(t *testing.T) {
	for release, want := range map[string]string{slurmtest.Release2411: "nobody", slurmtest.Release2605: ""} {
		c := smallCluster(release)
		req, err := http.NewRequestWithContext(t.Context(), "POST", startServer(t, c).URL+"/slurm/v0.0.42/job/submit",
			strings.NewReader(`{"script": "#!/bin/sh\n", "job": {"environment": ["A=b"]}}`))
		must(t, err)
		req.Header.Set("X-SLURM-USER-TOKEN", "token")
		req.Header.Set("X-SLURM-USER-NAME", "zoe")
		req.Header.Set("Content-Type", "application/json")
		resp, err := http.DefaultClient.Do(req)
		must(t, err)
		resp.Body.Close()
		got := ""
		for _, j := range c.Jobs() {
			got = j.UserName()
		}
		if got != want {
			t.Errorf("%s: the job's user is %q, want %q", release, got, want)
		}
	}
}
