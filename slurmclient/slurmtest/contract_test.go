package slurmtest_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"sort"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/slurmtide/slurmtide/slurmclient/slurm"
	"github.com/slurmtide/slurmtide/slurmclient/slurmtest"
)

const baseTime = 1795220000

func testClock() time.Time { return time.Unix(baseTime, 0) }

// servedVersions returns the API versions of every release.
func servedVersions() map[string][]string {
	return map[string][]string{
		slurmtest.Release2411: {"v0.0.40", "v0.0.41", "v0.0.42"},
		slurmtest.Release2605: {"v0.0.42", "v0.0.43", "v0.0.44", "v0.0.45"},
	}
}

// demoCluster is a cluster with nodes, jobs, licenses and a reservation of several kinds.
func demoCluster(t *testing.T, release string) *slurmtest.Cluster {
	t.Helper()
	c := slurmtest.New(slurmtest.Config{
		Release: release, Now: testClock, ClusterName: "sim",
		Nodes: []slurmtest.NodeConf{
			{Names: "n[1-4]", Sockets: 2, CoresPerSocket: 8, MemoryMiB: 64000, GRES: "gpu:h100:4",
				Features: []string{"x86", "h100"}},
			{Names: "ghost1", CPUs: 16, MemoryMiB: 64000, State: "UNKNOWN"},
		},
		Partitions: []slurmtest.PartitionConf{{Name: "batch", Default: true},
			{Name: "gpu", Nodes: "n[1-4]", MaxMinutes: 1440}},
		Licenses: []slurmtest.LicenseConf{{Name: "matlab", Total: 20}},
	})
	submit := func(q slurm.JobRequest) {
		if _, err := c.Submit(slurmtest.JobSpec{JobRequest: q, User: "alice", RunFor: time.Hour}); err != nil {
			t.Fatal(err)
		}
	}
	submit(slurm.JobRequest{Name: "plain", Script: "#!/bin/sh\n"})
	submit(slurm.JobRequest{Name: "gpus", Partition: "gpu", TRESPerNode: "gres/gpu:2", TimeLimit: slurm.Num(60)})
	submit(slurm.JobRequest{Name: "array", Array: "0-9%2"})
	submit(slurm.JobRequest{Name: "held", Hold: true})
	c.SetReservation(slurm.ReservationRequest{Name: "maint1", Nodes: []string{"n4"}, Users: []string{"root"},
		StartTime: baseTime + 7200, EndTime: baseTime + 9000, Flags: []string{"MAINT"}})
	c.Step(5 * time.Second)
	return c
}

func startServer(t *testing.T, c *slurmtest.Cluster) *httptest.Server {
	t.Helper()
	srv := httptest.NewServer(c.Handler())
	t.Cleanup(srv.Close)
	return srv
}

// doRequest sends a request and returns the status and the body.
func doRequest(t *testing.T, method, url, body string) (int, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("X-SLURM-USER-TOKEN", "token")
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(text)
}

// collectKeys collects the paths of all members; paths leave out the indexes of arrays.
func collectKeys(v any, path string, into map[string]bool) {
	switch v := v.(type) {
	case map[string]any:
		for k, x := range v {
			into[path+"."+k] = true
			collectKeys(x, path+"."+k, into)
		}
	case []any:
		for _, x := range v {
			collectKeys(x, path, into)
		}
	}
}

func decodeJSON(t *testing.T, text string) map[string]any {
	t.Helper()
	var v map[string]any
	if err := json.Unmarshal([]byte(strings.ReplaceAll(text, ": Infinity", ": 1")), &v); err != nil {
		t.Fatalf("%v in %.300s", err, text)
	}
	return v
}

func TestAnswersHaveTheKeysOfRecordedOnes(t *testing.T) {
	paths := map[string]string{
		"nodes": "/slurm/V/nodes/", "jobs": "/slurm/V/jobs/", "partitions": "/slurm/V/partitions/",
		"reservations": "/slurm/V/reservations/", "licenses": "/slurm/V/licenses/", "ping": "/slurm/V/ping/",
		"diag": "/slurm/V/diag/", "shares": "/slurm/V/shares", "jobs_state": "/slurm/V/jobs/state/",
		"node_n1": "/slurm/V/node/n1", "slurmdb_users": "/slurmdb/V/users/", "slurmdb_qos": "/slurmdb/V/qos/",
		"slurmdb_accounts": "/slurmdb/V/accounts/", "slurmdb_associations": "/slurmdb/V/associations/",
	}
	for release, versions := range servedVersions() {
		srv := startServer(t, demoCluster(t, release))
		for _, v := range versions {
			for name, path := range paths {
				recorded, err := os.ReadFile("../testdata/recorded/" + release + "/" + v + "/" + name + ".json")
				if err != nil {
					t.Fatal(err)
				}
				status, text := doRequest(t, "GET", srv.URL+strings.Replace(path, "V", v, 1), "")
				if status != http.StatusOK {
					t.Errorf("%s %s %s: status %d, %s", release, v, name, status, text)
					continue
				}
				want, have := map[string]bool{}, map[string]bool{}
				collectKeys(decodeJSON(t, string(recorded)), "", want)
				collectKeys(decodeJSON(t, text), "", have)
				if diff := cmp.Diff(sortedKeys(want), sortedKeys(have)); diff != "" {
					t.Errorf("%s %s %s (-recorded +simulated):\n%s", release, v, name, diff)
				}
			}
		}
	}
}

// sortedKeys returns the sorted keys, without those that depend on running jobs and on the RPCs
// counted.
func sortedKeys(set map[string]bool) []string {
	var list []string
	for k := range set {
		skip := slices.ContainsFunc([]string{".pending_rpcs", ".allocated_nodes.sockets.", ".limits.max.tres.",
			".warnings.", ".coordinators."}, func(s string) bool { return strings.Contains(k, s) })
		if !skip {
			list = append(list, k)
		}
	}
	sort.Strings(list)
	return list
}
