package slurmclient_test

import (
	"fmt"
	"net/http"
	"net/url"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/slurmtide/slurmtide/slurmclient"
	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

// endedJobsServer answers like slurmrestd: it takes one state, and needs both bounds. Job n ends COMPLETED at second n.
type endedJobsServer struct {
	mu      sync.Mutex
	asked   []string
	padding string
}

func (e *endedJobsServer) answerQuery(r *http.Request) (reply, error) {
	q, err := url.ParseQuery(r.URL.RawQuery)
	from, fromErr := strconv.ParseInt(strings.TrimPrefix(q.Get("start_time"), "uts"), 10, 64)
	to, toErr := strconv.ParseInt(strings.TrimPrefix(q.Get("end_time"), "uts"), 10, 64)
	if err != nil || fromErr != nil || toErr != nil || len(q["state"]) != 1 || strings.Contains(q.Get("state"), ",") {
		return reply{status: http.StatusUnprocessableEntity, kind: "application/json", body: []byte(`{"errors":[{"error_number":9202}]}`)}, nil
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.asked = append(e.asked, q.Get("state")+" "+q.Get("start_time")+" "+q.Get("end_time"))
	var jobs []string
	for at := from; at <= to && q.Get("state") == "COMPLETED"; at++ {
		jobs = append(jobs, fmt.Sprintf(`{"job_id":%d,"cluster":"c","state":{"current":["COMPLETED"]},"time":{"start":1,"end":%d},"script":"%s"}`,
			at, at, e.padding))
	}
	body := `{"jobs":[` + strings.Join(jobs, ",") + `],"errors":[],"warnings":[],"meta":{"slurm":{"cluster":"c"}}}`
	return reply{status: http.StatusOK, kind: "application/json", body: []byte(body)}, nil
}

// TestEndedJobsAreAskedForByState, with times in the form of the API version, and in parts if they are too many for one answer.
func TestEndedJobsAreAskedForByState(t *testing.T) {
	for version, first := range map[string]string{"v0.0.40": "COMPLETED uts100 uts139", "v0.0.45": "COMPLETED 100 139"} {
		server := &endedJobsServer{}
		list, err := newTestClient(t, version, server.answerQuery).EndedJobs(t.Context(), 100, 139)
		if err != nil || len(list.Items) != 40 || server.asked[0] != first || len(server.asked) != len(slurm.EndStates()) {
			t.Errorf("%s: %d jobs, %v, asked %q", version, len(list.Items), err, server.asked)
		}
	}
}

func TestTooManyEndedJobsAreReadInParts(t *testing.T) {
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(128 << 20)) // a quarter of it is the limit of an answer
	server := &endedJobsServer{padding: strings.Repeat("x", 3<<20)}
	list, err := newTestClient(t, "v0.0.45", server.answerQuery).EndedJobs(t.Context(), 101, 120)
	var ids []uint32
	for _, j := range list.Items {
		ids = append(ids, j.ID)
	}
	if err != nil || len(ids) != 20 || !slices.IsSorted(ids) || len(slices.Compact(ids)) != 20 {
		t.Errorf("the jobs %v, %v, asked %q", ids, err, server.asked)
	}
}

// TestReadingsOfEndedJobsOverlap: each begins a while before the last one that succeeded.
func TestReadingsOfEndedJobsOverlap(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := &endedJobsServer{}
		var fails atomic.Bool
		cache, stop := startPolling(t, func(r *http.Request) (reply, error) {
			if fails.Load() {
				return reply{}, fmt.Errorf("no route to host")
			}
			return server.answerQuery(r)
		}, slurmclient.CacheConfig{Resources: []slurmclient.Resource{slurmclient.EndedJobs}})
		defer stop()
		begin := time.Now()
		synctest.Wait()
		time.Sleep(time.Second)
		fails.Store(true)
		time.Sleep(20 * time.Minute)
		fails.Store(false)
		time.Sleep(20 * time.Minute)
		synctest.Wait()
		s := cache.Snapshot().EndedJobs
		if !s.Known || s.Err != nil {
			t.Fatalf("the poll is %+v", s.Poll)
		}
		ends := begin.Unix() - 600
		for _, asked := range server.asked {
			var state string
			var from, to int64
			if _, err := fmt.Sscan(asked, &state, &from, &to); err != nil {
				t.Fatal(err)
			}
			if from > ends {
				t.Errorf("%s: jobs that ended since %d are missing", asked, ends)
			}
			if state == slurm.EndStates()[len(slurm.EndStates())-1] {
				ends = to - 5*60 - 600
			}
		}
	})
}
