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

// TestPinsToOneKubeNode: ordinal 1 got the Kubernetes node of ordinal 0 while ordinal 0 had no worker; the other pins were edited.
func TestPinsToOneKubeNode(t *testing.T) {
	for what, tc := range map[string]struct {
		change func(*observation)
		want   map[string]string
	}{
		"a worker runs there":            {func(s *observation) {}, map[string]string{"1": "kube-0", "2": "kube-2"}},
		"a pinned worker waits for it":   {func(s *observation) { s.workers[0].KubeNode, s.workers[0].PinnedTo = "", "kube-0" }, map[string]string{"1": "kube-0", "2": "kube-2"}},
		"no worker is there":             {func(s *observation) { s.workers = nil }, map[string]string{"0": "kube-0", "2": "kube-2"}},
		"workers share Kubernetes nodes": {func(s *observation) { s.nodeSet.Spec.OversubscribeNode = true }, map[string]string{"0": "kube-0", "1": "kube-0", "2": "kube-2", "10": "kube-2"}},
	} {
		t.Run(what, func(t *testing.T) {
			s := newObservation(1, func(s *observation) {
				s.nodeSet.Spec.PinToNode = true
				s.nodeSet.Status.OrdinalToNode = map[string]string{"0": "kube-0", "2": "kube-2", "10": "kube-2"}
				for _, name := range []string{"kube-0", "kube-2"} {
					s.kubeNodes[name] = nodesettest.NewKubeNode(name)
				}
				s.workers[0].Slot.Ordinal = 1
			})
			tc.change(s)
			if diff := cmp.Diff(tc.want, ordinalPins(s)); diff != "" {
				t.Error(diff)
			}
		})
	}
}
