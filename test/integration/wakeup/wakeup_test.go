//go:build e2e

package wakeup

import (
	"context"
	"testing"

	"github.com/slurmtide/slurmtide/test/harness/process"
	"github.com/slurmtide/slurmtide/test/harness/realkube"
)

func TestWakeUp(t *testing.T) {
	s := newEnv(t, realkube.Config{Name: "wakeup"})
	s.bindRole(t, "")
	o := startOperator(t, s.Cluster)
	t.Run("cases", func(t *testing.T) {
		for _, tc := range []struct {
			name string
			test func(*testing.T, *env)
		}{
			{"created at zero", createdAtZero},
			{"created with one replica that no job needs", beginsAtZero},
			{"taken to zero by the HPA", takenByHPA},
			{"taken to zero by hand and raised by hand", takenByHand},
			{"taken to zero by hand and woken by the annotation", takenByHandAlways},
			{"installed at zero by Helm", installedByHelm},
			{"taken to zero by Helm", takenByHelm},
			{"taken to zero by apply", takenByApply},
			{"taken to zero by server-side apply", takenByServerSideApply},
			{"HPA deleted and recreated", hpaRecreated},
			{"HPA deleted and recreated while paused", hpaRecreatedWhilePaused},
			{"never woken", neverWoken},
			{"two HPAs", twoHPAs},
			{"demand unknown", demandUnknown},
			{"zero-after where the HPA stops at one", zeroAfter},
		} {
			t.Run(tc.name, func(t *testing.T) { t.Parallel(); tc.test(t, s) })
		}
	})
	t.Run("metrics require authorization", func(t *testing.T) { testMetricsAccess(t, s, o) })
	t.Run("another replica takes over", func(t *testing.T) { testTakeOver(t, s, o) })
	t.Run("no operator leads for a while", func(t *testing.T) { testOutage(t, s, o) })
}

// testTakeOver stops the leader while another replica waits.
func testTakeOver(t *testing.T, s *env, leader *operator) {
	startOperator(t, s.Cluster)
	holder := func(ctx context.Context) (string, error) {
		return s.Kubectl(ctx, "get", "lease", "slurm-operator", "--namespace=slurm-system", "-o",
			"jsonpath={.spec.holderIdentity}")
	}
	before, err := holder(t.Context())
	if err != nil || before == "" {
		t.Fatalf("the lease is held by %q, %v", before, err)
	}
	leader.stop()
	n := s.newNodeSet(t, "takeover")
	n.setDemand(2)
	n.create(0)
	n.createHPA(0)
	n.awaitReplicas(2)
	if after, err := holder(t.Context()); err != nil || after == "" || after == before {
		t.Errorf("the lease is held by %q, %v", after, err)
	}
}

func testMetricsAccess(t *testing.T, s *env, o *operator) {
	s.applyManifest(t, `
apiVersion: v1
kind: ServiceAccount
metadata: {name: prometheus, namespace: slurm-system}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: scrape}
rules: [{nonResourceURLs: [/metrics], verbs: [get]}]
`)
	s.runKubectl(t, "create", "clusterrolebinding", "scrape", "--clusterrole=scrape",
		"--serviceaccount=slurm-system:prometheus")
	for _, tc := range []struct{ who, token, want string }{
		{"nobody", "", "401"},
		{"somebody", newToken(t, s.Cluster, "default"), "403"},
		{"prometheus", newToken(t, s.Cluster, "prometheus"), "200"},
	} {
		process.AwaitValue(t, "the answer to "+tc.who, tc.want, func(ctx context.Context) (string, error) {
			return o.get(ctx, "https://"+o.metrics+"/metrics", tc.token)
		})
	}
}
