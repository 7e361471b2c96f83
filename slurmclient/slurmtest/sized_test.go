package slurmtest_test

import (
	"io"
	"net/http"
	"testing"
	"time"

	"github.com/slurmtide/slurmtide/slurmclient/slurmtest"
)

func TestSizedClusterWithHundredThousandJobs(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("it computes for some seconds")
	}
	begun := time.Now()
	c := slurmtest.NewSized(testClock, 10_000, 100_000)
	built := time.Since(begun)
	if n := len(c.Jobs()); n < 100_000 {
		t.Errorf("%d jobs, want 100000 or more", n)
	}
	if n := len(c.Nodes()); n != 10_000 {
		t.Errorf("%d nodes, want 10000", n)
	}
	begun = time.Now()
	c.Step(10 * time.Second)
	stepped := time.Since(begun)
	srv := startServer(t, c)
	begun = time.Now()
	nodes := downloadSize(t, srv.URL+"/slurm/v0.0.45/nodes/")
	states := downloadSize(t, srv.URL+"/slurm/v0.0.45/jobs/state/")
	t.Logf("created in %v, advanced 10 s in %v, sent both lists in %v", built, stepped, time.Since(begun))
	if nodes < 10_000*1000 || states < 100_000*50 {
		t.Errorf("%d bytes of nodes and %d of states", nodes, states)
	}
}

func downloadSize(t *testing.T, url string) int64 {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), "GET", url, nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("X-SLURM-USER-TOKEN", "token")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	n, err := io.Copy(io.Discard, resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return n
}
