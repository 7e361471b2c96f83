//go:build e2e

package wakeup

import (
	"net/http"
	"strings"
	"testing"
	"time"
)

const (
	ownerHPA    = "kube-controller-manager/scale"
	ownerWakeUp = "slurm-operator-wakeup/scale"
	// A zero written through the scale subresource has no owner until the operator claims it.
	ownerOperator = "slurm-operator-wakeup"
	ownerNone     = ""
)

func createdAtZero(t *testing.T, s *env) {
	n := s.newNodeSet(t, "created")
	n.setDemand(0)
	n.create(0)
	n.awaitReason("NoAutoscaler")
	n.createHPA(0)
	n.awaitHPACondition("ScalingActive", "ScalingDisabled")
	n.awaitReason("NotNeeded")
	n.requireReplicas(0)
	n.setDemand(3)
	n.awaitReplicas(3)
	n.awaitReason("Woken")
	n.awaitOwner(ownerWakeUp)
	n.setDemand(5)
	n.awaitReplicas(5)
	n.awaitOwner(ownerHPA) // the HPA does the rest
	n.setDemand(100)
	n.awaitReplicas(8)
	if got := n.events(); got != "Woken" {
		t.Errorf("the events are %q", got)
	}
}

// beginsAtZero: the operator or the HPA, whichever is the first, removes the default replica that no job needs.
func beginsAtZero(t *testing.T, s *env) {
	n := s.newNodeSet(t, "begins")
	n.setDemand(0)
	n.create(1)
	n.createHPA(0)
	n.awaitReplicas(0)
	n.awaitOwner(ownerOperator)
	n.setDemand(2)
	n.awaitReplicas(2)
}

func takenByHPA(t *testing.T, s *env) {
	n := s.newNodeSet(t, "byhpa")
	n.setDemand(2)
	n.create(1)
	n.createHPA(0)
	n.awaitReplicas(2)
	n.setDemand(0)
	n.awaitReplicas(0)
	n.awaitHPACondition("ScaledToZero", "ScaledToZero")
	n.awaitOwner(ownerOperator)
	n.awaitReason("NotNeeded")
	n.setDemand(2)
	n.awaitReplicas(2)
	n.awaitOwner(ownerHPA)
	if got := n.events(); got != "" {
		t.Errorf("the events are %q", got)
	}
}

func pauseByHand(n *nodeSet) {
	n.setDemand(2)
	n.create(1)
	n.createHPA(0)
	n.awaitReplicas(2)
	n.scale(0)
	n.awaitOwner(ownerNone)
	n.awaitHPACondition("ScalingActive", "ScalingDisabled")
	n.awaitReason("Paused")
	n.requireReplicas(0)
}

func takenByHand(t *testing.T, s *env) {
	n := s.newNodeSet(t, "byhand")
	pauseByHand(n)
	n.scale(1)
	n.awaitReplicas(2)
	n.awaitReason("NotNeeded")
	n.setDemand(0)
	n.awaitReplicas(0)
	n.awaitHPACondition("ScaledToZero", "ScaledToZero")
	n.setDemand(1)
	n.awaitReplicas(1)
	n.awaitOwner(ownerHPA)
}

func takenByHandAlways(t *testing.T, s *env) {
	n := s.newNodeSet(t, "always")
	pauseByHand(n)
	n.annotate("wake=always")
	n.awaitReplicas(2)
	n.awaitReason("Woken")
	if got := n.events(); got != "Woken" {
		t.Errorf("the events are %q", got)
	}
}

func hpaRecreated(t *testing.T, s *env) {
	n := s.newNodeSet(t, "newhpa")
	n.setDemand(2)
	n.create(1)
	n.createHPA(0)
	n.awaitReplicas(2)
	n.setDemand(0)
	n.awaitReplicas(0)
	n.awaitHPACondition("ScaledToZero", "ScaledToZero")
	n.awaitOwner(ownerOperator)
	s.runKubectl(t, "delete", "hpa", n.name)
	n.awaitReason("NoAutoscaler")
	n.createHPA(0)
	n.awaitHPACondition("ScalingActive", "ScalingDisabled")
	n.awaitReason("NotNeeded")
	n.requireReplicas(0)
	n.setDemand(2)
	n.awaitReplicas(2)
	n.awaitOwner(ownerWakeUp)
	n.setDemand(0)
	n.awaitReplicas(0)
	n.awaitHPACondition("ScaledToZero", "ScaledToZero") // the HPA scales it again
}

func hpaRecreatedWhilePaused(t *testing.T, s *env) {
	n := s.newNodeSet(t, "newpaused")
	n.setDemand(0)
	n.create(1)
	n.createHPA(0)
	n.awaitReplicas(0)
	n.awaitOwner(ownerOperator)
	s.runKubectl(t, "delete", "hpa", n.name)
	n.scale(1)
	n.scale(0)
	n.awaitOwner(ownerNone)
	n.setDemand(2)
	n.createHPA(0)
	n.awaitHPACondition("ScalingActive", "ScalingDisabled")
	n.awaitReason("Paused")
	n.requireReplicas(0)
}

func neverWoken(t *testing.T, s *env) {
	n := s.newNodeSet(t, "never")
	n.setDemand(2)
	n.create(0)
	n.annotate("wake=never")
	n.createHPA(0)
	n.awaitHPACondition("ScalingActive", "ScalingDisabled")
	n.awaitReason("NeverWake")
	n.requireReplicas(0)
}

func twoHPAs(t *testing.T, s *env) {
	n := s.newNodeSet(t, "two")
	n.setDemand(2)
	n.create(0)
	n.annotate("wake=never")
	n.createHPA(0)
	n.createHPANamed("two-other", 0)
	n.awaitReason("SeveralAutoscalers")
	n.annotate("wake=always")
	n.requireReplicas(0)
	s.runKubectl(t, "delete", "hpa", "two-other")
	n.awaitReplicas(2)
}

func demandUnknown(t *testing.T, s *env) {
	n := s.newNodeSet(t, "unknown")
	n.create(0)
	n.createHPA(0)
	n.awaitReason("DemandUnknown")
	for _, v := range []metricValue{
		{n: 2, status: http.StatusServiceUnavailable},
		{n: 2, status: http.StatusInternalServerError},
		{n: 2, age: time.Hour},
	} {
		n.adapter.set(n.name, v)
		n.requireReplicas(0)
		n.awaitReason("DemandUnknown")
	}
	n.setDemand(2)
	n.awaitReplicas(2)
	n.awaitReason("Woken")
}

func zeroAfter(t *testing.T, s *env) {
	n := s.newNodeSet(t, "zeroafter")
	n.setDemand(2)
	n.create(1)
	n.annotate("zero-after=5s")
	n.createHPA(1)
	n.awaitReplicas(2)
	n.requireReplicas(2)
	n.setDemand(0)
	n.awaitReplicas(1) // by the HPA
	n.awaitReplicas(0) // by the operator
	n.awaitOwner(ownerOperator)
	n.awaitReason("TakenToZero")
	n.awaitHPACondition("ScalingActive", "ScalingDisabled")
	n.requireReplicas(0) // HPA and operator do not fight
	n.setDemand(3)
	n.awaitReplicas(3)
	n.awaitReason("Woken")
	n.adapter.set(n.name, metricValue{status: http.StatusServiceUnavailable})
	n.awaitReason("DemandUnknown")
	time.Sleep(5 * time.Second) // zero-after
	n.requireReplicas(3)
	n.setDemand(0)
	n.awaitReplicas(0)
	if got := n.events(); strings.Count(got, "TakenToZero") == 0 || strings.Count(got, "Woken") == 0 {
		t.Errorf("the events are %q", got)
	}
}
