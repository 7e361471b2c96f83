package slurmtest_test

import (
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/slurmtide/slurmtide/slurmclient"
	"github.com/slurmtide/slurmtide/slurmclient/slurm"
	"github.com/slurmtide/slurmtide/slurmclient/slurmtest"
)

// normalizeAnswer replaces what differs from one request to the next.
func normalizeAnswer(text string) string {
	for pattern, with := range map[string]string{
		`"source": "[^"]*fd:9\)"`:           `"source": "SOURCE"`,
		`"cluster": "[^"]*"`:                `"cluster": "NAME"`,
		`"latency": \d+`:                    `"latency": 1`,
		`"job_id": \d+`:                     `"job_id": 1`,
		`"accounting_storage": "[^"]*"`:     `"accounting_storage": "STORAGE"`,
		`(?s)("client": \{.*?)"user".*?\}`:  `$1}`,
		`update_time\[\d+\]=[-0-9T:]+`:      `update_time[SINCE]`,
		`Failure to update node [a-z0-9]+`:  `Failure to update node NAME`,
		`Failure to query node [a-z0-9]+`:   `Failure to query node NAME`,
		`"step_id": "\d+"`:                  `"step_id": "1"`,
		`("job_id": \{[^}]*"number": )\d+`:  `${1}1`,
		`(?m)^HTTP (\d+) .*ct=([a-z/]+)\n?`: "HTTP $1 $2\n",
	} {
		text = regexp.MustCompile(pattern).ReplaceAllString(text, with)
	}
	return strings.TrimSpace(text)
}

type apiRequest struct {
	method, path, body string
	user               string // the token's user; "" sends no token
	expired            bool
	controllerDown     bool // slurmctld is down
}

func (q apiRequest) send(t *testing.T, c *slurmtest.Cluster, url, version string) string {
	t.Helper()
	if q.controllerDown {
		c.SetControllerState(slurmtest.ControllerDown)
		defer c.SetControllerState(slurmtest.ControllerUp)
	}
	path := strings.ReplaceAll(q.path, "V", version)
	req, err := http.NewRequestWithContext(t.Context(), q.method, url+path, strings.NewReader(q.body))
	must(t, err)
	req.Header.Set("Content-Type", "application/json")
	if q.user != "" {
		lifetime := time.Hour
		if q.expired {
			lifetime = -time.Hour
		}
		token, err := slurmclient.TokenFromKey([]byte("key"), q.user, lifetime, testClock).Token()
		must(t, err)
		req.Header.Set("X-SLURM-USER-TOKEN", token)
	}
	w := httptest.NewRecorder()
	c.Handler().ServeHTTP(w, req)
	return "HTTP " + strconv.Itoa(w.Code) + " x ct=" + w.Header().Get("Content-Type") + "\n" + w.Body.String()
}

func TestErrorsMatchTheRecordedOnes(t *testing.T) {
	const script = `{"script": "#!/bin/sh\n", "job": {"environment": ["A=b"], "current_working_directory": "/"}}`
	questions := map[string]apiRequest{
		"errors-V/expired":      {method: "GET", path: "/slurm/V/nodes/", user: "alice", expired: true},
		"errors-V/expired-ping": {method: "GET", path: "/slurm/V/ping/", user: "alice", expired: true},
		"errors-V/expired-submit": {method: "POST", path: "/slurm/V/job/submit", user: "alice", expired: true,
			body: script},
		"errors-V/expired-slurmdb": {method: "GET", path: "/slurmdb/V/users/", user: "alice", expired: true},
		"errors-V/alice-drain": {method: "POST", path: "/slurm/V/node/n4", user: "alice",
			body: `{"state": ["DRAIN"]}`},
		"errors-V/unknown-user-submit": {method: "POST", path: "/slurm/V/job/submit", user: "zoe", body: script},
		"errors-V/wrong-version":       {method: "GET", path: "/slurm/v0.0.39/nodes/", user: "alice"},
		"errors-V/wrong-method":        {method: "PUT", path: "/slurm/V/nodes/", user: "alice"},
		"errors-V/empty-token":         {method: "GET", path: "/slurm/V/nodes/"},
		"V/unknown_path_404":           {method: "GET", path: "/slurm/V/nosuch", user: "alice"},
		"V/node_unknown":               {method: "GET", path: "/slurm/V/node/nosuch", user: "alice"},
		"V/nodes_ctld_down":            {method: "GET", path: "/slurm/V/nodes/", user: "alice", controllerDown: true},
		"V/ping_ctld_down":             {method: "GET", path: "/slurm/V/ping/", user: "alice", controllerDown: true},
		"V/jobs_nochange":              {method: "GET", path: "/slurm/V/jobs/?update_time=1895220000", user: "alice"},
		"V/job_delete_unknown":         {method: "DELETE", path: "/slurm/V/job/4242", user: "alice"},
		"V/job_delete_finished":        {method: "DELETE", path: "/slurm/V/job/1", user: "alice"},
		"V/job_submit":                 {method: "POST", path: "/slurm/V/job/submit", user: "alice", body: script},
	}
	compared := 0
	forEachVersion(t, func(t *testing.T, release, v string) {
		c := slurmtest.New(slurmtest.Config{Release: release, Now: testClock, Key: []byte("key"),
			Nodes: []slurmtest.NodeConf{{Names: "n[1-4]", CPUs: 4, MemoryMiB: 4000}}})
		mustSubmit(t, c, slurmtest.JobSpec{JobRequest: slurm.JobRequest{Script: "#!/bin/sh\nsleep 1\n"}, User: "alice"})
		c.Step(10 * time.Second)
		for name, q := range questions {
			recorded := readRecorded(release, strings.Replace(name, "V", v, 1))
			if recorded == "" {
				continue
			}
			compared++
			got := normalizeAnswer(q.send(t, c, "", v))
			if !strings.HasPrefix(recorded, "HTTP ") {
				_, got, _ = strings.Cut(got, "\n")
			}
			if diff := cmp.Diff(normalizeAnswer(recorded), strings.TrimSpace(got)); diff != "" {
				t.Errorf("%s (-recorded +simulated):\n%s", name, diff)
			}
		}
	})
	if compared < 50 {
		t.Errorf("only %d answers were compared", compared)
	}
}

func readRecorded(release, name string) string {
	for _, end := range []string{".txt", ".json"} {
		text, err := os.ReadFile("../testdata/recorded/" + release + "/" + name + end)
		if err == nil {
			return string(text)
		}
	}
	return ""
}

func TestOldVersionsWriteSharesWithABareInfinity(t *testing.T) {
	c := demoCluster(t, slurmtest.Release2411)
	for v, want := range map[string]bool{"v0.0.40": true, "v0.0.41": true, "v0.0.42": false} {
		_, body := doRequest(t, "GET", startServer(t, c).URL+"/slurm/"+v+"/shares", "")
		if got := strings.Contains(body, `"level": Infinity`); got != want {
			t.Errorf("%s: has a bare Infinity: %v, want %v", v, got, want)
		}
	}
}
