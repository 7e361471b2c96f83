//go:build e2e

package adapter

import (
	"crypto/tls"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/slurmtide/slurmtide/test/harness/process"
)

// testAuthorization sends requests directly to the adapter, bypassing the API server, and checks which rights its
// service account lacks.
func (s *env) testAuthorization(t *testing.T, p *adapter) {
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}} //nolint:gosec // the test is about credentials
	path := query{namespace: "team-a", resource: nodeSets, name: "gpu", metric: "slurm_nodeset_required_nodes"}.path(
		"v1beta2")
	mustRun(t)(s.kube.Kubectl(t.Context(), "create", "serviceaccount", "nobody"))
	nobody := strings.TrimSpace(mustRun(t)(s.kube.Kubectl(t.Context(), "create", "token", "nobody")))
	for _, tc := range []struct {
		name, path, token string
		want              int
	}{
		{"no credentials", path, "", http.StatusForbidden},
		{"a bad token", path, "nonsense", http.StatusUnauthorized},
		{"a service account without rights", path, nobody, http.StatusForbidden},
		{"the server's own metrics", "/metrics", "", http.StatusForbidden},
		{"probes need no credentials", "/readyz", "", http.StatusOK},
	} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet,
			fmt.Sprintf("https://127.0.0.1:%d%s", p.securePort, tc.path), nil)
		if err != nil {
			t.Fatal(err)
		}
		if tc.token != "" {
			req.Header.Set("Authorization", "Bearer "+tc.token)
		}
		resp, err := client.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		body, _ := io.ReadAll(resp.Body)
		resp.Body.Close()
		if resp.StatusCode != tc.want {
			t.Errorf("%s: %s %s", tc.name, resp.Status, body)
		}
	}
	for _, action := range [][]string{
		{"list", "secrets"}, {"watch", "secrets"}, {"patch", "nodesets"}, {"list", "pods"},
		{"update", "secrets", "-n", "team-a"},
	} {
		out, _ := s.kube.Kubectl(t.Context(), append([]string{"auth", "can-i",
			"--as=system:serviceaccount:slurm-metrics:slurm-metrics-adapter"}, action...)...)
		if strings.TrimSpace(out) != "no" {
			t.Errorf("the adapter may %v: %s", action, out)
		}
	}
}

// testPrometheusMetrics compares the metrics for Prometheus with the API's metrics.
func (s *env) testPrometheusMetrics(t *testing.T, p *adapter) {
	resp, err := http.Get("http://" + p.metricsAddress + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"slurm_partition_pending_jobs{cluster=\"team-a/alpha\",partition=\"gpu\"} 3\n",
		"slurm_partition_pending_jobs{cluster=\"team-b/beta\",partition=\"gpu\"} 0\n",
		"slurm_up{cluster=\"team-a/alpha\"} 1\n", "slurm_up{cluster=\"team-b/beta\"} 1\n",
		`slurm_cluster_info{cluster="team-a/alpha",api_version="v0.0.45",slurm_cluster="alpha",`, "go_goroutines ",
	} {
		if !strings.Contains(string(body), want) {
			t.Errorf("%s is missing", want)
		}
	}
	if n := strings.Count(string(body), "# TYPE slurm_up "); n != 1 {
		t.Errorf("the family slurm_up appears %d times", n)
	}
}

// testSharedCertificate starts a second replica, which uses the existing certificate.
func (s *env) testSharedCertificate(t *testing.T, first *adapter) {
	version := func() string {
		return mustRun(t)(s.kube.Kubectl(t.Context(), "-n", "slurm-metrics", "get", "secret",
			"slurm-metrics-adapter-certificate",
			"-o", "jsonpath={.metadata.resourceVersion}"))
	}
	before := version()
	second := s.startAdapter(t)
	if after := version(); after != before {
		t.Error("the second replica wrote the Secret")
	}
	required := query{namespace: "team-a", resource: nodeSets, name: "gpu", metric: "slurm_nodeset_required_nodes"}
	s.registerAdapter(t, second)
	if err := first.Stop(); err != nil {
		t.Error(err)
	}
	process.Await(t, func() error { return s.checkValue(t, required, "5") })
	// When the Secret loses its data, the adapter creates a new CA and publishes it.
	mustRun(t)(s.kube.Kubectl(t.Context(), "-n", "slurm-metrics", "patch", "secret",
		"slurm-metrics-adapter-certificate",
		"--type=json", `-p=[{"op":"remove","path":"/data"}]`))
	process.Await(t, func() error {
		if !strings.Contains(second.Log(), "made a certificate") {
			return fmt.Errorf("the adapter has not made a new certificate")
		}
		return s.checkValue(t, required, "5")
	})
}
