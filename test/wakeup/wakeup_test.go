//go:build e2e

package wakeup

import (
	"context"
	"testing"

	"github.com/slurmtide/slurmtide/test/realkube"
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
			{"HPA deleted and recreated", newHPA},
			{"HPA deleted and recreated while paused", newHPAWhilePaused},
			{"never woken", never},
			{"two HPAs", twoHPAs},
			{"demand unknown", demandUnknown},
			{"zero-after where the HPA stops at one", zeroAfter},
		} {
			t.Run(tc.name, func(t *testing.T) { t.Parallel(); tc.test(t, s) })
		}
	})
	t.Run("metrics require authorization", func(t *testing.T) { metrics(t, s, o) })
	t.Run("another replica takes over", func(t *testing.T) { takeOver(t, s, o) })
}

// testTakeOver stops the leader while another replica waits.
func takeOver(t *testing.T, s *scene, leader *operator) {
	startOperator(t, s.Cluster)
	holder := func(ctx context.Context) (string, error) {
		return s.Kubectl(ctx, "get", "lease", "slurm-operator", "--namespace=slurm-system", "-o", "jsonpath={.spec.holderIdentity}")
	}
	before, err := holder(t.Context())
	if err != nil || before == "" {
		t.Fatalf("the lease is held by %q, %v", before, err)
	}
	leader.stop()
	n := s.nodeSet(t, "takeover")
	n.needs(2)
	n.create(0)
	n.autoscale(0)
	n.reaches(2)
	if after, err := holder(t.Context()); err != nil || after == "" || after == before {
		t.Errorf("the lease is held by %q, %v", after, err)
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
		await(t, "the answer to "+tc.who, tc.want, func(ctx context.Context) (string, error) {
			return o.get(ctx, "https://"+o.metrics+"/metrics", tc.token)
		})
	}
}
