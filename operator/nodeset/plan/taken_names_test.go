package plan

import (
	"fmt"
	"testing"
	"time"
)

// withLostPod removes the pod of a worker. Its Slurm node stays unchanged.
func withLostPod(i int) func(*planInput) {
	return func(s *planInput) {
		name := fmt.Sprintf("n-%d", i)
		for at := range s.observed.Workers {
			if s.observed.Workers[at].Pod == name {
				s.observed.Workers = append(s.observed.Workers[:at:at], s.observed.Workers[at+1:]...)
				return
			}
		}
	}
}

// withDrainSeen has earlier readings show that a Slurm node is drained.
func withDrainSeen(i int) func(*planInput) {
	return func(s *planInput) { s.observed.Slurm.DrainedSince[fmt.Sprintf("n-%d", i)] = noon.Add(-time.Minute) }
}

// withSilentNode has a Slurm node not respond.
func withSilentNode(i int) func(*planInput) {
	return withRecord(i, func(r *Record) { r.Down, r.NotResponding = true, true })
}

// withDownNode has a Slurm node be DOWN.
func withDownNode(i int) func(*planInput) { return withRecord(i, func(r *Record) { r.Down = true }) }

// withGonePod removes the pod of a worker, after the last reading by that long.
func withGonePod(i int, after time.Duration) func(*planInput) {
	return func(s *planInput) {
		withLostPod(i)(s)
		s.observed.GoneSince = map[string]time.Time{fmt.Sprintf("n-%d", i): noon.Add(after)}
		s.observed.Slurm.NodesReadAt, s.observed.Slurm.JobsReadAt = noon, noon
	}
}

func withOldJobs(s *planInput) { s.observed.Slurm.JobsReadAt = noon.Add(-time.Minute) }

func withPerKubeNode(kubeNodes ...string) func(*planInput) {
	return func(s *planInput) {
		s.desired.PerKubeNode, s.desired.KubeNodes = true, kubeNodes
		for i := range s.observed.Workers {
			w := &s.observed.Workers[i]
			w.Slot = Slot{Ordinal: NoOrdinal, KubeNode: w.KubeNode}
		}
	}
}

func TestNameOfASlurmNodeWithoutAPod(t *testing.T) {
	const drain, future = "drain n-0", "mark-future n-0"
	busy := func(r *Record) { r.Busy = true }
	drainedByOthers := func(r *Record) { r.Drain = true }
	noMaximum := func(s *planInput) { s.desired.MaxWorkers = nil }
	canCreate := func(s *planInput) { s.desired.CanCreateRecords = true }
	top := func(n int) func(*planInput) { return func(s *planInput) { s.desired.MaxWorkers = &n } }
	for _, tc := range []struct {
		name string
		set  *planInput
		want []string
	}{
		{"taken: it has a job", newInput(2, 2, withJob(0, 7, 0), withLostPod(0)), []string{"create 2", drain}},
		{"taken: it has a job and does not respond", newInput(2, 2, withJob(0, 7, 0), withSilentNode(0), withLostPod(0)),
			[]string{"create 2", drain}},
		{"taken: its job is completing", newInput(2, 2, withRecord(0, busy), withDownNode(0), withLostPod(0)),
			[]string{"create 2", drain}},
		{"taken: its job is suspended, so that only the list of jobs shows it",
			newInput(2, 2, withJob(0, 7, 0), withRecord(0, func(r *Record) { r.Busy = false }), withSilentNode(0), withLostPod(0)),
			[]string{"create 2", drain}},
		{"taken: it responds and may get a job", newInput(2, 2, withLostPod(0)), []string{"create 2", drain}},
		{"taken: it does not respond at present", newInput(2, 2, withSilentNode(0), withLostPod(0)),
			[]string{"create 2", drain}},
		{"taken: it is drained and still has a job", newInput(2, 2, withJob(0, 7, 0), withOurDrain(0), withLostPod(0)),
			[]string{"create 2"}},
		{"taken: no jobs were listed for long after it was drained", newInput(2, 2, withOurDrain(0), withLostPod(0),
			withDrainSeen(0), func(s *planInput) {
				s.observed.Slurm.DrainedSince["n-0"] = noon.Add(-time.Hour)
				s.observed.Slurm.JobsReadAt = noon.Add(-2 * time.Hour)
			}), []string{"create 2"}},
		{"taken: its owner is not known and it has a job",
			newInput(2, 2, withJob(0, 7, 0), withSilentNode(0), withRecord(0, func(r *Record) { r.OwnerUID = "" }), withLostPod(0)),
			[]string{"create 2"}},
		{"free: it is drained and has no job", newInput(2, 2, withOurDrain(0), withLostPod(0), canCreate, top(2)),
			[]string{"create 0"}},
		{"free: it is DOWN", newInput(2, 2, withDownNode(0), withLostPod(0)), []string{"create 0"}},
		{"free: it is DOWN, and an older list of jobs has its job", newInput(2, 2, withJob(0, 7, 0),
			withRecord(0, func(r *Record) { r.Busy = false }), withDownNode(0), withOldJobs, withLostPod(0)), []string{"create 0"}},
		{"free: it is FUTURE", newInput(2, 2, withRecord(0, func(r *Record) { r.Future = true }), withLostPod(0)),
			[]string{"create 0"}},
		{"last: others drained it", newInput(2, 2, withRecord(0, drainedByOthers), withDrainSeen(0),
			withLostPod(0)), []string{"create 2"}},
		{"the maximum counts the names that are taken", newInput(2, 2, withJob(0, 7, 0), withLostPod(0), top(2)),
			[]string{drain}},
		{"without a maximum there is a further name", newInput(1, 1, withJob(0, 7, 0), withLostPod(0), noMaximum),
			[]string{"create 1", drain}},
		{"no worker is missing: the record is drained nevertheless", newInput(1, 2, withJob(0, 7, 0), withLostPod(0), canCreate,
			top(2)), []string{drain}},
		{"a record that becomes free returns to FUTURE", newInput(1, 2, withOurDrain(0), withLostPod(0), canCreate, top(2)),
			[]string{future}},
		{"on a stale reading the name is taken as well", newInput(2, 2, withJob(0, 7, 0), withLostPod(0), withStaleReading),
			[]string{"create 2"}},
		{"jobs of another cluster do not show that a FUTURE node is free: slurmctld may have forgotten a worker with a job",
			newInput(2, 2, withRecord(0, func(r *Record) { r.Future = true }), withLostPod(0), withMixedReading), nil},
		{"per Kubernetes node: no worker until the name is free",
			newInput(2, 2, withJob(0, 7, 0), withLostPod(0), withPerKubeNode("k-n-0", "k-n-1")), []string{drain}},
		{"per Kubernetes node: the name is free", newInput(2, 2, withDownNode(0), withLostPod(0),
			withPerKubeNode("k-n-0", "k-n-1")), []string{"create -1k-n-0"}},
		{"a NodeSet that is deleted waits for the job", newInput(1, 1, withJob(0, 7, 0), withLostPod(0), withDeletion),
			[]string{drain}},
	} {
		t.Run(tc.name, func(t *testing.T) { expectSteps(t, tc.set, tc.want...) })
	}
}

// withMixedReading takes the jobs from another cluster.
func withMixedReading(s *planInput) {
	withStaleReading(s)
	s.observed.Slurm.Mixed = true
}

func TestPodThatHasJustDisappeared(t *testing.T) {
	perKubeNode := withPerKubeNode("k-n-0", "k-n-1")
	future := withRecord(0, func(r *Record) { r.Future = true })
	for _, tc := range []struct {
		name  string
		set   *planInput
		await bool
		want  []string
	}{
		{"the next reading decides", newInput(2, 2, withGonePod(0, time.Second)), true, nil},
		{"also for a node that was DOWN", newInput(2, 2, withDownNode(0), withGonePod(0, time.Second)), true, nil},
		{"also for a node that was FUTURE", newInput(2, 2, future, withGonePod(0, time.Second)), true, nil},
		{"also per Kubernetes node", newInput(2, 2, future, withGonePod(0, time.Second), perKubeNode), true, nil},
		{"drained after jobs were listed: the operator may have just started", newInput(2, 2, withOurDrain(0), withLostPod(0),
			func(s *planInput) { s.observed.Slurm.DrainedSince["n-0"] = noon.Add(time.Second) }), true, nil},
		{"drained after jobs were listed, with a job", newInput(2, 2, withJob(0, 7, 0), withOurDrain(0), withLostPod(0),
			func(s *planInput) { s.observed.Slurm.DrainedSince["n-0"] = noon.Add(time.Second) }), false, []string{"create 2"}},
		{"not for a node that was drained without work", newInput(2, 2, withOurDrain(0), withGonePod(0, time.Second)), false,
			[]string{"create 0"}},
		{"not once both lists are newer", newInput(2, 2, withDownNode(0), withGonePod(0, -time.Second)), false,
			[]string{"create 0"}},
		{"jobs must have been listed since", newInput(2, 2, withDownNode(0), withGonePod(0, -time.Second), withOldJobs), true, nil},
		{"not forever: then another name is used", newInput(2, 2, withGonePod(0, -10*time.Minute), func(s *planInput) {
			s.observed.Slurm.NodesReadAt = noon.Add(-time.Hour)
		}), true, []string{"create 2", "drain n-0"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if actions := expectSteps(t, tc.set, tc.want...); actions.AwaitsReading != tc.await {
				t.Errorf("AwaitsReading = %v", actions.AwaitsReading)
			}
		})
	}
}

func TestClaimsOfNamesThatAreTakenAreKept(t *testing.T) {
	claims := func(s *planInput) {
		s.desired.ClaimRetention = ClaimRetention{WhenScaled: true}
		s.observed.Claims = []Claim{{Name: "data-n-1", ClaimRetention: s.desired.ClaimRetention}}
	}
	for _, tc := range []struct {
		name string
		set  *planInput
		want int
	}{
		{"its worker is gone", newInput(1, 1, claims), 1},
		{"its worker has a job and no pod", newInput(1, 2, withJob(1, 7, 0), withLostPod(1), claims), 0},
		{"its pod has just disappeared", newInput(1, 2, withGonePod(1, time.Second), claims), 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := tc.set.runPlanner().Claims; len(got) != tc.want {
				t.Errorf("claims = %+v, want %d", got, tc.want)
			}
		})
	}
}

func TestPreconditionOfANameThatIsFree(t *testing.T) {
	for _, tc := range []struct {
		name   string
		record *Record
		want   bool
	}{
		{"no record", nil, true},
		{"FUTURE", &Record{Future: true}, true},
		{"DOWN", &Record{Down: true}, true},
		{"drained", &Record{Drain: true}, true},
		{"drained with a job", &Record{Drain: true, Busy: true}, false},
		{"not responding", &Record{Down: true, NotResponding: true}, false},
		{"idle", &Record{}, false},
	} {
		if got := PreconditionNameFree.IsMetBy(tc.record); got != tc.want {
			t.Errorf("%s: IsMetBy = %v, want %v", tc.name, got, tc.want)
		}
	}
}
