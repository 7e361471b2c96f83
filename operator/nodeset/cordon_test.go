package nodeset

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
	"github.com/slurmtide/slurmtide/operator/nodeset/plan"
)

func TestKubernetesNodesFollowDrainsOfOthers(t *testing.T) {
	type drain struct{ drained, ours bool }
	others, ours, none := drain{true, false}, drain{true, true}, drain{}
	const mine = "slurm/n/n-0"
	for _, tc := range []struct {
		name          string
		asked         bool
		unschedulable bool
		mark          string
		drain         drain
		change        func(*observation, *plan.Actions)
		want          []cordonChange
	}{
		{"it is cordoned when somebody drains the worker", true, false, "", others, nil, []cordonChange{{"k", "n-0"}}},
		{"not where nobody asked for it", false, false, "", others, nil, nil},
		{"our own drain is no reason", true, false, "", ours, nil, nil},
		{"it stays cordoned while the drain lasts", true, true, mine, others, nil, nil},
		{"it is uncordoned when the drain is gone", true, true, mine, none, nil, []cordonChange{{"k", ""}}},
		{"it is uncordoned when nobody asks for it any more", false, true, mine, others, nil,
			[]cordonChange{{"k", ""}}},
		{"a cordon of others is left", true, true, "", none, nil, nil},
		{"a cordon for another NodeSet's worker is left", true, true, "slurm/other/n-0", none, nil, nil},
		{"so is one for a NodeSet of that name elsewhere", true, true, "blue/n/n-0", none, nil, nil},
		{"an uncordoned one with a mark is left", true, false, mine, none, nil, nil},
		{"it stays cordoned while the NodeSet cannot be followed", true, true, mine, none,
			func(s *observation, _ *plan.Actions) {
				s.problem = readyProblem{v1beta1.ReasonInvalidSpec, "no"}
			}, nil},
		{"it stays cordoned when the worker is gone and its drain is not", true, true, mine, others, removeWorkers,
			nil},
		{"it is uncordoned when both are gone", true, true, mine, none, removeWorkers, []cordonChange{{"k", ""}}},
		{"it is uncordoned when the record is gone too", true, true, mine, others,
			func(s *observation, actions *plan.Actions) {
				removeWorkers(s, actions)
				delete(s.slurm.Records, "n-0")
			}, []cordonChange{{"k", ""}}},
		{"it is uncordoned when the worker is elsewhere, and that is cordoned", true, true, mine, others,
			func(s *observation, _ *plan.Actions) {
				s.workers[0].KubeNode = "l"
				s.kubeNodes["l"] = newKubeNode("l")
			}, []cordonChange{{"k", ""}, {"l", "n-0"}}},
		{"it stays cordoned while the NodeSet is deleted", true, true, mine, others, setDeleting, nil},
		{"none is cordoned any more while it is", true, false, "", others, setDeleting, nil},
		{"it is uncordoned with the NodeSet's end, whatever Slurm says", true, true, mine, others,
			func(s *observation, actions *plan.Actions) {
				setDeleting(s, actions)
				removeWorkers(s, actions)
				s.slurm.Fresh, actions.DeletionDone = false, true
			}, []cordonChange{{"k", ""}}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			node := &corev1.Node{Spec: corev1.NodeSpec{Unschedulable: tc.unschedulable}}
			node.Name = "k"
			if tc.mark != "" {
				node.Annotations = map[string]string{v1beta1.AnnotationCordonedFor: tc.mark}
			}
			s := &observation{
				nodeSet:   &v1beta1.NodeSet{Spec: v1beta1.NodeSetSpec{CordonKubeNodes: tc.asked}},
				kubeNodes: map[string]*corev1.Node{"k": node},
				workers:   []plan.Worker{{Pod: "n-0", SlurmName: "n-0", KubeNode: "k"}},
				slurm: plan.SlurmReading{Fresh: true, Records: map[string]plan.Record{
					"n-0": {Name: "n-0", Drain: tc.drain.drained, OurReason: tc.drain.ours},
				}},
			}
			s.nodeSet.Namespace, s.nodeSet.Name = "slurm", "n"
			actions := &plan.Actions{}
			if tc.change != nil {
				tc.change(s, actions)
			}
			if diff := cmp.Diff(tc.want, cordonChanges(s, actions), cmp.AllowUnexported(cordonChange{})); diff != "" {
				t.Error(diff)
			}
			s.slurm.Fresh = false
			if got := cordonChanges(s, actions); got != nil && !actions.DeletionDone {
				t.Errorf("on a stale reading: %v", got)
			}
		})
	}
}

func removeWorkers(s *observation, _ *plan.Actions) { s.workers = nil }

func setDeleting(s *observation, _ *plan.Actions) { s.desired.Deleting = true }
