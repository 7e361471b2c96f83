package nodeset

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
	"github.com/slurmtide/slurmtide/operator/nodeset/plan"
)

func TestKubernetesNodesThatMayBeCordoned(t *testing.T) {
	s := newObservation(1)
	for name, mark := range map[string]string{
		"ours": "slurm/gpu/gpu-7", "host": "", "idle": "", "another": "slurm/other/gpu-7",
		"elsewhere": "blue/gpu/gpu-7",
	} {
		node := &corev1.Node{Spec: corev1.NodeSpec{Unschedulable: mark != ""}}
		if mark != "" {
			node.Annotations = map[string]string{v1beta1.AnnotationCordonedFor: mark}
		}
		s.kubeNodes[name] = node
	}
	s.workers[0].KubeNode = "host"
	want := map[string]plan.KubeNode{"ours": {Unschedulable: true, CordonedFor: "gpu-7"}, "host": {}}
	if diff := cmp.Diff(want, s.cordonableKubeNodes()); diff != "" {
		t.Error(diff)
	}
}
