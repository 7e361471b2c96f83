package delta

import (
	"context"
	"slices"
	"strconv"
	"sync"
	"testing"

	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

// changingTable is a jobTable whose jobs change between two requests for states.
type changingTable struct {
	*jobTable
	// asking is held during a request.
	asking sync.Mutex
	// submit is called once the state of afterID was requested.
	afterID uint32
	submit  func()
	// members are the split tasks that the id of an array stands for, too.
	members map[uint32][]uint32
}

func (t *changingTable) JobStates(ctx context.Context, ids []string) ([]slurm.JobStatus, error) {
	t.asking.Lock()
	defer t.asking.Unlock()
	rows, err := t.jobTable.JobStates(ctx, ids)
	for array, tasks := range t.members {
		if slices.Contains(ids, strconv.Itoa(int(array))) {
			for _, id := range tasks {
				rows = append(rows, slurm.JobStatus{ID: id, State: t.jobs[id].State})
			}
		}
	}
	for i, r := range rows { // as slurmrestd names split tasks
		if j := t.jobs[r.ID]; j != nil && j.ArrayJobID != 0 {
			rows[i].ID, rows[i].TaskID = j.ArrayJobID, j.ArrayTaskID
		}
	}
	if t.submit != nil && slices.Contains(ids, strconv.Itoa(int(t.afterID))) {
		t.submit()
		t.submit = nil
	}
	return rows, err
}

func (t *changingTable) UnknownJobStates(ctx context.Context, ids []string) ([]slurm.JobStatus, error) {
	return t.JobStates(ctx, ids)
}

// readByIDs reads the states of the ids up to top, one request after the other.
func readByIDs(t *testing.T, source Source, top uint32, stats *slurm.Stats) *poll {
	t.Helper()
	r := NewReader(source, nil, nil)
	r.statesInFlight.limit = 1
	p := newPoll(nil)
	if err := r.readStatesOfIDs(t.Context(), p, stats, top); err != nil {
		t.Fatal(err)
	}
	return p
}

func TestJobsSubmittedWhileIDsAreReadAreFound(t *testing.T) {
	table := &changingTable{jobTable: newJobTable(100), afterID: 101}
	table.idsPerRequest = 50
	table.submit = func() {
		for id := uint32(101); id <= 160; id++ {
			table.jobs[id] = jobIn(id, "PENDING")
		}
	}
	p := readByIDs(t, table, 101, &slurm.Stats{JobsPending: 100})
	for _, id := range p.wantedRecords() {
		p.addRecords(id, []*slurm.Job{table.jobs[id]})
	}
	cursor := p.nextCursor(0, true)
	for id := range table.jobs {
		if id <= cursor && p.read[id] == nil {
			t.Fatalf("job %d is not read, and the next window begins after %d", id, cursor)
		}
	}
}

func TestFewJobsWithIDsOfBeforeTheyStartedOverAreFound(t *testing.T) {
	table := newJobTable(100)
	table.idsPerRequest = 1000
	for id := range uint32(10) {
		table.jobs[maxJobID-id] = jobIn(maxJobID-id, "RUNNING")
	}
	p := readByIDs(t, table, 101, &slurm.Stats{JobsPending: 100, JobsRunning: 10})
	if got := len(p.wantedRecords()); got != len(table.jobs) {
		t.Errorf("%d of %d jobs are found", got, len(table.jobs))
	}
}

func TestSplitTasksCountOnce(t *testing.T) {
	table := &changingTable{jobTable: newJobTable(0), members: map[uint32][]uint32{}}
	table.idsPerRequest = 1000
	table.jobs[1] = jobIn(1, "RUNNING", taskOf(1, 100))
	for id := uint32(2); id <= 100; id++ {
		table.jobs[id] = jobIn(id, "RUNNING", taskOf(1, uint64(id-1)))
		table.members[1] = append(table.members[1], id)
	}
	for id := range uint32(80) {
		table.jobs[maxJobID-id] = jobIn(maxJobID-id, "RUNNING")
	}
	readByIDs(t, table, 101, &slurm.Stats{JobsRunning: 180})
	if table.readAll != 1 {
		t.Errorf("the states of all jobs are read %d times, want once: 80 jobs have larger ids", table.readAll)
	}
}
