package plan

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestKubernetesNodesFollowDrainsOfOthers(t *testing.T) {
	type drain struct{ drained, ours bool }
	others, ours, none := drain{true, false}, drain{true, true}, drain{}
	const mine = "n-0"
	for _, tc := range []struct {
		name          string
		asked         bool
		unschedulable bool
		mark          string
		drain         drain
		change        func(*planInput, *Actions)
		want          []CordonChange
	}{
		{"it is cordoned when somebody drains the worker", true, false, "", others, nil, []CordonChange{{"k", "n-0"}}},
		{"not where nobody asked for it", false, false, "", others, nil, nil},
		{"our own drain is no reason", true, false, "", ours, nil, nil},
		{"it stays cordoned while the drain lasts", true, true, mine, others, nil, nil},
		{"it is uncordoned when the drain is gone", true, true, mine, none, nil, []CordonChange{{"k", ""}}},
		{"it is uncordoned when nobody asks for it any more", false, true, mine, others, nil,
			[]CordonChange{{"k", ""}}},
		{"a cordon of others is left", true, true, "", none, nil, nil},
		{"an uncordoned one with a mark is left", true, false, mine, none, nil, nil},
		{"it stays cordoned while the NodeSet cannot be followed", true, true, mine, none,
			func(s *planInput, _ *Actions) {
				s.desired.Frozen = true
			}, nil},
		{"it stays cordoned when the worker is gone and its drain is not", true, true, mine, others, removeWorkers,
			nil},
		{"it is uncordoned when both are gone", true, true, mine, none, removeWorkers, []CordonChange{{"k", ""}}},
		{"it is uncordoned when the record is gone too", true, true, mine, others,
			func(s *planInput, actions *Actions) {
				removeWorkers(s, actions)
				delete(s.observed.Slurm.Records, "n-0")
			}, []CordonChange{{"k", ""}}},
		{"it stays cordoned when only the record is gone", true, true, mine, others,
			func(s *planInput, _ *Actions) { delete(s.observed.Slurm.Records, "n-0") }, nil},
		{"it is uncordoned when nobody asks for it, with or without a record", false, true, mine, others,
			func(s *planInput, _ *Actions) { delete(s.observed.Slurm.Records, "n-0") }, []CordonChange{{"k", ""}}},
		{"it is uncordoned when the worker is elsewhere, and that is cordoned", true, true, mine, others,
			func(s *planInput, _ *Actions) {
				s.observed.Workers[0].KubeNode = "l"
				s.observed.KubeNodes["l"] = KubeNode{}
			}, []CordonChange{{"k", ""}, {"l", "n-0"}}},
		{"it stays cordoned while the NodeSet is deleted", true, true, mine, others, setDeleting, nil},
		{"none is cordoned any more while it is", true, false, "", others, setDeleting, nil},
		{"it is uncordoned with the NodeSet's end, whatever Slurm says", true, true, mine, others,
			func(s *planInput, actions *Actions) {
				setDeleting(s, actions)
				removeWorkers(s, actions)
				s.observed.Slurm.Fresh, actions.DeletionDone = false, true
			}, []CordonChange{{"k", ""}}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := newInput(1, 1, withWorker(0, func(w *Worker) { w.KubeNode = "k" }))
			s.desired.CordonKubeNodes = tc.asked
			s.observed.KubeNodes = map[string]KubeNode{"k": {Unschedulable: tc.unschedulable, CordonedFor: tc.mark}}
			s.observed.Slurm.Records["n-0"] = Record{Name: "n-0", Drain: tc.drain.drained, OurReason: tc.drain.ours}
			actions := &Actions{}
			if tc.change != nil {
				tc.change(s, actions)
			}
			if diff := cmp.Diff(tc.want, planCordons(&s.desired, &s.observed, actions)); diff != "" {
				t.Error(diff)
			}
			s.observed.Slurm.Fresh = false
			if got := planCordons(&s.desired, &s.observed, actions); got != nil && !actions.DeletionDone {
				t.Errorf("on a stale reading: %v", got)
			}
		})
	}
}

func removeWorkers(s *planInput, _ *Actions) { s.observed.Workers = nil }

func setDeleting(s *planInput, _ *Actions) { s.desired.Deleting = true }

func TestAPlanCordonsOnlyInTheRightCluster(t *testing.T) {
	drained := func(s *planInput) {
		s.desired.CordonKubeNodes = true
		s.observed.KubeNodes = map[string]KubeNode{"k-n-0": {}}
		s.observed.Slurm.Records["n-0"] = Record{Name: "n-0", Dynamic: true, OwnerUID: "set", Drain: true}
	}
	if diff := cmp.Diff([]CordonChange{{"k-n-0", "n-0"}}, newInput(1, 1, drained).runPlanner().Cordons); diff != "" {
		t.Error(diff)
	}
	other := newInput(1, 1, drained, func(s *planInput) {
		s.desired.ClusterName, s.observed.Slurm.ClusterName = "blue",
			"green"
	})
	if got := other.runPlanner().Cordons; got != nil {
		t.Errorf("while another Slurm cluster answers: %v", got)
	}
}

// TestACordonStaysWhateverTheCommentOfTheDrainedNode: an administrator comments on the plans for a broken node.
func TestACordonStaysWhateverTheCommentOfTheDrainedNode(t *testing.T) {
	commented := func(change func(*Record)) func(*planInput) {
		return func(s *planInput) {
			r := Record{Name: "n-0", Dynamic: true, ForeignComment: true, Drain: true}
			change(&r)
			s.desired.CordonKubeNodes, s.observed.Slurm.Records["n-0"] = true, r
			s.observed.KubeNodes = map[string]KubeNode{"k": {Unschedulable: true, CordonedFor: "n-0"}}
			s.observed.Slurm = filterReading(&s.desired, s.observed.Workers, s.observed.Slurm) // as in an observation
		}
	}
	uncordoned := []CordonChange{{KubeNode: "k"}}
	for _, tc := range []struct {
		name   string
		change func(*Record)
		want   []CordonChange
	}{
		{"drained", func(*Record) {}, nil},
		{"the drain has ended", func(r *Record) { r.Drain = false }, uncordoned},
		{"the drain is ours", func(r *Record) { r.OurReason = true }, uncordoned},
		{"the node has another owner", func(r *Record) { r.OwnerUID = "other" }, uncordoned},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, newInput(1, 0, commented(tc.change)).runPlanner().Cordons); diff != "" {
				t.Error(diff)
			}
		})
	}
}
