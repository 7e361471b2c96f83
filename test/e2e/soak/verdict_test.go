package soak

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"
)

func at(seconds int) time.Time {
	return time.Unix(1_800_000_000, 0).Add(time.Duration(seconds) * time.Second)
}

func TestJobsAreJudgedByTheirRecords(t *testing.T) {
	job := submission{Job: Job{Kind: "short", Tasks: 1, Want: "COMPLETED"}, id: "7", name: "s1-0", at: at(0)}
	array := submission{Job: Job{Kind: "array", Tasks: 2, Want: "COMPLETED"}, id: "8", name: "s1-1", at: at(0)}
	sleeper := job
	sleeper.Sleep = 6 * time.Second
	completed := record{id: "7", name: "s1-0", state: "COMPLETED"}
	for name, c := range map[string]struct {
		jobs         []submission
		records      []record
		kills        []time.Time
		lostEnds     []string
		fault, lost  string
		faults, lose int
	}{
		"a job that completed": {jobs: []submission{job}, records: []record{completed}},
		"a job that failed": {jobs: []submission{job}, records: []record{{id: "7", name: "s1-0", state: "NODE_FAIL"}},
			fault: "7 is NODE_FAIL, want COMPLETED", faults: 1},
		"a job that was started twice": {jobs: []submission{job},
			records: []record{{id: "7", name: "s1-0", state: "COMPLETED", restarts: 1}}, fault: "started 2 times", faults: 1},
		"a requeued job with two records": {jobs: []submission{job}, records: []record{completed, completed},
			fault: "2 records, want 1", faults: 1},
		"a job without a record": {jobs: []submission{job}, fault: "0 records", faults: 1},
		"a job that was lost with slurmctld": {jobs: []submission{job}, kills: []time.Time{at(5)}, lost: "0 records",
			lose: 1},
		"a job that slurmctld had saved": {jobs: []submission{job}, kills: []time.Time{at(7)}, fault: "0 records", faults: 1},
		"a job that was cancelled before the kill": {jobs: []submission{{Job: Job{Kind: "is cancelled", Tasks: 1,
			Want: "CANCELLED", Then: []string{"scancel"}}, id: "7", name: "s1-0", at: at(0)}}, kills: []time.Time{at(10)}, lost: "0 records", lose: 1},
		"a job that came after the kill": {jobs: []submission{job}, kills: []time.Time{at(-1)}, fault: "0 records", faults: 1},
		"a task is missing":              {jobs: []submission{array}, records: []record{{id: "8_1", name: "s1-1", state: "COMPLETED"}}, fault: "1 records, want 2", faults: 1},
		"an id that was given twice": {jobs: []submission{job, {Job: job.Job, id: "7", name: "s1-2", at: at(20)}},
			records: []record{{id: "7", name: "s1-2", state: "PENDING"}}, lost: "PENDING", lose: 2},
		"a job whose end was lost": {jobs: []submission{job}, records: []record{{id: "7", name: "s1-0", state: "CANCELLED"}},
			lostEnds: []string{"s1-0"}, lost: "7 is CANCELLED", lose: 1},
		"a job that ended right before the kill and ran again": {jobs: []submission{sleeper}, kills: []time.Time{at(18)},
			records: []record{{id: "7", name: "s1-0", state: "NODE_FAIL", start: at(10)}, {id: "7", name: "s1-0", state: "COMPLETED", restarts: 1}},
			lost:    "7 is NODE_FAIL", lose: 1},
		"a job that would have ended after the kill and ran again": {jobs: []submission{sleeper}, kills: []time.Time{at(15)},
			records: []record{{id: "7", name: "s1-0", state: "NODE_FAIL", start: at(10)}}, fault: "7 is NODE_FAIL", faults: 1},
		"a job that started right before the kill and was started again": {jobs: []submission{sleeper}, kills: []time.Time{at(15)},
			records: []record{{id: "7", name: "s1-0", state: "REQUEUED", start: at(12)}, {id: "7", name: "s1-0", state: "COMPLETED", restarts: 1}},
			lost:    "7 is REQUEUED", lose: 1},
		"a job that started long before the kill and was requeued": {jobs: []submission{sleeper}, kills: []time.Time{at(25)},
			records: []record{{id: "7", name: "s1-0", state: "REQUEUED", start: at(12)}}, fault: "7 is REQUEUED", faults: 1},
		"a job that came after the kill and was requeued": {jobs: []submission{{Job: job.Job, id: "7", name: "s1-0", at: at(16)}},
			kills: []time.Time{at(15)}, records: []record{{id: "7", name: "s1-0", state: "REQUEUED", start: at(17)}}, fault: "7 is REQUEUED", faults: 1},
		"a job that was to be cancelled": {jobs: []submission{{Job: Job{Tasks: 1, Want: "CANCELLED"}, id: "9", name: "c"}},
			records: []record{{id: "9", name: "c", state: "CANCELLED by 0"}}},
	} {
		t.Run(name, func(t *testing.T) {
			faults, lost := judgeJobs(c.jobs, c.records, c.kills, c.lostEnds)
			if len(faults) != c.faults || !strings.Contains(strings.Join(faults, "\n"), c.fault) {
				t.Errorf("faults %q, want %d with %q", faults, c.faults, c.fault)
			}
			if len(lost) != c.lose || !strings.Contains(strings.Join(lost, "\n"), c.lost) {
				t.Errorf("lost %q, want %d with %q", lost, c.lose, c.lost)
			}
		})
	}
}

func TestFindLostEnds(t *testing.T) {
	const queue = "41_3|s1-33|RUNNING\n41_4|s1-33|RUNNING\n50|s1-40|RUNNING\n51|s1-41|PENDING\n4|s1-3|RUNNING\n"
	const accounting = "41_3|2027-01-15T08:00:00|COMPLETED\n41_4|2027-01-15T07:59:50|COMPLETED\n" +
		"50|Unknown|RUNNING\n51|2027-01-15T08:00:00|COMPLETED\n4|2027-01-15T08:00:00|CANCELLED by 0\n"
	want := []lostEnd{{"41_3", "s1-33"}, {"4", "s1-3"}} // 41_4 had ended long before
	if got := findLostEnds(queue, accounting, []time.Time{at(2)}); !slices.Equal(got, want) {
		t.Errorf("lost ends are %v, want %v", got, want)
	}
	if got := findLostEnds(queue, accounting, nil); got != nil {
		t.Errorf("without a kill they are %v", got)
	}
}

// samplesOf returns a sample per second in which the given number of idle workers run.
func samplesOf(seconds, workers, needed int) []sample {
	var out []sample
	for i := range seconds {
		s := sample{at: at(i), workers: map[string]worker{}, needed: needed}
		for n := range workers {
			s.workers[string(rune('a'+n))] = worker{name: string(rune('a' + n))}
		}
		out = append(out, s)
	}
	return out
}

func TestExcessWorkersMustLeaveWithinAMinute(t *testing.T) {
	held := samplesOf(120, 2, 1)
	for i := range held {
		held[i].workers["a"] = worker{name: "a", isHeld: true}
	}
	interrupted := samplesOf(100, 2, 1)
	interrupted[50].needed = -1
	for name, c := range map[string]struct {
		samples []sample
		want    int
	}{
		"as many as needed":              {samplesOf(120, 2, 2), 0},
		"one too many for a minute":      {samplesOf(60, 2, 1), 0},
		"one too many for two minutes":   {samplesOf(120, 2, 1), 1},
		"one that an administrator held": {held, 0},
		"Slurm did not answer meanwhile": {interrupted, 0},
	} {
		if got := findExcess(c.samples); len(got) != c.want {
			t.Errorf("%s: %q, want %d", name, got, c.want)
		}
	}
}

func TestFlapsAreWorkersWithoutJobs(t *testing.T) {
	lives := func(worked ...bool) []sample {
		var out []sample
		for i, busy := range worked {
			uid := string(rune('a' + i))
			out = append(out, sample{at: at(20 * i), workers: map[string]worker{uid: {name: "cpu-2", isBusy: busy}}},
				sample{at: at(20*i + 10)})
		}
		return out
	}
	for name, c := range map[string]struct {
		samples []sample
		want    int
	}{
		"each had a job":      {lives(true, true, true, true), 0},
		"two without a job":   {lives(false, false, true, false), 0},
		"three without a job": {lives(true, false, false, false), 1},
	} {
		if got := findFlaps(c.samples); len(got) != c.want {
			t.Errorf("%s: %q, want %d", name, got, c.want)
		}
	}
}

func TestASeedDrawsTheSameJobs(t *testing.T) {
	draw := func(seed uint64) (kinds []string) {
		dice := rand.New(rand.NewPCG(seed, 0))
		for range 200 {
			job := drawJob(dice)
			if job.Tasks < 1 || job.Want == "" {
				t.Fatalf("%+v has no tasks or no wanted state", job)
			}
			kinds = append(kinds, job.Kind+strings.Join(job.Args, " "))
		}
		return kinds
	}
	if !slices.Equal(draw(3), draw(3)) || slices.Equal(draw(3), draw(4)) {
		t.Error("the jobs do not follow the seed")
	}
}

func TestIsLostStart(t *testing.T) {
	const held, reason = "51 s-38 PENDING launch failed requeued held\n", "cpu-0 Duplicate jobid\ncpu-1 none\n"
	killed := []time.Time{time.Now()}
	for name, c := range map[string]struct {
		queued, reasons string
		kills           []time.Time
		want            bool
	}{
		"after a kill":         {held, reason, killed, true},
		"without a kill":       {held, reason, nil, false},
		"for another reason":   {held, "cpu-0 Prolog error\n", killed, false},
		"a job that waits":     {"51 s-38 PENDING Resources\n", reason, killed, false},
		"no node has a reason": {held, "", killed, false},
	} {
		if got := isLostStart(c.queued, c.reasons, c.kills); got != c.want {
			t.Errorf("%s: %t, want %t", name, got, c.want)
		}
	}
}

func TestIsHeld(t *testing.T) {
	for queued, want := range map[string]bool{
		"38 s-22 PENDING JobHeldUser\n": true, "52 s-38 PENDING JobHeldAdmin\n": true, "53 s-39 PENDING Resources\n": false,
		"54 JobHeldUser RUNNING None\n": false,
	} {
		if got := isHeld(queued); got != want {
			t.Errorf("%q: %t, want %t", queued, got, want)
		}
	}
}
