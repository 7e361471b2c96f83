package plan

import "testing"

func TestSlurmNodesOfSlurmConfBelongToOthers(t *testing.T) {
	static := func(change ...func(*Record)) func(*planInput) {
		return withRecord(0, func(r *Record) {
			r.Dynamic = false
			for _, c := range change {
				c(r)
			}
		})
	}
	ours := func(r *Record) { r.Drain, r.OurReason = true, true }
	records := func(s *planInput) { s.desired.CanCreateRecords, *s.desired.MaxWorkers = true, 1 }
	foreign := func(change func(*Record)) func(*planInput) {
		return withRecord(0, func(r *Record) {
			*r = Record{Name: r.Name, Dynamic: true, ForeignComment: true}
			change(r)
		})
	}
	for _, tc := range []struct {
		name string
		set  *planInput
		want []string
	}{
		{"no worker gets the name", newInput(1, 0, static(func(r *Record) { r.Down, r.OwnerUID = true, "" })), []string{"create 1"}},
		{"whatever its comment says", newInput(1, 0, static(func(r *Record) { r.Down, r.OwnerUID = true, "set" })), []string{"create 1"}},
		{"nor a record", newInput(0, 0, static(), records), nil},
		{"it is not drained", newInput(0, 1, static(), withProtection), nil},
		{"nor undrained", newInput(1, 1, static(ours), withProtection), nil},
		{"nor deleted", newInput(0, 0, static(ours), withDrainSeen(0)), nil},
		{"nor deleted as FUTURE", newInput(0, 0, static(func(r *Record) { r.Future = true })), nil},
		{"the worker is not deleted", newInput(0, 1, static(ours), withOurDrain(0), static(ours), withCause(0, causeScaleIn),
			withProtection), nil},
		{"per Kubernetes node there is no worker", newInput(0, 0, static(func(r *Record) { r.Down = true }), withPerKubeNode("k-n-0")), nil},
		{"a dynamic node with a comment of others keeps its name when it is DOWN",
			newInput(1, 0, foreign(func(r *Record) { r.Down = true })), []string{"create 1"}},
		{"as it does when it is FUTURE", newInput(1, 0, foreign(func(r *Record) { r.Future = true })), []string{"create 1"}},
		{"it is not drained for a worker that never ran", newInput(0, 1, foreign(func(*Record) {}), withCause(0, causeScaleIn),
			withProtection, withWorker(0, func(w *Worker) { w.KubeNode = "" })), []string{"delete n-0"}},
		{"and its record when it has our reason", newInput(0, 0, foreign(ours), withDrainSeen(0)), nil},
	} {
		t.Run(tc.name, func(t *testing.T) { expectSteps(t, tc.set, tc.want...) })
	}
}

// TestANodeWithACommentOfOthersIsTheirs: unless a worker runs it, whose node an administrator may write a comment on.
func TestANodeWithACommentOfOthersIsTheirs(t *testing.T) {
	foreign := withRecord(0, func(r *Record) { r.Dynamic, r.ForeignComment, r.OwnerUID = true, true, "" })
	for _, tc := range []struct {
		name string
		set  *planInput
		want string
	}{
		{"no worker has the name", newInput(1, 0, foreign), OwnerOfComment},
		{"a worker runs it", newInput(1, 1, foreign), ""},
		{"a worker waits for a Kubernetes node", newInput(1, 1, foreign, withWorker(0, func(w *Worker) { w.KubeNode = "" })),
			OwnerOfComment},
	} {
		t.Run(tc.name, func(t *testing.T) {
			in := tc.set
			if got := filterReading(&in.desired, in.observed.Workers, in.observed.Slurm).OwnedByOthers["n-0"]; got != tc.want {
				t.Errorf("the owner is %q, want %q", got, tc.want)
			}
		})
	}
}

// TestAStepIsNotForACommentOfOthers: others may take a node between the reading and the step.
func TestAStepIsNotForACommentOfOthers(t *testing.T) {
	for name, tc := range map[string]struct {
		step   Step
		record Record
		want   bool
	}{
		"a FUTURE record is deleted":            {Step{Verb: DeleteRecord, Precondition: PreconditionUnregistered}, Record{Future: true}, true},
		"but not that of others":                {Step{Verb: DeleteRecord, Precondition: PreconditionUnregistered}, Record{Future: true, ForeignComment: true}, false},
		"nor is a drained one made FUTURE":      {Step{Verb: MarkFuture, Precondition: PreconditionDrainedByUs}, Record{Drain: true, OurReason: true, ForeignComment: true}, false},
		"no worker gets its name":               {Step{Verb: CreatePod, Precondition: PreconditionJoinable}, Record{Future: true, ForeignComment: true}, false},
		"a worker that has the node is drained": {Step{Verb: Drain, Pod: "n-0", Precondition: PreconditionUndrained}, Record{ForeignComment: true}, true},
	} {
		if got := tc.step.IsMetBy(&tc.record); got != tc.want {
			t.Errorf("%s: IsMetBy = %v, want %v", name, got, tc.want)
		}
	}
}
