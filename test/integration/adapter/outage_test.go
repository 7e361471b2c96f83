//go:build e2e

package adapter

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/slurmtide/slurmtide/metricsapi"
	"github.com/slurmtide/slurmtide/slurmclient/slurmtest"
	"github.com/slurmtide/slurmtide/test/harness/process"
	"github.com/slurmtide/slurmtide/test/harness/restd"
)

// testClusterRecreated deletes a Cluster and creates it again.
func (s *env) testClusterRecreated(t *testing.T) {
	beta := query{namespace: "team-b", resource: clusters, name: "beta", metric: "slurm_partition_idle_nodes"}
	server := mustRun(t)(s.kube.Kubectl(t.Context(), "-n", "team-b", "get", "clusters.slinky.slurm.net", "beta",
		"-o", "jsonpath={.spec.server}"))
	mustRun(t)(s.kube.Kubectl(t.Context(), "-n", "team-b", "delete", "clusters.slinky.slurm.net", "beta"))
	process.Await(t, func() error { return s.checkFailure(t, beta, "(NotFound)") })
	gpu := query{namespace: "team-b", resource: nodeSets, name: "gpu", metric: "slurm_nodeset_required_nodes"}
	process.Await(t, func() error { return s.checkFailure(t, gpu, "(ServiceUnavailable)", "no Cluster of this name") })
	s.applyManifest(t, fmt.Sprintf(
		"apiVersion: slinky.slurm.net/v1beta1\nkind: Cluster\nmetadata: {name: beta, namespace: team-b}\n"+
			"spec: {server: %q, token: {secretRef: {name: beta-token, key: SLURM_JWT}}}\n", server))
	process.Await(t, func() error { return s.checkValue(t, beta, "4") })
}

// testOutages makes alpha fail in several ways. Each time alpha's metrics become an error, beta's
// stay available, and alpha's return without intervention.
func (s *env) testOutages(t *testing.T) {
	fault := func(f slurmtest.Fault) func() { return func() { s.alpha.InjectFault(f) } }
	clear := s.alpha.ClearFaults
	for _, tc := range []struct {
		name       string
		begin, end func()
		words      []string
	}{
		{"slurmrestd is stopped", s.restd.Stop, func() { s.restd.Start(t) }, []string{"connection refused"}},
		{"slurmrestd answers 500", fault(slurmtest.Fault{Kind: slurmtest.FaultStatus, Status: 500}), clear,
			[]string{"500"}},
		{"slurmrestd answers garbage", fault(slurmtest.Fault{Kind: slurmtest.FaultGarbage}), clear, nil},
		{"slurmrestd hangs", fault(slurmtest.Fault{Kind: slurmtest.FaultHang}),
			func() { clear(); s.restd.CloseConnections() }, nil},
		{"the token is refused", fault(slurmtest.Fault{Kind: slurmtest.FaultToken}), clear, []string{"unauthorised"}},
		{"slurmctld is down", func() { s.alpha.SetControllerState(slurmtest.ControllerDown) },
			func() { s.alpha.SetControllerState(slurmtest.ControllerUp) }, []string{"unavailable"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			gpu := query{namespace: "team-a", resource: nodeSets, name: "gpu", metric: "slurm_nodeset_required_nodes"}
			beta := query{namespace: "team-b", resource: nodeSets, name: "gpu", metric: "slurm_nodeset_idle_nodes"}
			process.Await(t, func() error { return s.checkValue(t, gpu, "5") })
			tc.begin()
			ended := false
			defer func() {
				if !ended {
					tc.end()
				}
			}()
			process.Await(t, func() error {
				got, err := s.valuesByName(t, "v1beta2", gpu)
				if err == nil && got["gpu"] != "5" {
					t.Fatalf("the value is %v", got) // only the last known value may be served until it is too old
				}
				return s.checkFailure(t, gpu, append(tc.words, "(ServiceUnavailable)", "team-a/alpha",
					"ago, which is more than 6s")...)
			})
			if err := s.checkValue(t, beta, "2"); err != nil {
				t.Errorf("the other cluster: %v", err)
			}
			all := query{resource: "namespaces", name: "*", metric: "slurm_partition_idle_nodes"}
			if err := s.checkFailure(t, all, "(ServiceUnavailable)"); err != nil {
				t.Errorf("a list that includes the failing cluster: %v", err)
			}
			tc.end()
			ended = true
			process.Await(t, func() error { return s.checkValue(t, gpu, "5") })
		})
	}
}

// testTokenRenewal lets the token expire and then replaces it.
func (s *env) testTokenRenewal(t *testing.T) {
	gpu := query{namespace: "team-a", resource: nodeSets, name: "gpu", metric: "slurm_nodeset_required_nodes"}
	s.setToken(t, "team-a", "alpha-token", -time.Minute)
	s.reconnectCluster(t)
	process.Await(t, func() error { return s.checkFailure(t, gpu, "(ServiceUnavailable)", "unauthorised") })
	s.setToken(t, "team-a", "alpha-token", time.Hour)
	process.Await(t, func() error { return s.checkValue(t, gpu, "5") })
}

// reconnectCluster makes the adapter connect to alpha again with the current content of its Secret.
func (s *env) reconnectCluster(t *testing.T) {
	mustRun(t)(s.kube.Kubectl(t.Context(), "-n", "team-a", "patch", "clusters.slinky.slurm.net", "alpha",
		"--type=merge", "-p",
		fmt.Sprintf(`{"spec":{"server":"http://localhost:%s"}}`, portOf(s.restd.Address))))
}

// testSingleCluster runs an adapter that is configured by flags to read only alpha's slurmrestd.
func (s *env) testSingleCluster(t *testing.T) {
	file := filepath.Join(s.dir, "jwt_hs256.key")
	if err := os.WriteFile(file, []byte(restd.Key), 0o600); err != nil {
		t.Fatal(err)
	}
	p := s.startAdapter(t, "--slurm.url="+s.restd.URL(), "--slurm.jwt-key-file="+file, "--cluster-namespace=team-a",
		"--cluster-name=alpha")
	s.registerAdapter(t, p)
	gpu := query{namespace: "team-a", resource: nodeSets, name: "gpu", metric: "slurm_nodeset_required_nodes"}
	process.Await(t, func() error { return s.checkValue(t, gpu, "5") })
	if err := s.checkValue(t, query{namespace: "team-a", resource: clusters, name: "alpha",
		metric: "slurm_partition_running_jobs"}, "3"); err != nil {
		t.Error(err)
	}
	gpu.namespace = "team-b"
	if err := s.checkFailure(t, gpu, "(ServiceUnavailable)", "does not read it"); err != nil {
		t.Error(err)
	}
	if err := s.checkFailure(t, query{namespace: "team-b", resource: clusters, name: "beta",
		metric: "slurm_partition_running_jobs"}, "(NotFound)"); err != nil {
		t.Error(err)
	}
}

// testControllerMetrics requests the metrics of a Controller. Flags give the URL of its slurmrestd,
// because its Service would need pods.
func (s *env) testControllerMetrics(t *testing.T) {
	s.applyManifest(t, `
apiVersion: v1
kind: Namespace
metadata: {name: team-c}
---
apiVersion: slinky.slurm.net/v1beta1
kind: Controller
metadata: {name: gamma, namespace: team-c, labels: {site: east}}
spec: {slurmKeyRef: {name: keys, key: slurm.key}, jwtHs256KeyRef: {name: keys, key: jwt_hs256.key}}
`)
	p := s.startAdapter(t, "--slurm.url="+s.restd.URL(), "--slurm.jwt-key-file="+filepath.Join(s.dir, "jwt_hs256.key"),
		"--cluster-namespace=team-c", "--cluster-name=gamma")
	s.registerAdapter(t, p)
	gamma := query{namespace: "team-c", resource: "controllers.slinky.slurm.net", name: "gamma", labels: "site=east"}
	running := gamma
	running.labels, running.metric = "", "slurm_partition_running_jobs"
	process.Await(t, func() error { return s.checkValue(t, running, "3") })
	requests := 0
	for _, e := range metricsapi.Catalogue() {
		for _, on := range e.Resources {
			if on.Resource != "controllers" {
				continue
			}
			gamma.metric = e.Name
			for _, version := range versions {
				s.requireSameAnswers(t, version, e, gamma)
				requests++
			}
		}
	}
	if requests == 0 {
		t.Error("the catalogue contains no metric of Controllers")
	}
}

// testWithoutClusters reads the objects of another operator, which does not know the kind Cluster.
func (s *env) testWithoutClusters(t *testing.T) {
	mustRun(t)(s.kube.Kubectl(t.Context(), "delete", "crd", clusters))
	s.applyManifest(t, `
apiVersion: slinky.slurm.net/v1beta1
kind: NodeSet
metadata: {name: gpu, namespace: team-c}
spec: {controllerRef: {name: gamma}, replicas: 2, slurmd: {image: slurmd}, template: {}}
`)
	p := s.startAdapter(t, "--slurm.url="+s.restd.URL(), "--slurm.jwt-key-file="+filepath.Join(s.dir, "jwt_hs256.key"),
		"--cluster-namespace=team-c", "--cluster-name=gamma")
	s.registerAdapter(t, p)
	required := query{namespace: "team-c", resource: nodeSets, name: "gpu", metric: "slurm_nodeset_required_nodes"}
	process.Await(t, func() error { return s.checkValue(t, required, "5") })
}
