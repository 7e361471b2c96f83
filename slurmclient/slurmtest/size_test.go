package slurmtest_test

import (
	"io"
	"net/http"
	"testing"
	"time"

	"github.com/slurmtide/slurmtide/slurmclient/slurmtest"
)

func TestTenThousandNodesAndAHundredThousandJobsAreReadySoon(t *testing.T) {
	begun := time.Now()
	c := slurmtest.Sized(clock, 10_000, 100_000)
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
	srv := serve(t, c)
	begun = time.Now()
	bytes := download(t, srv.URL+"/slurm/v0.0.45/jobs/")
	t.Logf("built in %v, 10 steps in %v, %d MB of jobs in %v", built, stepped, bytes>>20, time.Since(begun))
	if bytes < 100<<20 {
		t.Errorf("the list of jobs has %d bytes", bytes)
	}
}

func download(t *testing.T, url string) int64 {
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
