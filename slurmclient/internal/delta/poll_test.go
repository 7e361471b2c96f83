package delta

import (
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

func jobIn(id uint32, state string, change ...func(*slurm.Job)) *slurm.Job {
	j := &slurm.Job{ID: id, State: slurm.ParseJobState(state), SubmitTime: slurm.Time(1000 + id)}
	for _, c := range change {
		c(j)
	}
	return j
}

// arrayBase makes a job the record of the tasks of an array that are not split off.
func arrayBase(tasks string) func(*slurm.Job) {
	return func(j *slurm.Job) { j.ArrayJobID, j.ArrayTaskID, j.ArrayTasks = j.ID, slurm.Unset(), tasks }
}

// taskOf makes a job the record of a split task of an array.
func taskOf(array uint32, task uint64) func(*slurm.Job) {
	return func(j *slurm.Job) { j.ArrayJobID, j.ArrayTaskID = array, slurm.Num(task) }
}

func jobRow(id uint32, state string) slurm.JobStatus {
	return slurm.JobStatus{ID: id, State: slurm.ParseJobState(state)}
}

func taskRow(id uint32, task uint64, state string) slurm.JobStatus {
	return slurm.JobStatus{ID: id, TaskID: slurm.Num(task), State: slurm.ParseJobState(state)}
}

func TestWhichRecordsADeltaPollReads(t *testing.T) {
	for _, tc := range []struct {
		name   string
		old    []*slurm.Job
		rows   []slurm.JobStatus // of the known jobs
		window []slurm.JobStatus // of the ids above them
		want   []uint32          // records to read
		gone   []uint32
	}{
		{
			name: "a job whose state is the same is not read",
			old:  []*slurm.Job{jobIn(1, "PENDING")}, rows: []slurm.JobStatus{jobRow(1, "PENDING")},
		},
		{
			name: "a job whose state differs is read",
			old:  []*slurm.Job{jobIn(1, "PENDING"), jobIn(2, "RUNNING")},
			rows: []slurm.JobStatus{jobRow(1, "RUNNING"), jobRow(2, "RUNNING")}, want: []uint32{1},
		},
		{
			name: "a job without a state is gone",
			old:  []*slurm.Job{jobIn(1, "COMPLETED"), jobIn(2, "RUNNING")},
			rows: []slurm.JobStatus{jobRow(2, "RUNNING")}, gone: []uint32{1},
		},
		{
			name: "an id in the window is a new job",
			old:  []*slurm.Job{jobIn(1, "RUNNING")}, rows: []slurm.JobStatus{jobRow(1, "RUNNING")},
			window: []slurm.JobStatus{jobRow(2, "PENDING")}, want: []uint32{2},
		},
		{
			name: "an array that has no tasks left is not read",
			old:  []*slurm.Job{jobIn(5, "CANCELLED", arrayBase("")), jobIn(9, "RUNNING", taskOf(5, 1))},
			rows: []slurm.JobStatus{{ID: 5, Tasks: "*", State: slurm.ParseJobState("CANCELLED")},
				taskRow(9, 1, "RUNNING"), taskRow(9, 1, "RUNNING")},
		},
		{
			name: "an array that has no tasks left and no state is gone",
			old:  []*slurm.Job{jobIn(5, "CANCELLED", arrayBase(""))}, gone: []uint32{5},
		},
		{
			name: "an array that lost its last tasks is read",
			old:  []*slurm.Job{jobIn(5, "PENDING", arrayBase("1-3"))},
			rows: []slurm.JobStatus{{ID: 5, Tasks: "*", State: slurm.ParseJobState("CANCELLED")}}, want: []uint32{5},
		},
		{
			name: "an array with all its tasks is not read",
			old:  []*slurm.Job{jobIn(5, "PENDING", arrayBase("1-3"))},
			rows: []slurm.JobStatus{taskRow(5, 1, "PENDING"), taskRow(5, 2, "PENDING"), taskRow(5, 3, "PENDING")},
		},
		{
			name: "an array that lost a task is read",
			old:  []*slurm.Job{jobIn(5, "PENDING", arrayBase("1-3"))},
			rows: []slurm.JobStatus{taskRow(5, 2, "PENDING"), taskRow(5, 3, "PENDING")}, want: []uint32{5},
		},
		{
			name: "an array whose tasks differ in state is read",
			old:  []*slurm.Job{jobIn(5, "PENDING", arrayBase("1-2"))},
			rows: []slurm.JobStatus{taskRow(5, 1, "PENDING"), taskRow(5, 2, "RUNNING")}, want: []uint32{5},
		},
		{
			name: "an array without any state is read, since its first task may have been split off",
			old:  []*slurm.Job{jobIn(5, "PENDING", arrayBase("1-3"))}, want: []uint32{5},
		},
		{
			name: "a split task is known by its own id",
			old:  []*slurm.Job{jobIn(9, "RUNNING", taskOf(5, 1))}, rows: []slurm.JobStatus{taskRow(9, 1, "RUNNING")},
		},
		{
			name: "a split task is known by its array, as old servers name it",
			old:  []*slurm.Job{jobIn(9, "RUNNING", taskOf(5, 1))}, rows: []slurm.JobStatus{taskRow(5, 1, "RUNNING")},
		},
		{
			name: "a split task named by its array is read by its own id when its state differs",
			old:  []*slurm.Job{jobIn(9, "RUNNING", taskOf(5, 1))}, rows: []slurm.JobStatus{taskRow(5, 1, "COMPLETED")},
			want: []uint32{9},
		},
		{
			name:   "the array is read for a new split task that is named by its array",
			old:    []*slurm.Job{jobIn(5, "PENDING", arrayBase("2-3"))},
			rows:   []slurm.JobStatus{taskRow(5, 2, "PENDING"), taskRow(5, 3, "PENDING")},
			window: []slurm.JobStatus{taskRow(5, 1, "RUNNING")}, want: []uint32{5},
		},
		{
			name: "the last task, which has the array's id, is known by both",
			old:  []*slurm.Job{jobIn(5, "RUNNING", taskOf(5, 7))}, rows: []slurm.JobStatus{taskRow(5, 7, "RUNNING")},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			p := newPoll(tc.old)
			p.addStates(tc.rows)
			p.compareKnown()
			p.addWindow(tc.window)
			if got := p.wantedRecords(); !slices.Equal(got, tc.want) {
				t.Errorf("it reads %v, want %v", got, tc.want)
			}
			if got := slices.Sorted(maps.Keys(p.read)); !slices.Equal(got, tc.gone) {
				t.Errorf("%v are gone, want %v", got, tc.gone)
			}
		})
	}
}

func TestWhichStatesADeltaPollRequests(t *testing.T) {
	old := []*slurm.Job{
		jobIn(1, "RUNNING"), jobIn(5, "PENDING", arrayBase("4-6")), jobIn(7, "RUNNING", taskOf(5, 1)),
		jobIn(8, "RUNNING", taskOf(8, 3)),
		jobIn(20, "PENDING", arrayBase("0-49999")), jobIn(30, "PENDING", arrayBase("0-19,...")),
		jobIn(40, "CANCELLED", arrayBase("")),
	}
	p := newPoll(old)
	if diff := cmp.Diff([]string{"1", "5_4", "7", "8_3", "40"}, p.stateIDs()); diff != "" {
		t.Error(diff)
	}
	// A record is cheaper than fifty thousand states, and is complete where the list of tasks is truncated.
	if diff := cmp.Diff([]uint32{20, 30}, p.wantedRecords()); diff != "" {
		t.Error(diff)
	}
}

func TestADeltaPollMergesRecords(t *testing.T) {
	kept, changed := jobIn(1, "RUNNING"), jobIn(2, "PENDING")
	p := newPoll([]*slurm.Job{kept, changed, jobIn(3, "COMPLETED")})
	p.markGone(3)
	p.addRecords(2, []*slurm.Job{jobIn(2, "RUNNING")})
	p.addRecords(4, []*slurm.Job{jobIn(4, "PENDING")})
	jobs, differs := p.mergeJobs()
	var ids []uint32
	for _, j := range jobs {
		ids = append(ids, j.ID)
	}
	if !differs || !slices.Equal(ids, []uint32{1, 2, 4}) || jobs[0] != kept || jobs[1].State.Base != slurm.JobRunning {
		t.Errorf("the jobs are %v, %v", ids, differs)
	}
	same := newPoll([]*slurm.Job{kept})
	same.addRecords(1, []*slurm.Job{jobIn(1, "RUNNING")})
	if jobs, differs := same.mergeJobs(); differs || jobs[0] != kept {
		t.Error("an unchanged record counts as a change")
	}
}

func TestAPurgedArrayLeavesNoRecord(t *testing.T) {
	p := newPoll([]*slurm.Job{jobIn(5, "PENDING", arrayBase("2")), jobIn(7, "RUNNING", taskOf(5, 1))})
	p.addRecords(5, []*slurm.Job{jobIn(7, "COMPLETED", taskOf(5, 1))}) // a request for the array returns only its task
	jobs, _ := p.mergeJobs()
	if len(jobs) != 1 || jobs[0].ID != 7 || jobs[0].State.Base != slurm.JobCompleted {
		t.Errorf("the jobs are %v", jobs)
	}
}

func TestMissedIDs(t *testing.T) {
	p := newPoll([]*slurm.Job{jobIn(5, "PENDING", arrayBase("1-3"))})
	p.addRecords(5, []*slurm.Job{jobIn(5, "PENDING", arrayBase("3")), jobIn(12, "RUNNING", taskOf(5, 1))})
	if top := p.newestRead(); top != 12 {
		t.Errorf("the newest is %d", top)
	}
	rows := []slurm.JobStatus{jobRow(11, "PENDING"), taskRow(12, 1, "RUNNING"), taskRow(5, 2, "RUNNING")}
	if diff := cmp.Diff([]uint32{5, 11}, p.missedIDs(11, rows)); diff != "" {
		t.Error(diff)
	}
	if p.hasRead(5) {
		t.Error("the array that split off another task would not be read again")
	}
}

func TestIsSuspicious(t *testing.T) {
	many := func(n int) (out []*slurm.Job) {
		for i := range n {
			out = append(out, jobIn(uint32(i+1), "PENDING"))
		}
		return out
	}
	before := &slurm.Stats{Since: 10, JobsSubmitted: 5}
	for _, tc := range []struct {
		name   string
		old    []*slurm.Job
		rows   []slurm.JobStatus
		window []slurm.JobStatus
		now    slurm.Stats
		want   bool
	}{
		{"nothing happened", many(1), []slurm.JobStatus{jobRow(1, "PENDING")}, nil, slurm.Stats{JobsSubmitted: 5},
			false},
		{"a job arrived in the window", many(1), []slurm.JobStatus{jobRow(1, "PENDING")},
			[]slurm.JobStatus{jobRow(2, "PENDING")}, slurm.Stats{JobsSubmitted: 6}, false},
		{"a job arrived outside the window", many(1), []slurm.JobStatus{jobRow(1, "PENDING")}, nil,
			slurm.Stats{JobsSubmitted: 6}, true},
		{"many unfinished jobs vanished", many(20), nil, nil, slurm.Stats{JobsSubmitted: 5}, true},
		{"a few unfinished jobs vanished", many(5), nil, nil, slurm.Stats{JobsSubmitted: 5}, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			p := newPoll(tc.old)
			p.addStates(tc.rows)
			p.compareKnown()
			p.addWindow(tc.window)
			if got := p.isSuspicious(before, &tc.now); got != tc.want {
				t.Errorf("suspicious is %v", got)
			}
		})
	}
}

func TestHasRestarted(t *testing.T) {
	for _, tc := range []struct {
		name     string
		old, now slurm.Stats
		want     bool
	}{
		{"time goes on", slurm.Stats{Since: 5, At: 10, JobsSubmitted: 3},
			slurm.Stats{Since: 5, At: 20, JobsSubmitted: 4}, false},
		{"the counters were reset", slurm.Stats{Since: 5, At: 10}, slurm.Stats{Since: 15, At: 20}, true},
		{"the clock went back", slurm.Stats{Since: 5, At: 10}, slurm.Stats{Since: 5, At: 9}, true},
		{"fewer jobs were submitted", slurm.Stats{Since: 5, At: 10, JobsSubmitted: 3},
			slurm.Stats{Since: 5, At: 10, JobsSubmitted: 2}, true},
		{"the first report of when the counters began", slurm.Stats{At: 10}, slurm.Stats{Since: 5, At: 20}, false},
	} {
		if got := hasRestarted(&tc.old, &tc.now); got != tc.want {
			t.Errorf("%s: %v", tc.name, got)
		}
	}
}

func TestEveryJobIsReadInTurn(t *testing.T) {
	var old []*slurm.Job
	for id := uint32(1); id <= 1000; id++ {
		state := "PENDING"
		if id%3 == 0 {
			state = "COMPLETED"
		}
		old = append(old, jobIn(id, state))
	}
	p := newPoll(old)
	seen, after, polls := map[uint32]bool{}, uint32(0), 0
	for ; len(seen) < len(old) && polls < 100; polls++ {
		due := p.dueIDs(after, dueDivisor)
		for _, id := range due {
			seen[id] = true
		}
		after = due[len(due)-1]
	}
	if len(seen) != len(old) || polls > len(old)/minDue+1 {
		t.Errorf("after %d polls %d jobs have been read", polls, len(seen))
	}
	if due := newPoll(nil).dueIDs(7, dueDivisor); len(due) != 0 {
		t.Errorf("without jobs %v are due", due)
	}
}

func TestArraysWithManySplitTasksAreReadRarely(t *testing.T) {
	old := []*slurm.Job{jobIn(1, "PENDING", arrayBase("0-5"))}
	for i := range uint32(maxSplitTasks + 1) {
		old = append(old, jobIn(i+2, "PENDING", taskOf(1, uint64(i+6))))
	}
	p := newPoll(old)
	if slices.Contains(p.dueIDs(0, 1), 1) {
		t.Error("the array is read in turn")
	}
	p.wantLargeArrays()
	if !slices.Equal(p.wantedRecords(), []uint32{1}) {
		t.Errorf("a full reading wants %v", p.wantedRecords())
	}
}

func TestTheWindowBeginsBehindTheNewestKnownRecord(t *testing.T) {
	p := newPoll([]*slurm.Job{jobIn(900, "COMPLETED"), jobIn(3, "RUNNING", func(j *slurm.Job) { j.SubmitTime = 5000 })})
	slices.SortFunc(p.old, func(a, b *slurm.Job) int { return int(a.ID) - int(b.ID) })
	p.addStates([]slurm.JobStatus{jobRow(3, "RUNNING"), jobRow(900, "COMPLETED")})
	if got := p.nextCursor(0, true); got != 3 {
		t.Errorf("after ids started over the cursor is %d, want 3", got)
	}
	p.newestComplete = 950
	if got := p.nextCursor(920, false); got != 950 {
		t.Errorf("the cursor is %d, want 950", got)
	}
}

func TestAnOldJobDoesNotMoveTheWindow(t *testing.T) {
	const old, cursor = 67_000_000, 3
	p := newPoll([]*slurm.Job{jobIn(2, "RUNNING"), jobIn(old, "RUNNING")})
	p.addWindow([]slurm.JobStatus{jobRow(4, "PENDING")})
	p.addRecords(old, []*slurm.Job{jobIn(old,
		"COMPLETED")}) // read in turn, or because it ended, after ids started over
	p.addRecords(4, []*slurm.Job{jobIn(4, "PENDING")})
	if top := p.newestRead(); top != 4 {
		t.Errorf("after %d the newest is %d", cursor, top)
	}
	seen := newPoll([]*slurm.Job{jobIn(2, "RUNNING"), jobIn(5, "RUNNING")})
	seen.addWindow([]slurm.JobStatus{jobRow(5, "RUNNING")})
	seen.addRecords(5, []*slurm.Job{jobIn(5, "RUNNING")})
	if top := seen.newestRead(); top != 5 {
		t.Errorf("with a known job in the window the newest is %d", top)
	}
}
