//go:build e2e

package wakeup

import (
	"strings"
	"testing"

	"github.com/slurmtide/slurmtide/test/harness/realkube"
)

// TestWithoutTheGate runs without the feature gate HPAScaleToZero, as clusters before Kubernetes
// 1.37 do, with an operator that has rights in one namespace only.
func TestWithoutTheGate(t *testing.T) {
	s := newEnv(t, realkube.Config{Name: "nogate", FeatureGates: map[string]bool{"HPAScaleToZero": false}})
	s.bindRole(t, "default")
	o := startOperator(t, s.Cluster, "--namespaces=default", "--no-upgrade-definitions")
	t.Run("cases", func(t *testing.T) {
		t.Run("created at zero", func(t *testing.T) {
			t.Parallel()
			n := s.newNodeSet(t, "created")
			n.setDemand(0)
			n.create(0)
			n.createHPA(1)
			n.awaitHPACondition("ScalingActive", "ScalingDisabled")
			n.awaitReason("NotNeeded")
			n.setDemand(3)
			n.awaitReplicas(3)
			n.awaitOwner(ownerWakeUp)
			n.setDemand(0)
			n.awaitReplicas(1) // by the HPA, which does not scale below one
			n.requireReplicas(1)
		})
		t.Run("zero-after", func(t *testing.T) { t.Parallel(); zeroAfter(t, s) })
		t.Run("taken to zero by hand", func(t *testing.T) {
			t.Parallel()
			n := s.newNodeSet(t, "hand")
			n.setDemand(2)
			n.create(1)
			n.createHPA(1)
			n.awaitReplicas(2)
			n.scale(0)
			n.awaitReason("Paused")
			n.requireReplicas(0)
		})
		t.Run("in a namespace that the operator does not watch", func(t *testing.T) {
			t.Parallel()
			s.runKubectl(t, "create", "namespace", "elsewhere")
			n := s.newNodeSet(t, "foreign")
			n.namespace = "elsewhere"
			n.setDemand(2)
			n.create(0)
			n.createHPA(1)
			n.awaitHPACondition("ScalingActive", "ScalingDisabled")
			n.requireReplicas(0)
			n.awaitReason("")
		})
	})
	if log := o.Log(); strings.Contains(log, "forbidden") {
		t.Errorf("the operator makes forbidden requests:\n%s", log)
	}
}
