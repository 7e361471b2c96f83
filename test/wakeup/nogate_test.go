//go:build e2e

package wakeup

import (
	"strings"
	"testing"

	"github.com/slurmtide/slurmtide/test/realkube"
)

// TestWithoutTheGate runs without the feature gate HPAScaleToZero, as clusters before Kubernetes
// 1.37 do, with an operator that has rights in one namespace only.
func TestWithoutTheGate(t *testing.T) {
	s := newScene(t, realkube.Config{Name: "nogate", FeatureGates: map[string]bool{"HPAScaleToZero": false}})
	s.bind(t, "default")
	o := startOperator(t, s.Cluster, "--namespaces=default")
	t.Run("cases", func(t *testing.T) {
		t.Run("created at zero", func(t *testing.T) {
			t.Parallel()
			n := s.nodeSet(t, "created")
			n.needs(0)
			n.create(0)
			n.autoscale(1)
			n.hpaSays("ScalingActive", "ScalingDisabled")
			n.says("NotNeeded")
			n.needs(3)
			n.reaches(3)
			n.ownedBy(woken)
			n.needs(0)
			n.reaches(1) // by the HPA, which does not scale below one
			n.staysAt(1)
		})
		t.Run("zero-after", func(t *testing.T) { t.Parallel(); zeroAfter(t, s) })
		t.Run("taken to zero by hand", func(t *testing.T) {
			t.Parallel()
			n := s.nodeSet(t, "hand")
			n.needs(2)
			n.create(1)
			n.autoscale(1)
			n.reaches(2)
			n.scale(0)
			n.says("Paused")
			n.staysAt(0)
		})
		t.Run("in a namespace that the operator does not watch", func(t *testing.T) {
			t.Parallel()
			s.kubectl(t, "create", "namespace", "elsewhere")
			n := s.nodeSet(t, "foreign")
			n.namespace = "elsewhere"
			n.needs(2)
			n.create(0)
			n.autoscale(1)
			n.hpaSays("ScalingActive", "ScalingDisabled")
			n.staysAt(0)
			n.says("")
		})
	})
	if log := o.Log(); strings.Contains(log, "forbidden") {
		t.Errorf("the operator makes forbidden requests:\n%s", log)
	}
}
