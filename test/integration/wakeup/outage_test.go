//go:build e2e

package wakeup

import "testing"

// testOutage scales NodeSets to zero and replaces their HPAs while no operator leads.
func testOutage(t *testing.T, s *env, earlier *operator) {
	earlier.Kill() // if it still runs
	leader := startOperator(t, s.Cluster)
	newScaled := func(name string) *nodeSet {
		n := s.newNodeSet(t, name)
		n.setDemand(2)
		n.create(1)
		n.createHPA(0)
		n.awaitReplicas(2)
		n.awaitReason("NotNeeded")
		return n
	}
	unseen, pausedUnseen := newScaled("unseen"), newScaled("pausedunseen")
	seen, pausedSeen, late := newScaled("seen"), newScaled("pausedseen"), newScaled("late")
	leader.Kill()
	patchLease := func(seconds string) {
		t.Helper()
		s.runKubectl(t, "patch", "lease", "slurm-operator", "--namespace=slurm-system", "--type=merge",
			"--patch", `{"spec":{"leaseDurationSeconds":`+seconds+`}}`)
	}
	patchLease("3600")

	// No operator runs.
	scaleToZeroByHPA(unseen)
	unseen.deleteHPA()
	scaleToZeroByHPA(late)
	late.deleteHPA()
	pausedUnseen.scale(0)
	pausedUnseen.awaitHPACondition("ScalingActive", "ScalingDisabled")
	// One waits for the lease.
	startOperator(t, s.Cluster)
	unseen.createHPA(0)
	scaleToZeroByHPA(seen)
	seen.deleteHPA()
	seen.createHPA(0)
	pausedSeen.scale(0)
	for _, n := range []*nodeSet{pausedSeen, pausedUnseen} {
		n.awaitHPACondition("ScalingActive", "ScalingDisabled")
		n.deleteHPA()
		n.createHPA(0)
	}
	all := []*nodeSet{unseen, seen, pausedUnseen, pausedSeen, late}
	for _, n := range all {
		n.setDemand(2)
		n.awaitOwner(ownerNone)
	}
	s.runKubectl(t, "delete", "lease", "slurm-operator", "--namespace=slurm-system")

	late.awaitReason("NoAutoscaler")
	late.createHPA(0)
	for _, n := range []*nodeSet{unseen, seen, late} {
		n.awaitReplicas(2)
		n.awaitReason("Woken")
	}
	for _, n := range []*nodeSet{pausedUnseen, pausedSeen} {
		n.awaitReason("Paused")
		n.requireReplicas(0)
	}
}

func scaleToZeroByHPA(n *nodeSet) {
	n.t.Helper()
	n.setDemand(0)
	n.awaitReplicas(0)
	n.awaitHPACondition("ScaledToZero", "ScaledToZero")
}
