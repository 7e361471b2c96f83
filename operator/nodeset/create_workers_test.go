package nodeset

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/slurmtide/slurmtide/operator/nodeset/nodesettest"
)

func TestPins(t *testing.T) {
	s := newObservation(2, func(s *observation) {
		s.nodeSet.Spec.PinToNode = true
		s.nodeSet.Status.OrdinalToNode = map[string]string{"0": "kube-9", "4": "kube-4", "5": "gone"}
		for _, name := range []string{"kube-0", "kube-1", "kube-4", "kube-9"} {
			s.kubeNodes[name] = nodesettest.NewKubeNode(name)
		}
		s.workers[1].DeletedAt = nodesettest.Noon
	})
	if diff := cmp.Diff(map[string]string{"0": "kube-0", "4": "kube-4"}, ordinalPins(s)); diff != "" {
		t.Errorf("pins follow workers, and stay without one while the Kubernetes node is there: %s", diff)
	}
	got := []string{pinnedKubeNode(s, &s.template.Spec, 4), pinnedKubeNode(s, &s.template.Spec, 5), pinnedKubeNode(s, &s.template.Spec, 7)}
	s.kubeNodes["kube-4"].Spec.Taints = []corev1.Taint{{Key: "x", Effect: corev1.TaintEffectNoExecute}}
	if diff := cmp.Diff([]string{"kube-4", "", "", ""}, append(got, pinnedKubeNode(s, &s.template.Spec, 4))); diff != "" {
		t.Errorf("a pin falls when the Kubernetes node is gone or fits no more: %s", diff)
	}
	s.nodeSet.Spec.PinToNode = false
	if got := ordinalPins(s); got != nil {
		t.Errorf("without pinning there are pins: %v", got)
	}
}
