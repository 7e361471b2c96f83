package slurmtest_test

import (
	"context"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/slurmtide/slurmtide/slurmclient"
	"github.com/slurmtide/slurmtide/slurmclient/slurm"
	"github.com/slurmtide/slurmtide/slurmclient/slurmtest"
)

// fetchURL sends a GET and returns the status, the body and the first error.
func fetchURL(ctx context.Context, url string) (int, string, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return 0, "", err
	}
	req.Header.Set("X-SLURM-USER-TOKEN", "token")
	req.Close = true // otherwise net/http repeats the request on another connection
	resp, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		return 0, "", err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	return resp.StatusCode, string(body), err
}

func TestFaultsApplyToTheirRequestsOnly(t *testing.T) {
	cases := []struct {
		name  string
		fault slurmtest.Fault
		check func(status int, body string, err error) bool
	}{
		{"a status", slurmtest.Fault{Kind: slurmtest.FaultStatus, Status: 503},
			func(s int, _ string, err error) bool { return s == 503 && err == nil }},
		{"garbage", slurmtest.Fault{Kind: slurmtest.FaultGarbage},
			func(s int, b string, err error) bool { return s == 200 && strings.Contains(b, "\x00") }},
		{"a truncated answer", slurmtest.Fault{Kind: slurmtest.FaultTruncate, AfterBytes: 100},
			func(s int, b string, err error) bool { return s == 200 && err != nil && len(b) == 100 }},
		{"a closed connection", slurmtest.Fault{Kind: slurmtest.FaultReset},
			func(_ int, _ string, err error) bool { return err != nil }},
		{"a lost answer", slurmtest.Fault{Kind: slurmtest.FaultLost},
			func(_ int, _ string, err error) bool { return err != nil }},
		{"a rejected token", slurmtest.Fault{Kind: slurmtest.FaultToken},
			func(s int, b string, err error) bool { return s == 511 && strings.Contains(b, "1007") }},
		{"a controller that is down", slurmtest.Fault{Kind: slurmtest.FaultControllerDown},
			func(s int, b string, err error) bool { return s == 502 && strings.Contains(b, "1800") }},
		{"latency", slurmtest.Fault{Latency: 20 * time.Millisecond},
			func(s int, _ string, err error) bool { return s == 200 && err == nil }},
	}
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			c := demoCluster(t, "")
			url := startServer(t, c).URL + "/slurm/v0.0.45"
			tc.fault.PathPrefix, tc.fault.Count = "/slurm/v0.0.45/nodes", 1
			c.InjectFault(tc.fault)
			if status, _, err := fetchURL(t.Context(), url+"/ping/"); status != 200 || err != nil {
				t.Errorf("another path: %d %v", status, err)
			}
			status, body, err := fetchURL(t.Context(), url+"/nodes/")
			if !tc.check(status, body, err) {
				t.Errorf("status %d, %d bytes, error %v", status, len(body), err)
			}
			if status, _, err := fetchURL(t.Context(), url+"/nodes/"); status != 200 || err != nil {
				t.Errorf("the next request: %d %v", status, err)
			}
		})
	}
}

func TestHangingRequestEndsWithItsClient(t *testing.T) {
	c := demoCluster(t, "")
	url := startServer(t, c).URL + "/slurm/v0.0.45/nodes/"
	clear := c.InjectFault(slurmtest.Fault{Kind: slurmtest.FaultHang})
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, _, err := fetchURL(ctx, url); err == nil {
		t.Error("the request succeeded")
	}
	clear()
	if status, _, err := fetchURL(t.Context(), url); status != 200 || err != nil {
		t.Errorf("after clearing the fault: %d %v", status, err)
	}
}

func TestControllerDown(t *testing.T) {
	forEachVersion(t, func(t *testing.T, release, v string) {
		c := demoCluster(t, release)
		srv := startServer(t, c)
		c.SetControllerState(slurmtest.ControllerDown)
		status, body, err := fetchURL(t.Context(), srv.URL+"/slurm/"+v+"/nodes/")
		if err != nil || status != 502 || !strings.Contains(body, `"error_number": 1800`) {
			t.Errorf("nodes: %d %s %v", status, body, err)
		}
		if status, _, _ = fetchURL(t.Context(), srv.URL+"/slurmdb/"+v+"/users/"); status != 200 {
			t.Errorf("slurmdb: %d", status)
		}
		if status, _, _ = fetchURL(t.Context(), srv.URL+"/slurm/"+v+"/ping/"); status != 200 {
			t.Errorf("ping: %d", status)
		}
		c.SetControllerState(slurmtest.ControllerUp)
		if status, _, _ = fetchURL(t.Context(), srv.URL+"/slurm/"+v+"/nodes/"); status != 200 {
			t.Errorf("after slurmctld is up again: %d", status)
		}
	})
}

func TestHungControllerServesItsRequestsLater(t *testing.T) {
	c := slurmtest.New(slurmtest.Config{Now: testClock, MessageTimeout: 20 * time.Millisecond,
		Nodes: []slurmtest.NodeConf{{Names: "n1", MemoryMiB: 1000}}})
	cl := newClient(t, c, "v0.0.45")
	c.SetControllerState(slurmtest.ControllerHung)
	if err := cl.Drain(t.Context(), "n1", "late"); slurmclient.CodeOf(err) != slurmclient.CodeUnavailable {
		t.Errorf("draining: %v", err)
	}
	_, err := cl.SubmitJob(t.Context(), slurm.JobRequest{Script: "#!/bin/sh\n"})
	if slurmclient.CodeOf(err) != slurmclient.CodeUnavailable {
		t.Errorf("submitting: %v", err)
	}
	if got := nodeState(t, c, "n1"); got != "IDLE" {
		t.Errorf("while slurmctld hangs: %s", got)
	}
	c.SetControllerState(slurmtest.ControllerUp)
	if got := nodeState(t, c, "n1"); got != "IDLE+DRAIN" {
		t.Errorf("afterwards: %s", got)
	}
	if n := len(c.Jobs()); n == 0 {
		t.Error("the job was not submitted")
	}
}

func TestRequestsAreCountedByOperation(t *testing.T) {
	c := demoCluster(t, "")
	srv := startServer(t, c)
	for _, path := range []string{"/slurm/v0.0.45/nodes/", "/slurm/v0.0.45/nodes", "/slurm/v0.0.45/node/n1",
		"/slurm/v0.0.45/node/n2", "/slurm/v0.0.45/job/1", "/slurm/v0.0.45/nosuch"} {
		doRequest(t, "GET", srv.URL+path, "")
	}
	want := map[string]int{"GET /slurm/v0.0.45/nodes/": 2, "GET /slurm/v0.0.45/node/{node_name}": 2,
		"GET /slurm/v0.0.45/job/{job_id}": 1, "GET /slurm/v0.0.45/nosuch": 1}
	if diff := cmp.Diff(want, c.RequestCounts()); diff != "" {
		t.Error(diff)
	}
	want["GET /slurm/v0.0.45/nodes/"], want["GET /slurm/v0.0.45/node/{node_name}"] = 1, 1
	if diff := cmp.Diff(want, c.MaxConcurrentRequests()); diff != "" {
		t.Errorf("concurrent requests: %s", diff)
	}
	c.ResetRequests()
	if n := len(c.RequestCounts()); n != 0 {
		t.Errorf("%d counters after the reset", n)
	}
}

func TestAnAnswerIsConsistentWhileTheModelChanges(t *testing.T) {
	c := slurmtest.NewSized(testClock, 200, 2000)
	srv := startServer(t, c)
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	wg.Go(func() {
		for ctx.Err() == nil {
			c.Step(time.Second)
		}
	})
	cl, err := slurmclient.New(slurmclient.Config{URL: srv.URL, Version: "v0.0.45",
		Token: slurmclient.TokenFromKey([]byte("k"), "root", time.Hour, time.Now)})
	must(t, err)
	for range 5 {
		list, err := cl.Jobs(ctx, 0)
		if err != nil {
			t.Error(err)
		}
		for _, j := range list.Items {
			if j.State.Base == slurm.JobRunning && (j.StartTime > list.ServerTime || j.Nodes == "") {
				t.Errorf("job %d runs on %q since %d, in an answer of %d", j.ID, j.Nodes, j.StartTime, list.ServerTime)
			}
		}
	}
	cancel()
	wg.Wait()
}
