//go:build e2e

package migrate

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
	"github.com/slurmtide/slurmtide/test/harness/page"
	"github.com/slurmtide/slurmtide/test/harness/process"
)

const kedaNamespace = "keda"

// zeroAfter is the annotation that the page's way back removes.
const zeroAfter = v1beta1.AnnotationZeroAfter

// testScaledObject replaces the times and the maximum of the page's manifest by the test's values. The test's HPA has a different name than
// KEDA's default.
var testScaledObject = []string{"pollingInterval: 30", "pollingInterval: 1", "cooldownPeriod: 300", "cooldownPeriod: 3",
	"maxReplicaCount: 20", "maxReplicaCount: 6\n  advanced: {horizontalPodAutoscalerConfig: {name: keda-hpa-workers}}"}

// shorterHPA replaces the window and the maximum of HPA manifests by the test's values.
var shorterHPA = []string{"stabilizationWindowSeconds: 120", "stabilizationWindowSeconds: 3", "maxReplicas: 20", "maxReplicas: 6"}

// installKEDA makes a chart of KEDA's manifests, and installs it as the release that the page knows. It returns the chart's folder.
func (e *env) installKEDA(t *testing.T) string {
	t.Helper()
	build := buildFolder(t, "keda")
	certs := filepath.Join(e.dir, "keda-certs")
	api := localAPI{service: "keda-metrics-apiserver", port: process.FreePort(t)}
	api.ca = writeCertificates(t, certs, "localhost", "keda-operator.keda.svc", "keda-metrics-apiserver.keda.svc")
	manifests := e.kubectl(t, "kustomize", filepath.Join(build, "config", "default"))
	chart := filepath.Join(e.dir, "charts", "keda")
	writeChart(t, chart, manifests, api, "Namespace", "ValidatingWebhookConfiguration", "keda-admission-webhooks", "keda-admission")
	e.addKEDA(t, build, certs, api.port)
	_, err := e.Kube.Helm(t.Context(), "install", "keda", chart, "--namespace", kedaNamespace, "--create-namespace")
	must(t, err)
	e.syncPods(t)
	e.awaitAPI(t, "v1beta1.external.metrics.k8s.io")
	return chart
}

// addKEDA adds KEDA's operator and metrics server.
func (e *env) addKEDA(t *testing.T, build, certs string, port int) {
	t.Helper()
	grpc := process.FreePort(t)
	// The proxy gives Prometheus all requests without TLS.
	kedaEnv := func(kubeconfig string) []string {
		return []string{"env", "KUBECONFIG=" + kubeconfig, "POD_NAMESPACE=" + kedaNamespace,
			"KEDA_CLUSTER_OBJECT_NAMESPACE=" + kedaNamespace, "WATCH_NAMESPACE=",
			"http_proxy=" + e.prometheus.url, "HTTP_PROXY=" + e.prometheus.url, "HTTPS_PROXY=", "https_proxy="}
	}
	e.pods["keda-operator"] = &pod{namespace: kedaNamespace, deployment: "keda-operator", account: "keda-operator",
		command: func(kubeconfig string, _ []string) []string {
			return slices.Concat(kedaEnv(kubeconfig), []string{filepath.Join(build, "operator"), "--zap-log-level=info",
				"--cert-dir=" + certs, fmt.Sprintf("--metrics-service-bind-address=127.0.0.1:%d", grpc),
				"--metrics-bind-address=0", "--health-probe-bind-address=127.0.0.1:0"})
		}}
	e.pods["keda-metrics-apiserver"] = &pod{namespace: kedaNamespace, deployment: "keda-metrics-apiserver", account: "keda-operator",
		command: func(kubeconfig string, _ []string) []string {
			return slices.Concat(kedaEnv(kubeconfig), []string{filepath.Join(build, "adapter"),
				"--bind-address=127.0.0.1", fmt.Sprintf("--secure-port=%d", port), "--port=0",
				"--client-ca-file=" + filepath.Join(certs, "ca.crt"), "--tls-cert-file=" + filepath.Join(certs, "tls.crt"),
				"--tls-private-key-file=" + filepath.Join(certs, "tls.key"), "--cert-dir=" + certs,
				"--lister-kubeconfig=" + kubeconfig, "--authentication-kubeconfig=" + kubeconfig,
				"--authorization-kubeconfig=" + kubeconfig,
				fmt.Sprintf("--metrics-service-address=localhost:%d", grpc),
				"--metrics-service-grpc-authority=keda-operator.keda.svc"})
		}}
}

// kedaNotices is how long KEDA may take to use a changed query. KEDA's objects do not show when it does.
const kedaNotices = 15 * time.Second

// TestMigrateFromKEDA runs the page: KEDA beside the adapter, KEDA with our metric, an HPA without KEDA, and back.
func TestMigrateFromKEDA(t *testing.T) {
	e := newEnv(t)
	chart := e.installKEDA(t)
	e.addSlurmMetrics(t)
	p := page.Open(t, e.Kube, "docs/migrate-from-keda.md", page.StandIn{
		Text: "helm upgrade --install keda keda --repo https://kedacore.github.io/charts", With: "helm upgrade --install keda " + chart,
		Why: "the charts are on the internet"})
	must(t, e.Kube.Apply(t.Context(), page.ReplaceAll(t, p.Manifests[0], testScaledObject...)))
	e.requireJobsAreCounted(t) // before

	p.Next(t, "go install")
	p.Next(t, "helm upgrade --install slurm-metrics")
	e.syncPods(t)
	small := e.submit(t, 2)
	e.awaitReplicas(t, 2) // KEDA counts jobs
	e.awaitRunning(t, 2)
	e.awaitRequired(t, 1)
	if out := p.Next(t, "get --raw"); !strings.Contains(out, `"slurm_nodeset_required_nodes"`) {
		t.Error("the page's command does not show the metric")
	}
	e.cancel(t, small)
	e.awaitReplicas(t, 0)

	p.Next(t, "serviceMonitor.enabled=true")
	e.syncPods(t)
	e.prometheus.await(t, `max(slurm_nodeset_required_nodes{namespace="slurm", nodeset="gpu"})`, "0")
	p.Next(t, "kubectl patch scaledobject")
	time.Sleep(kedaNotices)
	e.requireNodesAreCounted(t) // with KEDA
	p.Next(t, "kubectl apply --filename gpu-jobs.yaml")
	time.Sleep(kedaNotices)
	e.requireJobsAreCounted(t)

	p.Next(t, "cp docs/examples/hpa/required-nodes.yaml")
	p.Edit(t, "gpu-hpa.yaml", shorterHPA...)
	jobs := e.submit(t, 2, "--exclusive")
	e.awaitReplicas(t, 2)
	e.awaitRunning(t, 2)
	e.watch.require(2)
	p.Next(t, "--filename gpu-hpa.yaml --dry-run=server")
	p.Next(t, "kubectl delete scaledobject gpu")
	if hpas := e.kubectl(t, "get", "hpa", "--namespace", namespace, "--output=name"); hpas != "" {
		t.Errorf("the page's command does not wait for the end of KEDA's HPA: %s", hpas)
	}
	p.Next(t, "kubectl scale nodeset gpu")
	e.requireHPAHolds(t, 2)
	if out := p.Next(t, "kubectl get hpa"); strings.Contains(out, "keda-hpa-") {
		t.Error("KEDA's HPA is still there")
	}
	e.watch.require(0)
	e.cancel(t, jobs)
	e.awaitReplicas(t, 0)
	e.requireNodesAreCounted(t) // with the HPA

	jobs = e.submit(t, 2, "--exclusive")
	e.awaitReplicas(t, 2)
	e.awaitRunning(t, 2)
	e.watch.require(2)
	remove := p.Next(t, "helm uninstall keda")
	if strings.Contains(remove, "gpu") {
		t.Error("a ScaledObject is left")
	}
	e.syncPods(t)
	p.Next(t, "helm upgrade --install keda") // the way back
	e.syncPods(t)
	e.awaitAPI(t, "v1beta1.external.metrics.k8s.io")
	e.kubectl(t, "annotate", "nodeset", nodeSet, "--namespace", namespace, zeroAfter+"=10m")
	p.Next(t, "kubectl delete hpa gpu")
	annotations := e.kubectl(t, "get", "nodeset", nodeSet, "--namespace", namespace, "--output=jsonpath={.metadata.annotations}")
	if strings.Contains(annotations, zeroAfter) {
		t.Errorf("the NodeSet still has the annotation: %s", annotations)
	}
	e.awaitKEDA(t)
	third := e.submit(t, 1, "--exclusive")
	e.awaitReplicas(t, 3)
	e.watch.require(0)
	e.cancel(t, append(jobs, third...))
	e.awaitReplicas(t, 0)
	e.requireJobsAreCounted(t) // as before

	t.Run("a NodeSet at zero", func(t *testing.T) {
		p.Run(t, p.Find(t, "kubectl delete scaledobject gpu"))
		p.Run(t, p.Find(t, "kubectl scale nodeset gpu"))
		e.awaitReplicas(t, 0) // the HPA has taken it there itself
		e.requireNodesAreCounted(t)
		p.Run(t, p.Find(t, "kubectl delete hpa gpu"))
		e.awaitKEDA(t)
		e.requireJobsAreCounted(t)
	})
	t.Run("a NodeSet at zero sleeps if it is not scaled to one", func(t *testing.T) {
		p.Run(t, p.Find(t, "kubectl delete scaledobject gpu"))
		e.kubectl(t, "apply", "--namespace", namespace, "--filename", filepath.Join(p.Folder, "gpu-hpa.yaml"))
		job := e.submit(t, 1)
		e.awaitRequired(t, 1)
		must(t, e.RequireStableReplicas(t.Context(), 0, 5*time.Second))
		e.cancel(t, job)
		p.Run(t, p.Find(t, "kubectl delete hpa gpu"))
	})
	p.Next(t, "helm uninstall slurm-metrics")
	e.syncPods(t)
	e.awaitKEDA(t)
	e.requireJobsAreCounted(t) // without us
	p.End(t)
}

// requireJobsAreCounted requires that a NodeSet at zero gets two workers for two small jobs, and goes to zero after them.
func (e *env) requireJobsAreCounted(t *testing.T) {
	t.Helper()
	e.awaitReplicas(t, 0)
	jobs := e.submit(t, 2)
	e.awaitReplicas(t, 2)
	e.awaitRunning(t, 2)
	e.cancel(t, jobs)
	e.awaitReplicas(t, 0)
}

// requireNodesAreCounted requires that a NodeSet at zero gets one worker for two small jobs, another one for a
// whole node, and goes to zero after them.
func (e *env) requireNodesAreCounted(t *testing.T) {
	t.Helper()
	e.awaitReplicas(t, 0)
	jobs := e.submit(t, 2)
	e.awaitReplicas(t, 1)
	e.awaitRunning(t, 2)
	e.watch.require(1)
	must(t, e.RequireStableReplicas(t.Context(), 1, 5*time.Second))
	whole := e.submit(t, 1, "--exclusive")
	e.awaitReplicas(t, 2)
	e.awaitRunning(t, 3)
	e.watch.require(0)
	e.cancel(t, append(jobs, whole...))
	e.awaitReplicas(t, 0)
}

// requireHPAHolds requires that the HPA gpu computes the number of workers, and keeps it.
func (e *env) requireHPAHolds(t *testing.T, workers int) {
	t.Helper()
	process.Await(t, func() error {
		conditions, err := e.HPAConditions(t.Context())
		if err == nil && !strings.HasPrefix(conditions["ScalingActive"], "True") {
			err = fmt.Errorf("the HPA is not active: %v", conditions)
		}
		return err
	})
	must(t, e.RequireStableReplicas(t.Context(), workers, 5*time.Second))
}

// awaitRequired waits until the adapter requires a number of workers.
func (e *env) awaitRequired(t *testing.T, want float64) {
	t.Helper()
	process.Await(t, func() error {
		m, err := e.Metric(t.Context(), "slurm_nodeset_required_nodes", "")
		if err == nil && m.Value != want {
			err = fmt.Errorf("required nodes are %v, want %v", m.Value, want)
		}
		return err
	})
}

// awaitKEDA waits until KEDA scales the NodeSet.
func (e *env) awaitKEDA(t *testing.T) {
	t.Helper()
	process.Await(t, func() error {
		ready, err := e.Kube.Kubectl(t.Context(), "get", "scaledobject", nodeSet, "--namespace", namespace,
			`--output=jsonpath={.status.conditions[?(@.type=="Ready")].status}`)
		if err == nil && ready != "True" {
			err = fmt.Errorf("the ScaledObject's condition Ready is %q", ready)
		}
		return err
	})
}
