//go:build e2e

package charts

import (
	"fmt"
	"strings"
	"testing"

	"github.com/slurmtide/slurmtide/test/harness/process"
	"github.com/slurmtide/slurmtide/test/harness/realkube"
)

// checkPrerequisites checks the order of installation: definitions before the operator, and the operator before clusters.
func checkPrerequisites(t *testing.T, k *realkube.Cluster, release helmRelease) {
	t.Helper()
	needs := map[string][]string{
		"slurm-operator":    {"crd/nodesets.slinky.slurm.net"},
		"slurm-metrics":     {"crd/nodesets.slinky.slurm.net"},
		"slurm-cluster-hpc": {"deployment/slurm-operator", "crd/controllers.slinky.slurm.net"},
		"slurm-cluster-lab": {"deployment/slurm-operator", "deployment/slurm-metrics"},
	}
	for _, object := range needs[release.Metadata.Name] {
		if _, err := k.Kubectl(t.Context(), "get", object, "--namespace", "slurm-system"); err != nil {
			t.Errorf("%s comes before %s: %v", release.Metadata.Name, object, err)
		}
	}
}

// checkInstalled checks objects that exist only with the values of the HelmReleases.
func checkInstalled(t *testing.T, k *realkube.Cluster) {
	t.Helper()
	for _, tc := range []struct{ object, namespace, path, want string }{
		{"nodesets/hpc-slurm-worker-cpu", "hpc", "{.spec.replicas}", "2"},
		{"hpa/hpc-slurm-worker-gpu", "hpc", "{.spec.maxReplicas}", "4"},
		{"loginsets/slurm-login-main", "lab-slurm", "{.metadata.name}", "slurm-login-main"},
		{"deployment/slurm-metrics", "slurm-system", "{.spec.replicas}", "1"},
		{"deployment/slurm-exporter", "slurm-system", "{.metadata.labels.helm\\.sh/chart}", "slurm-exporter-0.1.0"},
	} {
		got := mustRun(t)(k.Kubectl(t.Context(), "get", tc.object, "--namespace", tc.namespace, "--output", "jsonpath="+tc.path))
		if got != tc.want {
			t.Errorf("%s of %s is %q, want %q", tc.path, tc.object, got, tc.want)
		}
	}
	for _, namespace := range []string{"hpc", "lab-slurm"} {
		out, _ := k.Kubectl(t.Context(), "auth", "can-i", "get", "secrets/key", "--namespace", namespace, "--as",
			"system:serviceaccount:slurm-system:slurm-operator") // kubectl fails if the answer is no
		if strings.TrimSpace(out) != "yes" {
			t.Errorf("the operator may not read the Secrets of the cluster in %s", namespace)
		}
	}
}

// checkRemovalWaits checks that Helm removes neither a cluster nor the operator before the preceding Job has succeeded. Without a kubelet,
// no Job succeeds.
func checkRemovalWaits(t *testing.T, k *realkube.Cluster) {
	t.Helper()
	for _, tc := range []struct{ release, namespace, kept string }{
		{"hpc", "hpc", "restapi/hpc-slurm"},
		{"slurm-operator", "slurm-system", "deployment/slurm-operator"},
	} {
		if _, err := k.Helm(t.Context(), "uninstall", tc.release, "--namespace", tc.namespace, "--timeout", "3s"); err == nil {
			t.Errorf("%s was removed without its Job", tc.release)
		}
		mustRun(t)(k.Kubectl(t.Context(), "get", tc.kept, "--namespace", tc.namespace))
		process.Await(t, func() error {
			pods := mustRun(t)(k.Kubectl(t.Context(), "get", "pods", "--namespace", tc.namespace, "--selector",
				"batch.kubernetes.io/job-name="+tc.release+"-removal", "--output", "jsonpath={.items[*].spec.containers[0].args[0]}"))
			if pods != "delete-clusters" {
				return fmt.Errorf("the Job of %s has no pod: %q", tc.release, pods)
			}
			return nil
		})
	}
	for _, namespace := range []string{"hpc", "lab-slurm"} { // Helm has given up, and taken the Role away
		out, _ := k.Kubectl(t.Context(), "auth", "can-i", "delete", "nodesets.slinky.slurm.net", "--namespace", namespace, "--as",
			"system:serviceaccount:hpc:hpc-removal") // kubectl fails if the answer is no
		if got := strings.TrimSpace(out); got != "no" {
			t.Errorf("may the Job of hpc still delete NodeSets in %s? %q", namespace, got)
		}
	}
}
