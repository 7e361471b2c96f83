//go:build e2e

package wakeup

import "testing"

// A zero in the manifest is the initial size of a NodeSet, not a pause.

func installedByHelm(t *testing.T, s *scene) {
	n := s.nodeSet(t, "helminstall")
	n.needs(2)
	s.helm(t, "install", n.name, "testdata/nodeset")
	n.autoscale(0)
	n.reaches(2)
	n.ownedBy(woken)
}

func takenByHelm(t *testing.T, s *scene) {
	n := s.nodeSet(t, "helmupgrade")
	n.needs(2)
	s.helm(t, "install", n.name, "testdata/nodeset", "--set=replicas=1")
	n.autoscale(0)
	n.reaches(2)
	n.ownedBy(byHPA)
	s.helm(t, "upgrade", n.name, "testdata/nodeset", "--set=replicas=0")
	n.ownedBy(woken)
	n.reaches(2)
}

func takenByApply(t *testing.T, s *scene) {
	n := s.nodeSet(t, "applied")
	n.needs(2)
	s.apply(t, n.manifest(1))
	n.autoscale(0)
	n.reaches(2)
	n.ownedBy(byHPA)
	s.apply(t, n.manifest(0))
	n.ownedBy(woken)
	n.reaches(2)
}

func takenByServerSideApply(t *testing.T, s *scene) {
	n := s.nodeSet(t, "ssapplied")
	n.needs(2)
	n.create(1)
	n.autoscale(0)
	n.reaches(2)
	n.ownedBy(byHPA)
	n.applyServerSide(0)
	n.ownedBy(woken)
	n.reaches(2)
}
