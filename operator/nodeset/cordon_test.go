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
	for _, tc := range []struct {
		name          string
		asked         bool
		unschedulable bool
		mark          string
		drain         drain
		want          []cordonChange
	}{
		{"it is cordoned when somebody drains the worker", true, false, "", others, []cordonChange{{"k", "n-0"}}},
		{"not where nobody asked for it", false, false, "", others, nil},
		{"our own drain is no reason", true, false, "", ours, nil},
		{"it stays cordoned while the drain lasts", true, true, "n-0", others, nil},
		{"it is uncordoned when the drain is gone", true, true, "n-0", none, []cordonChange{{"k", ""}}},
		{"it is uncordoned when nobody asks for it any more", false, true, "n-0", others, []cordonChange{{"k", ""}}},
		{"a cordon of others is left", true, true, "", none, nil},
		{"a cordon for another NodeSet's worker is left", true, true, "other-1", none, nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			node := &corev1.Node{Spec: corev1.NodeSpec{Unschedulable: tc.unschedulable}}
			node.Name = "k"
			if tc.mark != "" {
				node.Annotations = map[string]string{v1beta1.AnnotationCordonedFor: tc.mark}
			}
			s := &seen{
				nodeSet:   &v1beta1.NodeSet{Spec: v1beta1.NodeSetSpec{CordonKubeNodes: tc.asked}},
				kubeNodes: map[string]*corev1.Node{"k": node},
				workers:   []plan.Worker{{Pod: "n-0", SlurmName: "n-0", KubeNode: "k"}},
				slurm: plan.Slurm{Fresh: true, Records: map[string]plan.Record{
					"n-0": {Name: "n-0", Drain: tc.drain.drained, Ours: tc.drain.ours},
				}},
			}
			if diff := cmp.Diff(tc.want, cordonsOf(s), cmp.AllowUnexported(cordonChange{})); diff != "" {
				t.Error(diff)
			}
			s.slurm.Fresh = false
			if got := cordonsOf(s); got != nil {
				t.Errorf("on a stale reading: %v", got)
			}
		})
	}
}
