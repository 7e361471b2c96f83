//go:build e2e

package wakeup

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/slurmtide/slurmtide/test/realkube"
)

const (
	byHPA = "kube-controller-manager/scale"
	woken = "slurm-operator-wakeup/scale"
	// A zero that came through the scale subresource has no owner until it is claimed.
	claimed = "slurm-operator-wakeup"
	unowned = ""
)

func TestWakeUp(t *testing.T) {
	s := newScene(t, realkube.Config{Name: "wakeup"})
	s.bind(t, "")
	o := startOperator(t, s.Cluster)
	t.Run("cases", func(t *testing.T) {
		for _, tc := range []struct {
			name string
			test func(*testing.T, *scene)
		}{
			{"created at zero", createdAtZero},
			{"taken to zero by the HPA", takenByHPA},
			{"taken to zero by hand and raised by hand", takenByHand},
			{"taken to zero by hand and woken by the annotation", takenByHandAlways},
			{"installed at zero by Helm", installedByHelm},
			{"taken to zero by Helm", takenByHelm},
			{"taken to zero by apply", takenByApply},
			{"taken to zero by server-side apply", takenByServerSideApply},
			{"HPA deleted and made anew", newHPA},
			{"HPA deleted and made anew while paused", newHPAWhilePaused},
			{"never", never},
			{"two HPAs", twoHPAs},
			{"demand unknown", demandUnknown},
			{"zero-after where the HPA could go to one only", zeroAfter},
		} {
			t.Run(tc.name, func(t *testing.T) { t.Parallel(); tc.test(t, s) })
		}
	})
	t.Run("metrics are for those who may read them", func(t *testing.T) { metrics(t, s, o) })
	t.Run("it ends well and gives up its lease", func(t *testing.T) {
		o.stop()
		if got := s.kubectl(t, "get", "lease", "slurm-operator", "--namespace=slurm-system", "-o", "jsonpath={.spec.holderIdentity}"); got != "" {
			t.Errorf("the lease is held by %q", got)
		}
	})
}

// TestWithoutTheGate is what clusters before Kubernetes 1.37 do, with an operator that
// has rights in one namespace only.
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
			n.reaches(1) // the HPA, which does not go below
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
		t.Run("in a namespace that it does not look after", func(t *testing.T) {
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
	if log := o.logs.String(); strings.Contains(log, "forbidden") {
		t.Errorf("it asks for what it may not:\n%s", log)
	}
}

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
	n.ownedBy(byHPA) // the rest is left to the HPA
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

func newHPA(t *testing.T, s *scene) {
	n := s.nodeSet(t, "newhpa")
	n.needs(0)
	n.create(1)
	n.autoscale(0)
	n.reaches(0)
	n.hpaSays("ScaledToZero", "ScaledToZero")
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
	n.hpaSays("ScaledToZero", "ScaledToZero") // the HPA has it back
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
	n.reaches(1) // the HPA
	n.reaches(0) // the operator
	n.ownedBy(claimed)
	n.says("TakenToZero")
	n.hpaSays("ScalingActive", "ScalingDisabled")
	n.staysAt(0) // the two do not fight
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

func metrics(t *testing.T, s *scene, o *operator) {
	s.apply(t, `
apiVersion: v1
kind: ServiceAccount
metadata: {name: prometheus, namespace: slurm-system}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: scrape}
rules: [{nonResourceURLs: [/metrics], verbs: [get]}]
`)
	s.kubectl(t, "create", "clusterrolebinding", "scrape", "--clusterrole=scrape", "--serviceaccount=slurm-system:prometheus")
	for _, tc := range []struct{ who, token, want string }{
		{"nobody", "", "401"},
		{"somebody", token(t, s.Cluster, "default"), "403"},
		{"prometheus", token(t, s.Cluster, "prometheus"), "200"},
	} {
		await(t, 10*time.Second, "the answer to "+tc.who, tc.want, func(ctx context.Context) (string, error) {
			return o.get(ctx, "https://"+o.metrics+"/metrics", tc.token)
		})
	}
}
