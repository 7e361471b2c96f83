package slurmtest_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/slurmtide/slurmtide/slurmclient"
	"github.com/slurmtide/slurmtide/slurmclient/slurmtest"
)

// stateByteCounter counts the bytes that a cluster answers about job states. It may refuse lists of
// jobs.
type stateBytes struct {
	*slurmtest.Cluster
	n       atomic.Int64
	refuses atomic.Bool
}

func (s *stateBytes) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if strings.HasSuffix(r.URL.Path, "/jobs/") && s.refuses.Load() {
		panic(http.ErrAbortHandler)
	}
	if strings.Contains(r.URL.Path, "/jobs/state") {
		w = countingWriter{w, &s.n}
	}
	s.Handler().ServeHTTP(w, r)
}

type countingWriter struct {
	http.ResponseWriter
	n *atomic.Int64
}

func (w countingWriter) Write(b []byte) (int, error) {
	w.n.Add(int64(len(b)))
	return w.ResponseWriter.Write(b)
}

const largeArray = 100_000

func largeCluster() *stateBytes {
	return &stateBytes{Cluster: slurmtest.New(slurmtest.Config{Now: clock, MaxArraySize: largeArray + 1,
		MinJobAge: time.Minute,
		Nodes:     []slurmtest.NodeConf{{Names: "n1", CPUs: 8, MemoryMiB: 4000}}})}
}

func (s *stateBytes) cache(t *testing.T, reader slurmclient.JobsReader) *slurmclient.Cache {
	t.Helper()
	t.Setenv("SLURM_JWT", "token")
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	cl, err := slurmclient.New(slurmclient.Config{URL: server.URL, Token: slurmclient.TokenFromEnv("SLURM_JWT")})
	must(t, err)
	k := slurmclient.NewCache(cl, slurmclient.CacheConfig{Period: time.Hour, JobsReader: reader,
		Resources: []slurmclient.Resource{slurmclient.Jobs}})
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	wg.Go(func() { k.Run(ctx) })
	t.Cleanup(func() { cancel(); wg.Wait(); cl.Close() })
	return k
}

// checkUnexpanded checks that the states of single tasks were not requested.
func (s *stateBytes) checkUnexpanded(t *testing.T, after string) {
	t.Helper()
	if n := s.n.Swap(0); n > 100_000 {
		t.Errorf("%s the states took %d bytes, so the array was expanded; requests: %v", after, n, s.Requests())
	}
}

func TestTheTasksOfALargeArrayAreNeverExpanded(t *testing.T) {
	for _, reader := range []slurmclient.JobsReader{slurmclient.ReadDelta, slurmclient.ReadAuto} {
		t.Run(string(reader), func(t *testing.T) {
			s := largeCluster()
			array := func() uint32 {
				return submitJob(t, s.Cluster, func(j *slurmtest.JobSpec) { j.Array, j.Hold = "1-100000", true })
			}
			first := array()
			s.Step(time.Minute)
			k := s.cache(t, reader)
			jobOf(t, k, first)
			s.checkUnexpanded(t, "at the start")
			second := array()
			behind := submitJob(t, s.Cluster, func(j *slurmtest.JobSpec) { j.Hold = true })
			jobOf(t, k, second)
			jobOf(t, k, behind)
			s.checkUnexpanded(t, "after another array was submitted")
			running := submitJob(t, s.Cluster, func(j *slurmtest.JobSpec) { j.Array = "1-100000" })
			for range 3 {
				s.Step(time.Minute)
				if j := jobOf(t, k, running); j.ArrayTasks == "1-100000" {
					t.Error("no task of the array runs")
				}
			}
			s.checkUnexpanded(t, "while its tasks start")
		})
	}
}

func TestAFullReadingThatFailsIsTriedTheOtherWay(t *testing.T) {
	s := largeCluster()
	s.refuses.Store(true)
	array := submitJob(t, s.Cluster, func(j *slurmtest.JobSpec) { j.Array, j.Hold = "1-100000", true })
	k := s.cache(t, slurmclient.ReadDelta)
	_ = k.Refresh(t.Context(), slurmclient.Jobs) // this poll or the previous one fails
	jobOf(t, k, array)
	if p := k.Snapshot().Jobs; p.Reader != slurmclient.ReadDelta || s.n.Load() < 1_000_000 {
		t.Errorf("the jobs were read by %q, with %d bytes of states", p.Reader, s.n.Load())
	}
}
