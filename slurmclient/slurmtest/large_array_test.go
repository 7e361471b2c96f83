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
type stateByteCounter struct {
	*slurmtest.Cluster
	bytes       atomic.Int64
	refuseLists atomic.Bool
}

func (s *stateByteCounter) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if strings.HasSuffix(r.URL.Path, "/jobs/") && s.refuseLists.Load() {
		panic(http.ErrAbortHandler)
	}
	if strings.Contains(r.URL.Path, "/jobs/state") {
		w = countingWriter{w, &s.bytes}
	}
	s.Handler().ServeHTTP(w, r)
}

type countingWriter struct {
	http.ResponseWriter
	bytes *atomic.Int64
}

func (w countingWriter) Write(b []byte) (int, error) {
	w.bytes.Add(int64(len(b)))
	return w.ResponseWriter.Write(b)
}

const largeArray = 100_000

func largeCluster() *stateByteCounter {
	return &stateByteCounter{Cluster: slurmtest.New(slurmtest.Config{Now: testClock, MaxArraySize: largeArray + 1,
		MinJobAge: time.Minute,
		Nodes:     []slurmtest.NodeConf{{Names: "n1", CPUs: 8, MemoryMiB: 4000}}})}
}

func (s *stateByteCounter) startCache(t *testing.T, reader slurmclient.JobsReader) *slurmclient.Cache {
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
func (s *stateByteCounter) checkUnexpanded(t *testing.T, after string) {
	t.Helper()
	if n := s.bytes.Swap(0); n > 100_000 {
		t.Errorf("%s the states took %d bytes, so the array was expanded; requests: %v", after, n, s.RequestCounts())
	}
}

func TestLargeArraysAreNeverExpanded(t *testing.T) {
	for _, reader := range []slurmclient.JobsReader{slurmclient.ReadDelta, slurmclient.ReadAuto} {
		t.Run(string(reader), func(t *testing.T) {
			s := largeCluster()
			array := func() uint32 {
				return submitJob(t, s.Cluster, func(j *slurmtest.JobSpec) { j.Array, j.Hold = "1-100000", true })
			}
			first := array()
			s.Step(time.Minute)
			k := s.startCache(t, reader)
			refreshedJob(t, k, first)
			s.checkUnexpanded(t, "at the start")
			second := array()
			behind := submitJob(t, s.Cluster, func(j *slurmtest.JobSpec) { j.Hold = true })
			refreshedJob(t, k, second)
			refreshedJob(t, k, behind)
			s.checkUnexpanded(t, "after another array was submitted")
			running := submitJob(t, s.Cluster, func(j *slurmtest.JobSpec) { j.Array = "1-100000" })
			for range 3 {
				s.Step(time.Minute)
				if j := refreshedJob(t, k, running); j.ArrayTasks == "1-100000" {
					t.Error("no task of the array runs")
				}
			}
			s.checkUnexpanded(t, "while its tasks start")
		})
	}
}

func TestDeltaReaderReadsStatesWhenTheListFails(t *testing.T) {
	s := largeCluster()
	s.refuseLists.Store(true)
	array := submitJob(t, s.Cluster, func(j *slurmtest.JobSpec) { j.Array, j.Hold = "1-100000", true })
	k := s.startCache(t, slurmclient.ReadDelta)
	_ = k.Refresh(t.Context(), slurmclient.Jobs) // this poll or the previous one fails
	refreshedJob(t, k, array)
	if p := k.Snapshot().Jobs; p.Reader != slurmclient.ReadDelta || s.bytes.Load() < 1_000_000 {
		t.Errorf("the jobs were read by %q, with %d bytes of states", p.Reader, s.bytes.Load())
	}
}
