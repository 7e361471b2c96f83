//go:build e2e

package charts

import (
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"

	"github.com/slurmtide/slurmtide/slurmclient/slurmtest"
	"github.com/slurmtide/slurmtide/test/harness/process"
	"github.com/slurmtide/slurmtide/test/harness/realkube"
)

const (
	adapterAccount = "system:serviceaccount:slurm:test-slurm-metrics"
	metricPath     = "/apis/custom.metrics.k8s.io/v1beta2/namespaces/team-a/clusters.slinky.slurm.net/hpc/slurm_partition_pending_jobs"
)

// TestTheAdapterWithTheRightsOfItsChart runs the adapter with the flags and the rights that the
// chart gives it. It runs as a process because there is no kubelet.
func TestTheAdapterWithTheRightsOfItsChart(t *testing.T) {
	k := startKube(t)
	slurm := httptest.NewServer(slurmtest.NewDemo(time.Now).Handler())
	t.Cleanup(slurm.Close)
	secure := process.FreePort(t)
	set := fmt.Sprintf("service.port=%d,securePort=%[1]d,exporter.port=%d,slurm.pollInterval=1s,shutdownDelay=0s,namespaces={team-a}",
		secure, process.FreePort(t))
	mustRun(t)(k.Helm(t.Context(), "install", "crds", chartDir("slurm-operator-crds"), "--namespace", "slurm"))
	mustRun(t)(k.Helm(t.Context(), "install", "test", chartDir("slurm-metrics"), "--namespace", "slurm", "--set", set))
	exposeAdapter(t, k, secure)
	applyCluster(t, k, slurm.URL)
	log := runProgram(t, k, "slurm-metrics", "slurm-metrics-adapter", "--bind-address=127.0.0.1",
		"--certificate.namespace=slurm")
	awaitSuccess(t, log, "the adapter to answer", func() error {
		_, err := k.Kubectl(t.Context(), "get", "--raw", metricPath)
		return err
	})
	if text := string(readFile(t, log)); strings.Contains(text, "forbidden") {
		t.Errorf("the adapter lacks a right:\n%s", text)
	}
	t.Run("the commands of the notes work", func(t *testing.T) { checkNotes(t, k) })
	t.Run("only authorised users read the metrics", func(t *testing.T) { checkReaders(t, k) })
	t.Run("the adapter has only the rights it needs", func(t *testing.T) { checkAdapterRights(t, k) })
	t.Run("an upgrade keeps the certificate", func(t *testing.T) { checkUpgradeKeepsCertificate(t, k, set) })
}

// exposeAdapter replaces the chart's Service by a Service for the process.
func exposeAdapter(t *testing.T, k *realkube.Cluster, port int) {
	t.Helper()
	mustRun(t)(k.Kubectl(t.Context(), "delete", "service", "test-slurm-metrics", "--namespace", "slurm"))
	if err := k.ExposeLocal(t.Context(), "slurm", "test-slurm-metrics", port); err != nil {
		t.Fatal(err)
	}
}

// applyCluster creates a Cluster and a NodeSet in the namespace team-a, and lets alice view the
// namespace.
func applyCluster(t *testing.T, k *realkube.Cluster, url string) {
	t.Helper()
	if err := k.AwaitEstablished(t.Context(), "clusters.slinky.slurm.net", "nodesets.slinky.slurm.net"); err != nil {
		t.Fatal(err)
	}
	if err := k.Apply(t.Context(), fmt.Sprintf(`
apiVersion: v1
kind: Secret
metadata: {name: token, namespace: team-a, annotations: {slinky.slurm.net/slurm-token: "true"}}
stringData: {SLURM_JWT: any}
---
apiVersion: slinky.slurm.net/v1beta1
kind: Cluster
metadata: {name: hpc, namespace: team-a}
spec: {server: %q, token: {secretRef: {name: token, key: SLURM_JWT}}}
---
apiVersion: slinky.slurm.net/v1beta1
kind: NodeSet
metadata: {name: gpu, namespace: team-a}
spec: {clusterRef: {name: hpc}, replicas: 0, slurmd: {image: none}, template: {}}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: alice, namespace: team-a}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: view}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: alice}]
`, url)); err != nil {
		t.Fatal(err)
	}
}

// runProgram starts the program of a chart with the container's arguments and more, and returns the
// path of its log. The program listens on loopback only.
func runProgram(t *testing.T, k *realkube.Cluster, chart, name string, more ...string) string {
	t.Helper()
	var args []string
	text := mustRun(t)(k.Kubectl(t.Context(), "get", "deployment", "test-"+chart, "--namespace", "slurm",
		"--output", "jsonpath={.spec.template.spec.containers[0].args}"))
	if err := json.Unmarshal([]byte(text), &args); err != nil {
		t.Fatal(err)
	}
	for i, arg := range args {
		args[i] = strings.Replace(arg, ".listen-address=:", ".listen-address=127.0.0.1:", 1)
	}
	args = append(append(args, more...), "--kube.config="+writeKubeconfig(t, k, "test-"+chart))
	program, err := process.Build(t.Context(), t.TempDir(), name)
	if err != nil {
		t.Fatal(err)
	}
	log, err := os.Create(program + ".log")
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	cmd := exec.Command(program, args...)
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		if err := cmd.Wait(); err != nil {
			t.Errorf("%s ended with %v:\n%s", name, err, readFile(t, log.Name()))
		}
	})
	return log.Name()
}

// writeKubeconfig writes a kubeconfig of a ServiceAccount and returns its path.
func writeKubeconfig(t *testing.T, k *realkube.Cluster, account string) string {
	t.Helper()
	config, err := clientcmd.LoadFromFile(k.Kubeconfig())
	if err != nil {
		t.Fatal(err)
	}
	if err := api.FlattenConfig(config); err != nil {
		t.Fatal(err)
	}
	token := mustRun(t)(k.Kubectl(t.Context(), "create", "token", account, "--namespace", "slurm"))
	for name := range config.AuthInfos {
		config.AuthInfos[name] = &api.AuthInfo{Token: strings.TrimSpace(token)}
	}
	path := filepath.Join(t.TempDir(), "kubeconfig")
	if err := clientcmd.WriteToFile(*config, path); err != nil {
		t.Fatal(err)
	}
	return path
}

// checkNotes runs the commands that the notes recommend, except those that need pods.
func checkNotes(t *testing.T, k *realkube.Cluster) {
	process.Await(t, func() error { // one may be available before the other
		services, err := k.Kubectl(t.Context(), "get", "apiservices", "v1beta1.custom.metrics.k8s.io",
			"v1beta2.custom.metrics.k8s.io")
		if err == nil && strings.Count(services, " True ") != 2 {
			err = fmt.Errorf("the APIServices are not available:\n%s", services)
		}
		return err
	})
	metrics := mustRun(t)(k.Kubectl(t.Context(), "get", "--raw", "/apis/custom.metrics.k8s.io/v1beta2"))
	if !strings.Contains(metrics, "nodesets.slinky.slurm.net/slurm_nodeset_required_nodes") {
		t.Errorf("the metric for HPAs is not listed:\n%s", metrics)
	}
	required := "/apis/custom.metrics.k8s.io/v1beta2/namespaces/team-a/nodesets.slinky.slurm.net/*/slurm_nodeset_required_nodes"
	if out := mustRun(t)(k.Kubectl(t.Context(), "get", "--raw", required)); !strings.Contains(out, `"name":"gpu"`) {
		t.Errorf("the NodeSet has no value:\n%s", out)
	}
}

func checkReaders(t *testing.T, k *realkube.Cluster) {
	for _, tc := range []struct {
		name, user, path string
		allowed          bool
	}{
		{"the HPA controller", "system:serviceaccount:kube-system:horizontal-pod-autoscaler", metricPath, true},
		{"a user with the role view in the namespace", "alice", metricPath, true},
		{"a user with the role view in another namespace", "alice", strings.ReplaceAll(metricPath, "team-a", "team-b"),
			false},
		{"a user without rights", "bob", metricPath, false},
	} {
		_, err := k.Kubectl(t.Context(), "get", "--raw", tc.path, "--as", tc.user)
		if (err == nil) != tc.allowed || err != nil && !strings.Contains(err.Error(), "Forbidden") {
			t.Errorf("%s: %v", tc.name, err)
		}
	}
}

func checkAdapterRights(t *testing.T, k *realkube.Cluster) {
	for _, tc := range []struct {
		action string
		want   string
	}{
		{"list nodesets.slinky.slurm.net --all-namespaces", "yes"},
		{"watch horizontalpodautoscalers.autoscaling --all-namespaces", "yes"},
		{"get secrets/token --namespace team-a", "yes"},
		{"get configmaps/ca --namespace team-a", "yes"},
		{"get secrets/token --namespace team-b", "no"},
		{"list secrets --namespace team-a", "no"},
		{"watch secrets --namespace team-a", "no"},
		{"update secrets/test-slurm-metrics-certificate --namespace slurm", "yes"},
		{"get secrets/another --namespace slurm", "no"},
		{"create secrets --namespace slurm", "no"},
		{"patch apiservices.apiregistration.k8s.io/v1beta1.custom.metrics.k8s.io", "yes"},
		{"patch apiservices.apiregistration.k8s.io/v1beta1.metrics.k8s.io", "no"},
		{"patch nodesets.slinky.slurm.net --subresource=scale --namespace team-a", "no"},
		{"create pods --namespace slurm", "no"},
		{"create subjectaccessreviews.authorization.k8s.io", "yes"},
	} {
		// kubectl fails if the answer is no.
		out, _ := k.Kubectl(t.Context(), append([]string{"auth", "can-i", "--as", adapterAccount},
			strings.Fields(tc.action)...)...)
		if got := strings.TrimSpace(out); got != tc.want {
			t.Errorf("can-i %s: %q, want %q", tc.action, got, tc.want)
		}
	}
}

func checkUpgradeKeepsCertificate(t *testing.T, k *realkube.Cluster, set string) {
	kept := func() string {
		return mustRun(t)(k.Kubectl(t.Context(), "get", "secret/test-slurm-metrics-certificate", "--namespace", "slurm",
			"--output", "jsonpath={.data}")) +
			mustRun(t)(k.Kubectl(t.Context(), "get", "apiservices", "v1beta1.custom.metrics.k8s.io",
				"v1beta2.custom.metrics.k8s.io",
				"--output", "jsonpath={.items[*].spec.caBundle}"))
	}
	before := kept()
	if !strings.Contains(before, "tls.crt") {
		t.Fatalf("there is no certificate: %s", before)
	}
	mustRun(t)(k.Helm(t.Context(), "upgrade", "test", chartDir("slurm-metrics"), "--namespace", "slurm",
		"--set", set+",maxAge=90s,commonLabels.team=hpc"))
	if kept() != before {
		t.Error("the upgrade changed the certificate")
	}
}

// awaitSuccess calls check until it returns nil. A failure includes the log file.
func awaitSuccess(t *testing.T, log, what string, check func() error) {
	t.Helper()
	process.Await(t, func() error {
		if err := check(); err != nil {
			return fmt.Errorf("waiting for %s: %w\n%s", what, err, readFile(t, log))
		}
		return nil
	})
}
