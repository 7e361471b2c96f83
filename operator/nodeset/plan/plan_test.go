package plan

import (
	"fmt"
	"testing"
	"time"
)

func TestSteps(t *testing.T) {
	protect := withWorker(0, func(w *Worker) { w.DrainMark.Protect = true })
	for name, tc := range map[string]struct {
		input *planInput
		want  []string
	}{
		"nothing is to do for a NodeSet at its count": {newInput(2, 2), nil},
		"missing workers are created at the lowest free ordinals": {newInput(4, 2,
			withWorker(0, func(w *Worker) { w.Slot.Ordinal = 1 }),
			withWorker(1, func(w *Worker) { w.Slot.Ordinal = 3 }),
			func(s *planInput) { s.desired.SlurmName = func(i int) string { return fmt.Sprintf("m-%d", i) } }),
			[]string{"create 0", "create 2"}},
		"none are made before Slurm has been read": {newInput(2, 0,
			func(s *planInput) { s.observed.Slurm = SlurmReading{Connected: true} }), nil},
		"workers are created though Slurm does not answer": {newInput(3, 2, withStaleReading),
			[]string{"create 2"}},
		"an ordinal that others have drained comes last": {newInput(1, 0,
			withRecord(0, func(r *Record) { r.Drain, r.Dynamic, r.OwnerUID = true, true, "set" })), []string{"create 1"}},
		"it is used where no other is left": {newInput(1, 0,
			withRecord(0, func(r *Record) { r.Drain, r.Dynamic, r.OwnerUID = true, true, "set" }), withDrainSeen(0),
			func(s *planInput) { *s.desired.MaxWorkers = 1 }),
			[]string{"create 0"}},
		"a deleted pod is waited for": {newInput(2, 2,
			withWorker(1, func(w *Worker) { w.DeletedAt = noon.Add(-time.Second) })), nil},
		"a deleted pod that does not go is not waited for for ever": {newInput(2, 2,
			withWorker(1, func(w *Worker) { w.DeletedAt = noon.Add(-time.Hour) })), []string{"create 2"}},
		"a pod whose containers ended is replaced": {newInput(2, 2,
			withWorker(1, func(w *Worker) { w.Finished = true })), []string{"delete n-1"}},
		"an idle worker is noted and drained first": {newInput(1, 2),
			[]string{"annotate n-1 ScaleIn", "drain n-1"}},
		"a drained worker is deleted": {newInput(1, 2, withCause(1, causeScaleIn),
			withOurDrain(1)), []string{"delete n-1"}},
		"one that never was scheduled needs no drain": {newInput(1, 2,
			withWorker(0, func(w *Worker) { w.KubeNode, w.Running, w.Ready = "", false, false }),
			func(s *planInput) { delete(s.observed.Slurm.Records, "n-0") }),
			[]string{"annotate n-0 ScaleIn", "delete n-0"}},
		"idle workers go before busy ones": {newInput(1, 3, protect, withJob(0, 7, 0)),
			[]string{"annotate n-1 ScaleIn", "annotate n-2 ScaleIn", "drain n-1", "drain n-2"}},
		"a drained worker with a job stays": {newInput(0, 1, protect,
			withCause(0, causeScaleIn), withOurDrain(0), withJob(0, 7, 0)), nil},
		"a suspended job is a job": {newInput(0, 1, protect,
			withCause(0, causeScaleIn), withOurDrain(0), withJob(0, 7, 0),
			withRecord(0, func(r *Record) { r.Busy = false })), nil},
		"the choice stays though another has become idle": {newInput(1, 2, withCause(1, causeScaleIn),
			withWorker(1, func(w *Worker) { w.DrainMark.Protect = true }), withOurDrain(1), withJob(1, 7, 0)), nil},
		"a choice that is not needed any more is taken back": {newInput(2, 2, withCause(1, causeScaleIn),
			withOurDrain(1)), []string{"annotate n-1 ", "undrain n-1"}},
		"a drain of others is not taken back": {newInput(2, 2,
			withRecord(1, func(r *Record) { r.Drain = true })), nil},
		"a drain of others is enough, and is not overwritten": {newInput(1, 2,
			withRecord(1, func(r *Record) { r.Drain = true }),
			func(s *planInput) { s.observed.Slurm.DrainedSince["n-1"] = noon.Add(-time.Second) }),
			[]string{"annotate n-1 ScaleIn", "delete n-1"}},
		"jobs must have been listed since the drain": {newInput(1, 2, withCause(1, causeScaleIn),
			withOurDrain(1), func(s *planInput) { s.observed.Slurm.JobsReadAt = noon.Add(-2 * time.Minute) }), nil},
		"nothing is chosen or deleted on a stale reading": {newInput(1, 3, withStaleReading,
			withCause(1, causeScaleIn), withOurDrain(1)), nil},
		"nothing is deleted before the first reading": {newInput(1, 2, withStaleReading,
			func(s *planInput) { s.observed.Slurm = SlurmReading{Connected: true} },
			withWorker(1, func(w *Worker) { w.KubeNode = "" })), []string{"annotate n-1 ScaleIn"}},
		"with policy Force it is": {newInput(0, 1, protect, withCause(0, causeScaleIn),
			func(s *planInput) {
				s.observed.Slurm = SlurmReading{Connected: true}
				s.desired.DrainPolicy.Force = true
			}), []string{"delete n-0"}},
		"a running worker that Slurm does not know stays": {newInput(0, 1, withCause(0, causeScaleIn),
			func(s *planInput) { delete(s.observed.Slurm.Records, "n-0") }), nil},
		"an empty list of nodes deletes nothing": {newInput(0, 1, withCause(0, causeScaleIn),
			withUnstartedSlurmd(0), func(s *planInput) { s.observed.Slurm.TotalNodes = 0 }), nil},
		"one that did not register in time goes": {newInput(0, 1, withCause(0, causeScaleIn),
			withUnstartedSlurmd(0)), []string{"delete n-0"}},
		"one that may still register stays": {newInput(0, 1, withCause(0, causeScaleIn),
			withUnstartedSlurmd(0), withWorker(0, func(w *Worker) { w.Created = noon.Add(-time.Minute) })), nil},
		"policy Force deletes at once": {newInput(0, 1, protect,
			withCause(0, causeScaleIn), withJob(0, 7, 0), withOurDrain(0),
			func(s *planInput) { s.desired.DrainPolicy.Force = true }), []string{"delete n-0"}},
		"policy Timeout deletes after it, even unseen": {newInput(0, 1, protect,
			withCause(0, causeScaleIn), withStaleReading, withDrained(0, time.Minute), withTimeout(time.Minute)),
			[]string{"delete n-0"}},
		"policy Timeout waits until it": {newInput(0, 1, protect, withDrained(0, time.Minute),
			withCause(0, causeScaleIn), withJob(0, 7, 0), withOurDrain(0), withTimeout(time.Hour)), nil},
		"it begins when the drain takes effect": {newInput(0, 1, withCause(0, causeScaleIn), withJob(0, 7, 0),
			withTimeout(time.Minute)), []string{"drain n-0"}},
		"which is noted": {newInput(0, 1, withCause(0, causeScaleIn), withJob(0, 7, 0), withOurDrain(0),
			withTimeout(time.Minute)), []string{"annotate n-0 ScaleIn"}},
		"it has not begun before Slurm is read again": {newInput(0, 1, withCause(0, causeScaleIn), withStaleReading,
			withTimeout(time.Minute)), nil},
		"it begins again when somebody undrains the worker": {newInput(0, 1, withCause(0, causeScaleIn),
			withJob(0, 7, 0), withDrained(0, time.Hour), withTimeout(time.Minute)),
			[]string{"annotate n-0 ScaleIn", "drain n-0"}},
		"it begins with the choice for a worker that cannot be drained": {newInput(0, 1, withCause(0, causeScaleIn),
			withRecord(0, func(r *Record) { r.Future = true }), withTimeout(time.Minute)), []string{"delete n-0"}},
		"it does not begin because a reading lacks the node": {newInput(0, 1, withCause(0, causeScaleIn),
			withoutRecord, withTimeout(time.Minute)), nil},
		"a busy worker is protected until its job ends": {newInput(1, 1, withJob(0, 7, time.Hour)),
			[]string{"annotate n-0 "}},
		"an idle one is protected too": {newInput(1, 1, withoutProtection),
			[]string{"annotate n-0 "}},
		"so is one that Slurm does not know yet": {newInput(1, 1, withoutProtection,
			withoutRecord), []string{"annotate n-0 "}},
		"so is one while Slurm is not read": {newInput(1, 1, withoutProtection,
			withStaleReading), []string{"annotate n-0 "}},
		"a cordoned one is until it is drained": {newInput(1, 1, withCordon),
			[]string{"drain n-0"}},
		"and while it has work": {newInput(1, 1, withCordon,
			withOurDrain(0), withJob(0, 7, 0)), nil},
		"and until jobs were listed since": {newInput(1, 1, withCordon,
			withOurDrain(0), func(s *planInput) { s.observed.Slurm.JobsReadAt = noon.Add(-time.Hour) }), nil},
		"a reading that lacks its node does not unprotect it": {newInput(1, 1, withCordon, withoutRecord),
			nil},
		"nor does one from before it was created": {newInput(1, 1, withCordon,
			withOurDrain(0), withWorker(0, func(w *Worker) { w.Created = noon })), nil},
		"nor does one that is not fresh": {newInput(1, 1, withCordon,
			withOurDrain(0), withStaleReading), nil},
		"one that is uncordoned is protected before it is undrained": {newInput(1, 1, withoutProtection,
			withOurDrain(0)), []string{"annotate n-0 ", "undrain n-0"}},
		"an administrator's DOWN or FAIL is not overwritten by a drain": {newInput(0, 1, withCause(0, causeScaleIn),
			withDownByOthers(0)), []string{"add-drain n-0"}},
		"closed it goes like any other": {newInput(0, 1, withCause(0, causeScaleIn),
			withOurDrain(0), withDownByOthers(0)), []string{"delete n-0"}},
		"it is not resumed": {newInput(1, 1, withDownByOthers(0)), nil},
		"nor when it is no longer to go": {newInput(1, 1, withCause(0, causeScaleIn),
			withOurDrain(0), withDownByOthers(0)), []string{"annotate n-0 "}},
		"without a pod it is kept, and kept from returning by itself": {newInput(0, 0, withLeftoverRecord(0),
			withDownByOthers(0), withRecord(0, func(r *Record) { r.Drain = false }),
			func(s *planInput) { *s.desired.MaxWorkers, s.desired.CanCreateRecords = 1, true }),
			[]string{"add-drain n-0"}},
		"closed it stays": {newInput(0, 0, withLeftoverRecord(0),
			withDownByOthers(0), func(s *planInput) { *s.desired.MaxWorkers, s.desired.CanCreateRecords = 1, true }),
			nil},
		"its ordinal comes last": {newInput(1, 0, withDownByOthers(0),
			withOurDrain(0), withRecord(0, func(r *Record) { r.OurReason = false })), []string{"create 1"}},
		"it is closed before its worker comes back": {newInput(1, 0, withDownByOthers(0),
			func(s *planInput) { *s.desired.MaxWorkers = 1 }), []string{"add-drain n-0", "create 0"}},
		"a running worker that never registered is replaced": {newInput(1, 1, withFutureRecord(0)),
			[]string{"delete n-0"}},
		"not before its time": {newInput(1, 1, withFutureRecord(0),
			withWorker(0, func(w *Worker) { w.RunningSince = noon.Add(-time.Minute) })), nil},
		"not by a reading from before its time": {newInput(1, 1, withFutureRecord(0),
			func(s *planInput) { s.observed.Slurm.NodesReadAt = noon.Add(-time.Hour) }), nil},
		"not while a job is listed on it": {newInput(1, 1, withJob(0, 7, 0),
			withFutureRecord(0)), nil},
		"not on a stale reading": {newInput(1, 1, withFutureRecord(0),
			withStaleReading), nil},
		"one that Slurm does not know at all may have jobs and stays": {newInput(1, 1, withoutRecord), nil},
		"one that is to go and never registered goes": {newInput(0, 1, withCause(0, causeScaleIn),
			withFutureRecord(0)), []string{"delete n-0"}},
		"a worker whose node went down with the pod before is resumed": {newInput(1, 1,
			withRecord(0, func(r *Record) { r.Down, r.OurReason = true, true })), []string{"resume n-0"}},
		"a cordoned worker is drained and stays": {newInput(1, 1,
			withWorker(0, func(w *Worker) { w.CordonReason = "cordoned" })), []string{"drain n-0"}},
		"a cordoned worker that is drained stays drained": {newInput(1, 1,
			withWorker(0, func(w *Worker) { w.CordonReason = "cordoned" }), withOurDrain(0)),
			[]string{"annotate n-0 "}},
		"an outdated worker is drained": {newInput(2, 2, withOldRevision(0, 1)),
			[]string{"annotate n-1 Update", "drain n-1"}},
		"the budget counts those that are out of service": {newInput(3, 3, withOldRevision(0, 1),
			withWorker(2, func(w *Worker) { w.Ready = false })), nil},
		"one that is out of service anyway is replaced at no cost": {newInput(2, 2, withOldRevision(0, 1),
			withWorker(0, func(w *Worker) { w.Ready = false })), []string{"annotate n-0 Update", "drain n-0"}},
		"no reading chooses more than the budget": {newInput(4, 4,
			withOldRevision(0, 1, 2, 3), withNoNodeResponding), []string{"annotate n-3 Update", "drain n-3"}},
		"nor does one that lacks all nodes": {newInput(3, 3, withOldRevision(0, 1, 2),
			func(s *planInput) { clear(s.observed.Slurm.Records) }), []string{"annotate n-2 Update"}},
		"what was chosen above it is given back": {newInput(3, 3, withOldRevision(0, 1, 2),
			withCause(0, causeUpdate), withCause(1, causeUpdate), withCause(2, causeUpdate), withOurDrain(0),
			withOurDrain(1), withOurDrain(2)), []string{"annotate n-0 ", "annotate n-1 ", "undrain n-0", "undrain n-1",
			"delete n-2"}},
		"workers in which nothing runs cost nothing": {newInput(3, 3, withOldRevision(0, 1, 2),
			withUnstartedSlurmd(0), withUnstartedSlurmd(1)),
			[]string{"annotate n-0 Update", "annotate n-1 Update", "delete n-1"}},
		"ordinals below the partition keep their revision": {newInput(2, 2, withOldRevision(0, 1),
			func(s *planInput) { s.desired.Update.Partition, s.desired.Update.MaxUnavailable = 1, 2 }),
			[]string{"annotate n-1 Update", "drain n-1"}},
		"a pause takes updates under way back": {newInput(2, 2, withOldRevision(0, 1),
			withCause(1, causeUpdate), withOurDrain(1), func(s *planInput) { s.desired.Update.Allowed = false }),
			[]string{"annotate n-1 ", "undrain n-1"}},
		"updates do not begin on a stale reading": {newInput(2, 2, withStaleReading,
			withOldRevision(0, 1)), nil},
		"deletion drains every worker": {newInput(2, 2, withDeletion),
			[]string{"annotate n-0 Deletion", "annotate n-1 Deletion", "drain n-0", "drain n-1"}},
		"deletion waits for jobs": {newInput(1, 1, protect, withDeletion,
			withCause(0, causeDeletion), withOurDrain(0), withJob(0, 7, 0)), nil},
		"FUTURE records are made for workers that may come": {newInput(1, 1,
			func(s *planInput) { *s.desired.MaxWorkers, s.desired.CanCreateRecords = 3, true }),
			[]string{"create-records [n-1 n-2]"}},
		"none are made without a shape": {newInput(1, 1,
			func(s *planInput) { *s.desired.MaxWorkers = 3 }), nil},
		"none are made on a stale reading": {newInput(1, 1, withStaleReading,
			func(s *planInput) { *s.desired.MaxWorkers, s.desired.CanCreateRecords = 3, true }), nil},
		"the record of a deleted worker returns to FUTURE": {newInput(0, 0, withLeftoverRecord(0),
			func(s *planInput) { *s.desired.MaxWorkers, s.desired.CanCreateRecords = 1, true }),
			[]string{"mark-future n-0"}},
		"it is deleted where no worker may come": {newInput(0, 0, withLeftoverRecord(0)),
			[]string{"delete-record n-0"}},
		"a name is not taken of which is not known whose it is": {newInput(1, 0, withUnknownOwner(0)),
			[]string{"create 1"}},
		"nor one that an administrator drained": {newInput(1, 0,
			withUnknownOwner(0, func(r *Record) { r.Drain = true })), []string{"create 1"}},
		"a name is taken whose node is down": {newInput(1, 0,
			withUnknownOwner(0, func(r *Record) { r.Down = true })), []string{"create 0"}},
		"and one that we put out of service": {newInput(1, 0, withDrainSeen(0),
			withUnknownOwner(0, func(r *Record) { r.Drain, r.OurReason = true, true })), []string{"create 0"}},
		"a name is not taken that slurm.conf has": {newInput(1, 0,
			withUnknownOwner(0, func(r *Record) { r.Dynamic = false })), []string{"create 1"}},
		"the record of another NodeSet is left": {newInput(0, 0, withLeftoverRecord(0),
			withRecord(0, func(r *Record) { r.OwnerUID = "other" })), nil},
		"a node of slurm.conf is left": {newInput(0, 0, withLeftoverRecord(0),
			withRecord(0, func(r *Record) { r.Dynamic = false })), nil},
		"a record that others drained is left": {newInput(0, 0, withLeftoverRecord(0),
			withRecord(0, func(r *Record) { r.OurReason = false })), nil},
		"an administrator's FUTURE record is left": {newInput(0, 0,
			withRecord(4, func(r *Record) { r.Future, r.Dynamic = true, true })), nil},
		"a record without a pod is pruned when its Kubernetes node is gone": {newInput(0, 0, withLeftoverRecord(0),
			withRecord(0, func(r *Record) { r.Drain, r.OurReason, r.KubeNodeGone = false, false, true }),
			func(s *planInput) { s.desired.PruneRecords = true }), []string{"drain n-0"}},
		"and is left where nobody asked for that": {newInput(0, 0, withLeftoverRecord(0),
			withRecord(0, func(r *Record) { r.Drain, r.OurReason, r.KubeNodeGone = false, false, true })), nil},
	} {
		t.Run(name, func(t *testing.T) { expectSteps(t, tc.input, tc.want...) })
	}
}

func withoutProtection(s *planInput) { s.observed.Workers[0].DrainMark.Protect = false }

func withoutRecord(s *planInput) { delete(s.observed.Slurm.Records, "n-0") }

func withCordon(s *planInput) { s.observed.Workers[0].CordonReason = "cordoned" }

// withDownByOthers is a Slurm node that an administrator set DOWN.
func withDownByOthers(i int) func(*planInput) {
	return withRecord(i, func(r *Record) {
		r.Dynamic, r.OwnerUID, r.DownByOthers, r.Down, r.OurReason = true, "set", true, true, false
	})
}

// withUnknownOwner adds a Slurm node whose slurmd registered and whose comment names no owner.
func withUnknownOwner(i int, changes ...func(*Record)) func(*planInput) {
	return func(s *planInput) {
		for _, change := range append([]func(*Record){func(r *Record) { r.Dynamic = true }}, changes...) {
			withRecord(i, change)(s)
		}
	}
}

// withFutureRecord is a worker whose slurmd runs and never took its FUTURE record over.
func withFutureRecord(i int) func(*planInput) {
	return func(s *planInput) {
		withRecord(i, func(r *Record) { *r = Record{Name: r.Name, Future: true, Dynamic: true, OwnerUID: "set"} })(s)
		withWorker(i, func(w *Worker) { w.Registered = time.Time{} })(s)
	}
}

// withNoNodeResponding has no Slurm node respond.
func withNoNodeResponding(s *planInput) {
	for i := range s.observed.Workers {
		withRecord(i, func(r *Record) { r.Down, r.NotResponding = true, true })(s)
	}
}

// withOldRevision has workers of an old revision.
func withOldRevision(ordinals ...int) func(*planInput) {
	return func(s *planInput) {
		for _, i := range ordinals {
			s.observed.Workers[i].Revision = "old"
		}
	}
}

// withUnstartedSlurmd is a worker whose slurmd never started, so that Slurm does not know it.
func withUnstartedSlurmd(i int) func(*planInput) {
	return func(s *planInput) {
		w := &s.observed.Workers[i]
		w.Running, w.Ready = false, false
		delete(s.observed.Slurm.Records, w.SlurmName)
		s.observed.Slurm.TotalNodes = 5
	}
}

// withLeftoverRecord adds the record of a worker that is gone.
func withLeftoverRecord(i int) func(*planInput) {
	return func(s *planInput) {
		withRecord(i, func(r *Record) { r.Dynamic, r.Future, r.OwnerUID = true, false, "set" })(s)
		withOurDrain(i)(s)
	}
}

func TestOrderOfScaleIn(t *testing.T) {
	down := func(s *planInput) {
		s.observed.Workers[0].KubeNode, s.observed.Workers[0].Running, s.observed.Workers[0].Ready = "", false, false
		s.observed.Workers[2].Running, s.observed.Workers[2].Ready = false, false
		delete(s.observed.Slurm.Records, "n-0")
	}
	s := newInput(8, 8, down, withJob(1, 1, time.Hour), withJob(3, 3, 0),
		withRecord(4, func(r *Record) { r.Down = true }),
		withRecord(5, func(r *Record) { r.IdleSince = noon.Add(-2 * time.Hour) }),
		withWorker(6, func(w *Worker) { w.DeletionCost = -1 }))
	// Not scheduled, not running, down, then idle by cost, idle for longest, highest
	// ordinal, then work that ends, work without a limit.
	want := []string{"n-0", "n-2", "n-4", "n-6", "n-5", "n-7", "n-1", "n-3"}
	var got []string
	for _, w := range s.observed.Slurm.sorted(sortedByName(s.observed.Workers)) {
		got = append(got, w.Pod)
	}
	for i := range want {
		if got[i] != want[i] {
			t.Fatalf("the order is %v, not %v", got, want)
		}
	}
}

func TestTheBrakeHolds(t *testing.T) {
	s := newInput(0, 4, withCause(0, causeScaleIn), withCause(1, causeScaleIn), withCause(2, causeScaleIn),
		withCause(3, causeScaleIn), withUnstartedSlurmd(0), withUnstartedSlurmd(1), withUnstartedSlurmd(2),
		withUnstartedSlurmd(3))
	expectSteps(t, s, "delete n-3")
	s.observed.UnregisteredDeletions = []time.Time{noon.Add(-time.Minute)}
	actions := expectSteps(t, s)
	if actions.RequeueAfter != 9*time.Minute {
		t.Errorf("it looks again in %v, not when the brake lets go, in 9m", actions.RequeueAfter)
	}
	s.observed.UnregisteredDeletions = []time.Time{noon.Add(-11 * time.Minute)}
	expectSteps(t, s, "delete n-3")
}

func TestWaitsSayWhatFor(t *testing.T) {
	actions := newInput(0, 1, withWorker(0, func(w *Worker) { w.DrainMark.Protect = true }), withCause(0, causeScaleIn),
		withOurDrain(0), withJob(0, 17, time.Hour)).runPlanner()
	want := Wait{Pod: "n-0", SlurmName: "n-0", Cause: causeScaleIn, Message: "job 17 is running on it", Job: 17,
		Jobs: 1, Until: noon.Add(time.Hour)}
	if len(actions.Waits) != 1 || actions.Waits[0] != want {
		t.Errorf("the waits are %+v, not %+v", actions.Waits, want)
	}
}

func TestDeletionEnds(t *testing.T) {
	for name, tc := range map[string]struct {
		input *planInput
		want  bool
	}{
		"when no pod and no record is left":   {newInput(0, 0, withDeletion), true},
		"not while there are pods":            {newInput(0, 1, withDeletion), false},
		"not while there are records of ours": {newInput(0, 0, withDeletion, withLeftoverRecord(0)), false},
		"with records that others drained": {newInput(0, 0, withDeletion, withLeftoverRecord(0),
			withRecord(0, func(r *Record) { r.OurReason = false })), true},
		"not while Slurm does not answer": {newInput(0, 0, withDeletion, withStaleReading), false},
		"when the Slurm cluster is gone": {newInput(0, 0, withDeletion, withStaleReading,
			func(s *planInput) { s.observed.Slurm.Connected = false }), true},
		"when Slurm does not answer and policy is Force": {newInput(0, 0, withDeletion, withStaleReading,
			func(s *planInput) { s.desired.DrainPolicy.Force = true }), true},
		"not for a NodeSet that is not being deleted": {newInput(0, 0), false},
	} {
		t.Run(name, func(t *testing.T) {
			if got := tc.input.runPlanner().DeletionDone; got != tc.want {
				t.Errorf("finished is %v", got)
			}
		})
	}
}

func TestWorkersPerKubernetesNode(t *testing.T) {
	mode := func(nodes ...string) func(*planInput) {
		return func(s *planInput) {
			s.desired.PerKubeNode, s.desired.KubeNodes, s.desired.MaxWorkers = true, nodes, nil
			for i := range s.observed.Workers {
				s.observed.Workers[i].Slot = Slot{Ordinal: NoOrdinal, KubeNode: s.observed.Workers[i].KubeNode}
			}
		}
	}
	t.Run("each has one", func(t *testing.T) {
		expectSteps(t, newInput(0, 1, mode("k-n-0", "b", "a")), "create -1b", "create -1a") // the oldest Kubernetes node first
	})
	t.Run("none has one in the name of another NodeSet's Slurm node", func(t *testing.T) {
		expectSteps(t, newInput(0, 0, mode("k-n-0", "k-n-1"), withOtherOwner(0)), "create -1k-n-1")
	})
	t.Run("nor in that of one of which is not known whose it is", func(t *testing.T) {
		expectSteps(t, newInput(0, 0, mode("k-n-0", "k-n-1"), withUnknownOwner(0)), "create -1k-n-1")
	})
	t.Run("a Slurm node that an administrator set DOWN is closed before its worker comes back", func(t *testing.T) {
		expectSteps(t, newInput(0, 0, mode("k-n-0"), withDownByOthers(0)), "add-drain n-0", "create -1k-n-0")
	})
	t.Run("one on a node that should have none is drained", func(t *testing.T) {
		expectSteps(t, newInput(0, 2, mode("k-n-0")), "annotate n-1 ScaleIn", "drain n-1")
	})
	renamed := func(i int, name string) func(*planInput) {
		return func(s *planInput) {
			on, before := s.observed.Workers[i].KubeNode, s.desired.SlurmNameOn
			s.desired.SlurmNameOn = func(kubeNode string) string {
				if kubeNode == on {
					return name
				}
				return before(kubeNode)
			}
		}
	}
	t.Run("one whose Kubernetes node names another Slurm node is replaced", func(t *testing.T) {
		expectSteps(t, newInput(0, 1, mode("k-n-0"), renamed(0, "other")), "annotate n-0 Update", "drain n-0")
	})
	t.Run("not by a name that cannot be",
		func(t *testing.T) { expectSteps(t, newInput(0, 1, mode("k-n-0"), renamed(0, ""))) })
	t.Run("not by the name of another worker", func(t *testing.T) {
		expectSteps(t, newInput(0, 2, mode("k-n-0", "k-n-1"), renamed(0, "n-1")))
	})
	t.Run("not by the name of another NodeSet's Slurm node", func(t *testing.T) {
		expectSteps(t, newInput(0, 1, mode("k-n-0"), renamed(0, "theirs"),
			func(s *planInput) { s.observed.Slurm.OwnedByOthers = map[string]string{"theirs": "another"} }))
	})
	t.Run("one that is wanted again is undrained", func(t *testing.T) {
		expectSteps(t, newInput(0, 1, withCause(0, causeScaleIn), withOurDrain(0), mode("k-n-0")), "annotate n-0 ",
			"undrain n-0")
	})
}

func TestWhatKeepsAWorkerBesideWorkIsToldApart(t *testing.T) {
	for name, tc := range map[string]struct {
		input *planInput
		want  BlockReason
	}{
		"a drain takes its course": {newInput(0, 1, withCause(0, causeScaleIn)), NotBlocked},
		"work is waited for": {newInput(0, 1, withCause(0, causeScaleIn), withOurDrain(0),
			withJob(0, 7, 0)), NotBlocked},
		"there is no fresh reading": {newInput(0, 1, withCause(0, causeScaleIn), withStaleReading),
			BlockedByStaleReading},
		"Slurm does not know it though it runs": {newInput(0, 1, withCause(0, causeScaleIn), withoutRecord),
			BlockedByRegistration},
		"Slurm lists no nodes": {newInput(0, 1, withCause(0, causeScaleIn), withUnstartedSlurmd(0),
			func(s *planInput) { s.observed.Slurm.TotalNodes = 0 }), BlockedByRegistration},
		"the brake holds": {newInput(0, 1, withCause(0, causeScaleIn), withUnstartedSlurmd(0),
			func(s *planInput) { s.observed.UnregisteredDeletions = []time.Time{noon} }), BlockedByRegistration},
		"it may still register, which is its time": {newInput(0, 1, withCause(0, causeScaleIn), withUnstartedSlurmd(0),
			withWorker(0, func(w *Worker) { w.Created = noon })), NotBlocked},
	} {
		t.Run(name, func(t *testing.T) {
			if waits := tc.input.runPlanner().Waits; len(waits) != 1 || waits[0].BlockReason != tc.want {
				t.Errorf("it waits as %+v", waits)
			}
		})
	}
}

// TestAPendingWorkerWithHostNetworkBlocksNoOthers: names are not known before a worker is scheduled.
func TestAPendingWorkerWithHostNetworkBlocksNoOthers(t *testing.T) {
	s := newInput(3, 1, withWorker(0, func(w *Worker) {
		w.SlurmName, w.KubeNode, w.Running, w.Ready, w.Registered = "", "", false, false, time.Time{}
	}))
	s.observed.Slurm.Records = map[string]Record{}
	s.desired.SlurmName = func(int) string { return "" }
	expectSteps(t, s, "create 1", "create 2")
}

// TestAWorkerWithHostNetworkThatIsDisplacedComesBackLater: the next one may get the same Kubernetes node, whose Slurm node belongs
// to others.
func TestAWorkerWithHostNetworkThatIsDisplacedComesBackLater(t *testing.T) {
	hostNetwork := func(s *planInput) { s.desired.SlurmName = func(int) string { return "" } }
	displacedAt := func(ago time.Duration) func(*planInput) {
		return func(s *planInput) { s.observed.DisplacedAt = noon.Add(-ago) }
	}
	actions := expectSteps(t, newInput(1, 1, hostNetwork, withOtherOwner(0), withWorker(0, func(w *Worker) {
		w.Running, w.Ready, w.NeverStarted, w.Registered = false, false, true, time.Time{}
	})), "delete n-0")
	if !actions.Displaced {
		t.Error("it is not remembered")
	}
	if actions := expectSteps(t, newInput(1, 0, hostNetwork, displacedAt(time.Second))); actions.RequeueAfter != displacedPause-time.Second {
		t.Errorf("the next plan is made after %s", actions.RequeueAfter)
	}
	expectSteps(t, newInput(1, 0, hostNetwork, displacedAt(displacedPause)), "create 0")
	expectSteps(t, newInput(1, 0, displacedAt(time.Second)), "create 0")                // its name is known
	expectSteps(t, newInput(1, 0, hostNetwork, displacedAt(-10*time.Hour)), "create 0") // the clock was set back
}
