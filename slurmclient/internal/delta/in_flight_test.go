package delta

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

// jobTable is a Source with the jobs of a cluster, which counts the requests for their records.
type jobTable struct {
	mu    sync.Mutex
	jobs  map[uint32]*slurm.Job
	stats slurm.Stats
	asked map[uint32]int
	// running is the number of requests in flight, and most is its maximum.
	running, most int
	// idsPerRequest is how many ids fit into a request for states, 0 for all. mostStates is the maximum number of these requests in flight.
	idsPerRequest, runningStates, mostStates int
	// nextID is the id of the next job, 0 for unknown. readAll is how often the states of all jobs were read.
	nextID  uint32
	readAll int
	// failAfter is after how many requests they fail, 0 for never.
	failAfter int
	panics    bool
}

func newJobTable(n uint32) *jobTable {
	t := &jobTable{jobs: map[uint32]*slurm.Job{}, asked: map[uint32]int{}, stats: slurm.Stats{At: 5000, Since: 1}}
	for id := range n {
		t.jobs[id+1] = jobIn(id+1, "PENDING")
	}
	t.stats.JobsPending = uint64(n)
	return t
}

func (t *jobTable) Stats(context.Context) (*slurm.Stats, error) { return new(t.stats), nil }

func (t *jobTable) Job(ctx context.Context, id uint32) ([]*slurm.Job, error) {
	t.mu.Lock()
	t.asked[id]++
	t.running++
	t.most = max(t.most, t.running)
	fails := t.failAfter > 0 && len(t.asked) > t.failAfter
	job := t.jobs[id]
	t.mu.Unlock()
	defer func() {
		t.mu.Lock()
		t.running--
		t.mu.Unlock()
	}()
	switch {
	case t.panics:
		panic("a damaged answer")
	case fails:
		return nil, errors.New("no route to host")
	case job == nil:
		return nil, nil
	}
	select {
	case <-time.After(50 * time.Microsecond):
		return []*slurm.Job{new(*job)}, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (t *jobTable) FittingIDs(ids []string) int {
	if t.idsPerRequest == 0 {
		return len(ids)
	}
	return min(len(ids), t.idsPerRequest)
}

func (t *jobTable) JobStates(_ context.Context, ids []string) (out []slurm.JobStatus, err error) {
	t.mu.Lock()
	t.runningStates++
	t.mostStates = max(t.mostStates, t.runningStates)
	t.mu.Unlock()
	time.Sleep(50 * time.Microsecond)
	defer func() {
		t.mu.Lock()
		t.runningStates--
		t.mu.Unlock()
	}()
	for _, id := range ids {
		n, _ := strconv.ParseUint(id, 10, 32)
		if j := t.jobs[uint32(n)]; j != nil {
			out = append(out, slurm.JobStatus{ID: j.ID, State: j.State})
		}
	}
	return out, nil
}

func (t *jobTable) UnknownJobStates(ctx context.Context, ids []string) ([]slurm.JobStatus, error) {
	return t.JobStates(ctx, ids)
}

func (t *jobTable) NextJobID(context.Context) uint32 { return t.nextID }

func (t *jobTable) AllJobStates(context.Context) (out []slurm.JobStatus, err error) {
	t.readAll++
	for _, j := range t.jobs {
		out = append(out, slurm.JobStatus{ID: j.ID, State: j.State})
	}
	return out, nil
}

func (t *jobTable) EachJob(context.Context, func(*slurm.Job) error) error {
	return errors.New("the list is not to be read")
}

func (t *jobTable) newReader() *Reader {
	return NewReader(t, func() time.Time { return time.Unix(5000, 0) }, func(int, int) {})
}

func TestRecordsAreReadSeveralAtATime(t *testing.T) {
	table := newJobTable(500)
	got, err := table.newReader().Read(t.Context(), nil, time.Time{})
	if err != nil || len(got.Jobs) != 500 || len(table.asked) != 500 {
		t.Fatalf("%d jobs after %d requests: %v", len(got.Jobs), len(table.asked), err)
	}
	if table.most < 2 || table.most > maxInFlight {
		t.Errorf("at most %d requests were in flight", table.most)
	}
	for id, n := range table.asked {
		if n != 1 {
			t.Errorf("job %d was read %d times", id, n)
		}
	}
}

// TestStatesAreReadSeveralRequestsAtATime: over a network, a request has few ids.
func TestStatesAreReadSeveralRequestsAtATime(t *testing.T) {
	table := newJobTable(500)
	table.idsPerRequest = 7
	reader := table.newReader()
	first, err := reader.Read(t.Context(), nil, time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	table.jobs[500].State = slurm.ParseJobState("RUNNING")
	delete(table.jobs, 1)
	got, err := reader.Read(t.Context(), first.Jobs, time.Unix(5000, 0))
	if err != nil || len(got.Jobs) != 499 || got.Jobs[498].State.Base != slurm.JobRunning {
		t.Fatalf("%d jobs: %v", len(got.Jobs), err)
	}
	if table.mostStates < 2 || table.mostStates > maxInFlight {
		t.Errorf("at most %d requests for states were in flight", table.mostStates)
	}
}

func TestAFailedPollKeepsWhatItHasRead(t *testing.T) {
	for name, tc := range map[string]struct {
		change     func(*jobTable)
		again      int // how many records are read again
		isDoubtful bool
	}{
		"nothing changes": {change: func(*jobTable) {}},
		"jobs start": {change: func(table *jobTable) {
			for id := range uint32(10) {
				table.jobs[id+1].State = slurm.ParseJobState("RUNNING")
			}
		}, again: 10},
		"somebody updates a job": {change: func(table *jobTable) {
			table.stats.RPCsByType = append(table.stats.RPCsByType, slurm.RPC{Name: "REQUEST_UPDATE_JOB", Count: 1})
		}, isDoubtful: true},
		"slurmctld starts again": {change: func(table *jobTable) { table.stats.Since++ }, again: 300},
	} {
		t.Run(name, func(t *testing.T) {
			table := newJobTable(500)
			table.failAfter = 300
			reader := table.newReader()
			if _, err := reader.Read(t.Context(), nil, time.Time{}); err == nil {
				t.Fatal("no error")
			}
			read := table.asked
			table.asked, table.failAfter = map[uint32]int{}, 0
			tc.change(table)
			got, err := reader.Read(t.Context(), nil, time.Time{})
			if err != nil || len(got.Jobs) != 500 {
				t.Fatalf("%d jobs: %v", len(got.Jobs), err)
			}
			again := 0
			for id := range table.asked {
				again += read[id]
			}
			// Those in flight at the failure are read again as well.
			if again < tc.again || again > tc.again+2*maxInFlight {
				t.Errorf("%d records were read again, not %d", again, tc.again)
			}
			if isDoubtful := len(reader.doubts) > 0; isDoubtful != tc.isDoubtful {
				t.Errorf("%d jobs are in doubt", len(reader.doubts))
			}
			for _, j := range got.Jobs {
				if j.State != table.jobs[j.ID].State {
					t.Errorf("job %d is %v", j.ID, j.State)
				}
			}
		})
	}
}

// TestAPanicOfARequestEndsThePollAlone: the poller recovers it.
func TestAPanicOfARequestEndsThePollAlone(t *testing.T) {
	table := newJobTable(50)
	table.panics = true
	defer func() {
		if v := fmt.Sprint(recover()); !strings.Contains(v, "a damaged answer") || table.running > 0 {
			t.Errorf("the panic is %s, and %d requests are in flight", v, table.running)
		}
	}()
	_, err := table.newReader().Read(t.Context(), nil, time.Time{})
	t.Error("no panic: ", err)
}

// TestHowManyRequestsAreInFlight models servers that answer some requests at a time.
func TestHowManyRequestsAreInFlight(t *testing.T) {
	servers := map[string]struct {
		roundTrip, service time.Duration
		parallel           int // requests that the server answers at a time
		least, most        int
	}{
		"on the same host, which answers two at a time": {0, 800 * time.Microsecond, 2, 2, 8},
		"20 ms away": {20 * time.Millisecond, 800 * time.Microsecond, 2, 12, maxInFlight},
		"20 ms away, answers one at a time and slowly": {20 * time.Millisecond, 10 * time.Millisecond, 1, 2, 8},
	}
	for _, name := range slices.Sorted(maps.Keys(servers)) {
		tc, f := servers[name], newInFlight()
		for range 10000 {
			waiting := max(1, float64(f.limit)/float64(tc.parallel))
			f.recordAnswer(max(tc.roundTrip+tc.service, time.Duration(waiting*float64(tc.service))))
		}
		if f.limit < tc.least || f.limit > tc.most {
			t.Errorf("%s: %d", name, f.limit)
		}
	}
	slow := newInFlight()
	for range 100 {
		slow.recordAnswer(time.Millisecond)
	}
	for range 60 {
		slow.recordAnswer(time.Second)
	}
	if slow.limit > firstInFlight {
		t.Errorf("of a server that became a thousand times slower: %d", slow.limit)
	}
}
