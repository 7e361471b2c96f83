//go:build e2e

package wakeup

import "testing"

// A zero in the manifest is the initial size of a NodeSet, not a pause.

func installedByHelm(t *testing.T, s *env) {
	n := s.newNodeSet(t, "helminstall")
	n.setDemand(2)
	s.runHelm(t, "install", n.name, "testdata/nodeset")
	n.createHPA(0)
	n.awaitReplicas(2)
	n.awaitOwner(ownerWakeUp)
}

func takenByHelm(t *testing.T, s *env) {
	n := s.newNodeSet(t, "helmupgrade")
	n.setDemand(2)
	s.runHelm(t, "install", n.name, "testdata/nodeset", "--set=replicas=1")
	n.createHPA(0)
	n.awaitReplicas(2)
	n.awaitOwner(ownerHPA)
	s.runHelm(t, "upgrade", n.name, "testdata/nodeset", "--set=replicas=0")
	n.awaitOwner(ownerWakeUp)
	n.awaitReplicas(2)
}

func takenByApply(t *testing.T, s *env) {
	n := s.newNodeSet(t, "applied")
	n.setDemand(2)
	s.applyManifest(t, n.manifest(1))
	n.createHPA(0)
	n.awaitReplicas(2)
	n.awaitOwner(ownerHPA)
	s.applyManifest(t, n.manifest(0))
	n.awaitOwner(ownerWakeUp)
	n.awaitReplicas(2)
}

func takenByServerSideApply(t *testing.T, s *env) {
	n := s.newNodeSet(t, "ssapplied")
	n.setDemand(2)
	n.create(1)
	n.createHPA(0)
	n.awaitReplicas(2)
	n.awaitOwner(ownerHPA)
	n.applyServerSide(0)
	n.awaitOwner(ownerWakeUp)
	n.awaitReplicas(2)
}
