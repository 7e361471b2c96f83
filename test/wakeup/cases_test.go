//go:build e2e

package wakeup

import (
	"net/http"
	"strings"
	"testing"
	"time"
)

const (
	byHPA = "kube-controller-manager/scale"
	woken = "slurm-operator-wakeup/scale"
	// A zero written through the scale subresource has no owner until the operator claims it.
	claimed = "slurm-operator-wakeup"
	unowned = ""
)

func createdAtZero(t *testing.T, s *scene) {
	n := s.nodeSet(t, "created")
	n.needs(0)
	n.create(0)
	n.says("NoAutoscaler")
	n.autoscale(0)
	n.hpaSays("ScalingActive", "ScalingDisabled")
	n.says("NotNeeded")
	n.staysAt(0)
	n.needs(3)
	n.reaches(3)
	n.says("Woken")
	n.ownedBy(woken)
	n.needs(5)
	n.reaches(5)
	n.ownedBy(byHPA) // the HPA does the rest
	n.needs(100)
	n.reaches(8)
	if got := n.events(); got != "Woken" {
		t.Errorf("the events are %q", got)
	}
}

func takenByHPA(t *testing.T, s *scene) {
	n := s.nodeSet(t, "byhpa")
	n.needs(0)
	n.create(1)
	n.autoscale(0)
	n.reaches(0)
	n.hpaSays("ScaledToZero", "ScaledToZero")
	n.ownedBy(claimed)
	n.says("NotNeeded")
	n.needs(2)
	n.reaches(2)
	n.ownedBy(byHPA)
	if got := n.events(); got != "" {
		t.Errorf("the events are %q", got)
	}
}

func paused(n *nodeSet) {
	n.needs(2)
	n.create(1)
	n.autoscale(0)
	n.reaches(2)
	n.scale(0)
	n.ownedBy(unowned)
	n.hpaSays("ScalingActive", "ScalingDisabled")
	n.says("Paused")
	n.staysAt(0)
}

func takenByHand(t *testing.T, s *scene) {
	n := s.nodeSet(t, "byhand")
	paused(n)
	n.scale(1)
	n.reaches(2)
	n.says("NotNeeded")
	n.needs(0)
	n.reaches(0)
	n.hpaSays("ScaledToZero", "ScaledToZero")
	n.needs(1)
	n.reaches(1)
	n.ownedBy(byHPA)
}

func takenByHandAlways(t *testing.T, s *scene) {
	n := s.nodeSet(t, "always")
	paused(n)
	n.annotate("wake=always")
	n.reaches(2)
	n.says("Woken")
	if got := n.events(); got != "Woken" {
		t.Errorf("the events are %q", got)
	}
}

func newHPA(t *testing.T, s *scene) {
	n := s.nodeSet(t, "newhpa")
	n.needs(0)
	n.create(1)
	n.autoscale(0)
	n.reaches(0)
	n.hpaSays("ScaledToZero", "ScaledToZero")
	n.ownedBy(claimed)
	s.kubectl(t, "delete", "hpa", n.name)
	n.says("NoAutoscaler")
	n.autoscale(0)
	n.hpaSays("ScalingActive", "ScalingDisabled")
	n.says("NotNeeded")
	n.staysAt(0)
	n.needs(2)
	n.reaches(2)
	n.ownedBy(woken)
	n.needs(0)
	n.reaches(0)
	n.hpaSays("ScaledToZero", "ScaledToZero") // the HPA scales it again
}

func newHPAWhilePaused(t *testing.T, s *scene) {
	n := s.nodeSet(t, "newpaused")
	n.needs(0)
	n.create(1)
	n.autoscale(0)
	n.reaches(0)
	n.ownedBy(claimed)
	s.kubectl(t, "delete", "hpa", n.name)
	n.scale(1)
	n.scale(0)
	n.ownedBy(unowned)
	n.needs(2)
	n.autoscale(0)
	n.hpaSays("ScalingActive", "ScalingDisabled")
	n.says("Paused")
	n.staysAt(0)
}

func never(t *testing.T, s *scene) {
	n := s.nodeSet(t, "never")
	n.needs(2)
	n.create(0)
	n.annotate("wake=never")
	n.autoscale(0)
	n.hpaSays("ScalingActive", "ScalingDisabled")
	n.says("NeverWake")
	n.staysAt(0)
}

func twoHPAs(t *testing.T, s *scene) {
	n := s.nodeSet(t, "two")
	n.needs(2)
	n.create(0)
	n.annotate("wake=never")
	n.autoscale(0)
	n.autoscaleBy("two-other", 0)
	n.says("SeveralAutoscalers")
	n.annotate("wake=always")
	n.staysAt(0)
	s.kubectl(t, "delete", "hpa", "two-other")
	n.reaches(2)
}

func demandUnknown(t *testing.T, s *scene) {
	n := s.nodeSet(t, "unknown")
	n.create(0)
	n.autoscale(0)
	n.says("DemandUnknown")
	for _, v := range []value{
		{n: 2, status: http.StatusServiceUnavailable},
		{n: 2, status: http.StatusInternalServerError},
		{n: 2, age: time.Hour},
	} {
		n.adapter.set(n.name, v)
		n.staysAt(0)
		n.says("DemandUnknown")
	}
	n.needs(2)
	n.reaches(2)
	n.says("Woken")
}

func zeroAfter(t *testing.T, s *scene) {
	n := s.nodeSet(t, "zeroafter")
	n.needs(2)
	n.create(1)
	n.annotate("zero-after=5s")
	n.autoscale(1)
	n.reaches(2)
	n.staysAt(2)
	n.needs(0)
	n.reaches(1) // by the HPA
	n.reaches(0) // by the operator
	n.ownedBy(claimed)
	n.says("TakenToZero")
	n.hpaSays("ScalingActive", "ScalingDisabled")
	n.staysAt(0) // HPA and operator do not fight
	n.needs(3)
	n.reaches(3)
	n.says("Woken")
	n.adapter.set(n.name, value{status: http.StatusServiceUnavailable})
	n.says("DemandUnknown")
	time.Sleep(5 * time.Second) // zero-after
	n.staysAt(3)
	n.needs(0)
	n.reaches(0)
	if got := n.events(); strings.Count(got, "TakenToZero") == 0 || strings.Count(got, "Woken") == 0 {
		t.Errorf("the events are %q", got)
	}
}
