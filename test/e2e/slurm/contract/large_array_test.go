//go:build e2e

package contract

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/slurmtide/slurmtide/slurmclient"
	"github.com/slurmtide/slurmtide/slurmclient/slurm"
	"github.com/slurmtide/slurmtide/test/harness/realslurm"
)

const largeArray = "1-100000"

// TestDeltaReaderReadsAnArrayOfHundredThousandTasks starts a delta reader while such an array
// waits, submits others, some of whose tasks run, and restarts slurmctld.
func TestDeltaReaderReadsAnArrayOfHundredThousandTasks(t *testing.T) {
	t.Parallel()
	for _, release := range realslurm.Versions() {
		t.Run(release, func(t *testing.T) {
			t.Parallel()
			cluster, err := realslurm.Start(t.Context(),
				realslurm.Config{Version: release, Nodes: 1, WithoutAccounting: true, MaxJobs: 400_000})
			must(t, err)
			t.Cleanup(func() { must(t, cluster.Close()) })
			r := startLargeReader(t, cluster, func() { submitTasks(t, cluster, "--hold", largeArray) })
			r.pollAndCompare(t, "at the start")
			r.pollAndCompare(t, "with nothing changed")
			submitTasks(t, cluster, "--hold", largeArray)
			r.pollAndCompare(t, "after another array")
			submitTasks(t, cluster, "--ntasks=1", largeArray)
			for range 3 {
				r.pollAndCompare(t, "while tasks run")
			}
			must(t, cluster.Restart(t.Context(), "slurmctld"))
			(&jobHistory{cluster: cluster, clients: map[string]*slurmclient.Client{"": r.client}}).awaitController(t)
			r.pollAndCompare(t, "after slurmctld restarted")
		})
	}
}

func submitTasks(t *testing.T, cluster *realslurm.Cluster, flag, tasks string) {
	t.Helper()
	_, err := cluster.Run(t.Context(), "", "sbatch", flag, "--array="+tasks, "-o", "/dev/null", "--wrap", "sleep 600")
	must(t, err)
}

// largeReader is a delta reader that counts the bytes it reads of jobs/state.
type largeReader struct {
	client     *slurmclient.Client
	cache      *slurmclient.Cache
	stateBytes *atomic.Int64
}

// startLargeReader starts a reader after fill has submitted the jobs.
func startLargeReader(t *testing.T, cluster *realslurm.Cluster, fill func()) *largeReader {
	t.Helper()
	fill()
	r := &largeReader{stateBytes: &atomic.Int64{}}
	target, err := url.Parse(cluster.URL)
	must(t, err)
	proxy := httputil.NewSingleHostReverseProxy(target)
	proxy.ModifyResponse = func(resp *http.Response) error {
		if strings.Contains(resp.Request.URL.Path, "/jobs/state") {
			resp.Body = &countingBody{resp.Body, r.stateBytes}
		}
		return nil
	}
	server := httptest.NewServer(proxy)
	t.Cleanup(server.Close)
	r.client, err = slurmclient.New(slurmclient.Config{URL: server.URL,
		Token: slurmclient.TokenFromFile(cluster.TokenFile)})
	must(t, err)
	r.cache = slurmclient.NewCache(r.client, slurmclient.CacheConfig{
		Period: time.Hour, JobsReader: slurmclient.ReadDelta, Resources: []slurmclient.Resource{slurmclient.Jobs},
	})
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	var wg sync.WaitGroup
	wg.Go(func() { r.cache.Run(ctx) })
	t.Cleanup(func() { cancel(); wg.Wait(); r.client.Close() })
	return r
}

type countingBody struct {
	io.ReadCloser
	bytes *atomic.Int64
}

func (b *countingBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.bytes.Add(int64(n))
	return n, err
}

// pollAndCompare polls and compares the arrays with the list. The states read in one poll are much smaller than the
// states of all tasks of one array, which exceed 5 MB.
func (r *largeReader) pollAndCompare(t *testing.T, when string) {
	t.Helper()
	r.stateBytes.Store(0)
	must(t, r.cache.Refresh(t.Context(), slurmclient.Jobs))
	p := r.cache.Snapshot().Jobs
	states := r.stateBytes.Load()
	t.Logf("%s: %d records by %s in %v, %d bytes of states", when, len(p.Value), p.Reader,
		p.Took.Round(time.Millisecond), states)
	if states > 1<<20 {
		t.Errorf("%s the states of single tasks were read", when)
	}
	list, err := r.client.Jobs(t.Context(), 0)
	must(t, err)
	if diff := cmp.Diff(waitingTasksByArray(list.Items), waitingTasksByArray(p.Value)); diff != "" {
		t.Errorf("%s (-list +delta):\n%s", when, diff)
	}
}

// waitingTasksByArray maps the id of each array to the number of waiting tasks, or to "some" if
// tasks may start meanwhile.
func waitingTasksByArray(jobs []*slurm.Job) map[uint32]string {
	out := map[uint32]string{}
	for _, j := range jobs {
		if !j.IsArrayBase() {
			continue
		}
		out[j.ID] = "some"
		if tasks, ok := slurm.ParseArrayTasks(j.ArrayTasks); ok && j.Hold {
			out[j.ID] = strconv.FormatUint(tasks.Count, 10)
		}
	}
	return out
}
