package delta

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/slurmtide/slurmtide/slurmclient/internal/pacing"
	"github.com/slurmtide/slurmtide/slurmclient/internal/records"
	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

func waitsFor(reason string, change ...func(*slurm.Job)) func(*slurm.Job) {
	return func(j *slurm.Job) {
		j.Reason = reason
		for _, c := range change {
			c(j)
		}
	}
}

func dependsOn(text string) func(*slurm.Job) {
	return func(j *slurm.Job) { j.Reason, j.Dependency = "Dependency", text }
}

func ownedBy(user string) func(*slurm.Job) {
	return func(j *slurm.Job) { j.EditOwner(func(o *slurm.JobOwner) { o.UserName = user }) }
}

func TestAStateChangePutsDependentJobsInDoubt(t *testing.T) {
	for _, tc := range []struct {
		name string
		old  []*slurm.Job
		rows []slurm.JobStatus
		want []uint32
	}{
		{
			name: "nothing changed",
			old:  []*slurm.Job{jobIn(1, "RUNNING"), jobIn(2, "PENDING", dependsOn("afterok:1(unfulfilled)"))},
			rows: []slurm.JobStatus{jobRow(1, "RUNNING"), jobRow(2, "PENDING")},
		},
		{
			name: "the job that another waits for has ended",
			old: []*slurm.Job{jobIn(1, "RUNNING"), jobIn(2, "PENDING", dependsOn("afterok:1(unfulfilled)")),
				jobIn(3, "PENDING", dependsOn("afterok:11(unfulfilled)"))},
			rows: []slurm.JobStatus{jobRow(1, "COMPLETED"), jobRow(2, "PENDING"), jobRow(3, "PENDING")},
			want: []uint32{2},
		},
		{
			name: "the job that another waits for is purged",
			old: []*slurm.Job{jobIn(1, "RUNNING"),
				jobIn(2, "PENDING", dependsOn("afterany:5_*(unfulfilled),afterany:1(unfulfilled)"))},
			rows: []slurm.JobStatus{jobRow(2, "PENDING")}, want: []uint32{2},
		},
		{
			name: "a task of the array that a job waits for has ended",
			old: []*slurm.Job{jobIn(1, "RUNNING", taskOf(7, 3)),
				jobIn(2, "PENDING", dependsOn("afterany:7_*(unfulfilled)"))},
			rows: []slurm.JobStatus{taskRow(1, 3, "COMPLETED"), jobRow(2, "PENDING")}, want: []uint32{2},
		},
		{
			name: "a singleton's predecessor has ended",
			old: []*slurm.Job{jobIn(1, "RUNNING", ownedBy("ada")),
				jobIn(2, "PENDING", dependsOn("singleton(unfulfilled)"), ownedBy("ada")),
				jobIn(3, "PENDING", dependsOn("singleton(unfulfilled)"), ownedBy("bob"))},
			rows: []slurm.JobStatus{jobRow(1, "COMPLETED"), jobRow(2, "PENDING"), jobRow(3, "PENDING")},
			want: []uint32{2},
		},
		{
			name: "one job per limit is read if a limit holds many jobs",
			old: []*slurm.Job{jobIn(1, "RUNNING", ownedBy("ada")),
				jobIn(2, "PENDING", waitsFor("QOSMaxJobsPerUserLimit", ownedBy("ada"))),
				jobIn(3, "PENDING", waitsFor("QOSMaxJobsPerUserLimit", ownedBy("ada"))),
				jobIn(4, "PENDING", waitsFor("QOSMaxJobsPerUserLimit", ownedBy("bob")))},
			rows: []slurm.JobStatus{jobRow(1, "COMPLETED"), jobRow(2, "PENDING"), jobRow(3, "PENDING"),
				jobRow(4, "PENDING")}, want: []uint32{2, 4},
		},
		{
			name: "an array is not read when one of its tasks ended",
			old: []*slurm.Job{jobIn(7, "PENDING", arrayBase("2-9"), waitsFor("Resources")),
				jobIn(8, "RUNNING", taskOf(7, 0)), jobIn(9, "PENDING", taskOf(7, 1))},
			rows: []slurm.JobStatus{taskRow(7, 2, "PENDING"), taskRow(8, 0, "COMPLETED"), taskRow(9, 1, "PENDING")},
		},
		{
			name: "a split task is read for the array that its limit holds",
			old: []*slurm.Job{jobIn(7, "PENDING", arrayBase("2-9%1"), waitsFor("JobArrayTaskLimit")),
				jobIn(8, "RUNNING", taskOf(7, 0)),
				jobIn(9, "PENDING", taskOf(7, 1), waitsFor("JobArrayTaskLimit"))},
			rows: []slurm.JobStatus{taskRow(7, 2, "PENDING"), taskRow(8, 0, "COMPLETED"), taskRow(9, 1, "PENDING")},
			want: []uint32{9},
		},
		{
			name: "jobs that wait for nodes, a person or a time are not read",
			old: []*slurm.Job{jobIn(1, "RUNNING"), jobIn(2, "PENDING", waitsFor("Resources")),
				jobIn(3, "PENDING", waitsFor("JobHeldUser")), jobIn(4, "PENDING", waitsFor("BeginTime"))},
			rows: []slurm.JobStatus{jobRow(1, "COMPLETED"), jobRow(2, "PENDING"), jobRow(3, "PENDING"),
				jobRow(4, "PENDING")},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			p := newPoll(tc.old)
			p.addStates(tc.rows)
			p.compareKnown()
			d := Reader{now: func() time.Time { return time.Unix(100, 0) }, stats: &slurm.Stats{}}
			if diff := cmp.Diff(tc.want, d.updateDoubts(p, d.stats, time.Time{}, time.Second)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// slurmctld reports a fulfilled dependency, or room under a limit, at its next scheduling, seconds after the end of the
// other job.
func TestAReleasedJobIsReadUntilSlurmctldReportsIt(t *testing.T) {
	waits, limited := dependsOn("afterok:1(unfulfilled)"), waitsFor("QOSMaxJobsPerUserLimit")
	old := []*slurm.Job{jobIn(1, "RUNNING"), jobIn(2, "PENDING", waits), jobIn(3, "PENDING", limited),
		jobIn(4, "PENDING")}
	now := time.Unix(1000, 0)
	d := Reader{now: func() time.Time { return now }, stats: &slurm.Stats{}}
	// poll reads the jobs in doubt. It returns the jobs in changed, and otherwise the old records.
	poll := func(changed ...*slurm.Job) []uint32 {
		t.Helper()
		p := newPoll(old)
		for _, j := range old[1:] {
			p.addStates([]slurm.JobStatus{jobRow(j.ID, "PENDING")})
		}
		p.addStates([]slurm.JobStatus{jobRow(1, "COMPLETED")})
		p.compareKnown()
		ids := d.updateDoubts(p, d.stats, time.Time{}, time.Second)
		for _, id := range append([]uint32{1}, ids...) {
			p.addRecords(id, []*slurm.Job{records.FindJob(old, id)})
			if id == 1 {
				p.addRecords(id, []*slurm.Job{jobIn(1, "COMPLETED")})
			}
			if i := slices.IndexFunc(changed, func(j *slurm.Job) bool { return j.ID == id }); i >= 0 {
				p.addRecords(id, changed[i:i+1])
			}
		}
		d.doubts.settle(p)
		old, _ = p.mergeJobs()
		d.lastPoll, now = now, now.Add(10*time.Second)
		return ids
	}
	for _, want := range [][]uint32{{2, 3}, {2, 3}} {
		if diff := cmp.Diff(want, poll()); diff != "" {
			t.Fatal(diff)
		}
	}
	if diff := cmp.Diff([]uint32{2, 3}, poll(jobIn(2, "PENDING", waitsFor("None")))); diff != "" {
		t.Fatal(diff)
	}
	if diff := cmp.Diff([]uint32{3}, poll()); diff != "" {
		t.Errorf("after slurmctld updated job 2: %s", diff)
	}
	now = time.Unix(1000, 0).Add(evaluationTimeout + time.Second)
	if ids := poll(); ids != nil {
		t.Errorf("after %v the jobs %v are still read", evaluationTimeout, ids)
	}
}

func TestAFreedLimitPutsEveryJobItHeldInDoubt(t *testing.T) {
	limit := waitsFor("QOSMaxJobsPerUserLimit", ownedBy("ada"))
	p := newPoll([]*slurm.Job{jobIn(2, "PENDING", limit), jobIn(3, "PENDING", limit),
		jobIn(4, "PENDING", waitsFor("QOSMaxJobsPerUserLimit", ownedBy("bob")))})
	d := doubts{2: time.Unix(100, 0)}
	p.addRecords(2, []*slurm.Job{jobIn(2, "PENDING", waitsFor("Resources", ownedBy("ada")))})
	d.raiseSameLimit(p, time.Unix(200, 0))
	d.settle(p)
	if diff := cmp.Diff(doubts{3: time.Unix(200, 0)}, d); diff != "" {
		t.Error(diff)
	}
}

func TestDoubtsEndWithinABound(t *testing.T) {
	var old []*slurm.Job
	for id := uint32(1); id <= 20000; id++ {
		old = append(old, jobIn(id, "PENDING"))
	}
	for recordTime, most := range map[time.Duration]int{
		50 * time.Millisecond: doubtDivisor + 1, 500 * time.Microsecond: 4, 0: 2,
	} {
		d, polls, now := doubts{}, 0, time.Unix(1000, 0)
		d.raiseAll(newPoll(old), now)
		for ; len(d) > 0 && polls < 100; polls++ {
			now = now.Add(10 * time.Second)
			if got := d.oldestFact(now); !got.Equal(time.Unix(1000, 0)) {
				t.Fatalf("after %d polls the oldest fact is from %v", polls, got)
			}
			p := newPoll(old)
			for _, id := range d.nextBatch(p, recordTime) {
				p.addRecords(id, []*slurm.Job{jobIn(id, "PENDING")})
			}
			d.settle(p)
		}
		if polls > most {
			t.Errorf("at %v for a record it took %d polls", recordTime, polls)
		}
		if got := d.oldestFact(now); !got.Equal(now) {
			t.Errorf("without doubts the oldest fact is from %v", got)
		}
	}
}

// TestDoubtEndsWithinAMinute models polls of 20 ms distance, 10 s apart or more, after an update right after a poll.
func TestDoubtEndsWithinAMinute(t *testing.T) {
	const regular, recordTime, period = 2 * time.Second, 900 * time.Microsecond, 10 * time.Second
	var old []*slurm.Job
	for id := uint32(1); id <= 20000; id++ {
		old = append(old, jobIn(id, "PENDING"))
	}
	updated := time.Unix(1000, 0)
	d, now := doubts{}, updated.Add(3*regular+period)
	d.raiseAll(newPoll(old), updated)
	for len(d) > 0 {
		p := newPoll(old)
		batch := d.nextBatch(p, recordTime)
		for _, id := range batch {
			p.addRecords(id, []*slurm.Job{jobIn(id, "PENDING")})
		}
		d.settle(p)
		doubtful := time.Duration(len(batch)) * recordTime
		took := regular + doubtful
		now = now.Add(took)
		if len(d) > 0 {
			now = now.Add(pacing.PauseAfter(period, pacing.Spent(took, doubtful, 0.25), 0.25, 0))
		}
	}
	if age := now.Sub(updated); age > time.Minute {
		t.Errorf("the jobs became %v old", age)
	}
}

func TestANewJobIsReadAgainUntilItIsEvaluated(t *testing.T) {
	p := newPoll([]*slurm.Job{
		jobIn(1, "PENDING", waitsFor("None")),
		jobIn(2, "PENDING", waitsFor("None", func(j *slurm.Job) { j.LastSchedEval = 1500 })),
		jobIn(3, "PENDING", waitsFor("Resources")),
	})
	if diff := cmp.Diff([]uint32{1}, p.unevaluated(1600)); diff != "" {
		t.Error(diff)
	}
	if got := p.unevaluated(1001 + newJobSeconds); got != nil {
		t.Errorf("after a long time the jobs %v still count as new", got)
	}
}

func TestIDsTaken(t *testing.T) {
	old := &slurm.Stats{JobsSubmitted: 10, JobsStarted: 5, JobsCanceled: 1}
	for name, c := range map[string]struct {
		now  slurm.Stats
		want uint32
	}{
		"nothing":                  {*old, 0},
		"jobs arrived and started": {slurm.Stats{JobsSubmitted: 410, JobsStarted: 105, JobsCanceled: 2}, 501},
		"the counters went back":   {slurm.Stats{}, 0},
		"too many ids":             {slurm.Stats{JobsSubmitted: 1 << 40}, maxTakenIDs},
	} {
		if got := idsTaken(old, &c.now, tasksSubmitted(old, &c.now)); got != c.want {
			t.Errorf("%s: %d, want %d", name, got, c.want)
		}
	}
}
