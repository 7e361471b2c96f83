//go:build e2e

package migrate

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/slurmtide/slurmtide/test/harness/page"
	"github.com/slurmtide/slurmtide/test/harness/process"
)

const monitoring = "monitoring"

// customMetrics is the APIService that the chart of prometheus-adapter makes for custom rules. The manifests of its module have only
// the one of metrics.k8s.io.
const customMetrics = `
---
apiVersion: apiregistration.k8s.io/v1
kind: APIService
metadata: {name: v1beta1.custom.metrics.k8s.io}
spec:
  group: custom.metrics.k8s.io
  version: v1beta1
  groupPriorityMinimum: 100
  versionPriority: 100
  insecureSkipTLSVerify: true
  service: {name: prometheus-adapter, namespace: monitoring}
`

// adapterConfig returns the configuration that the chart of prometheus-adapter makes of its values.
func adapterConfig(t *testing.T, values string) []byte {
	t.Helper()
	var in struct {
		Rules struct{ Custom []any }
	}
	must(t, yaml.Unmarshal([]byte(values), &in))
	if len(in.Rules.Custom) != 1 {
		t.Fatalf("the page's values have %d rules, want 1:\n%s", len(in.Rules.Custom), values)
	}
	out, err := yaml.Marshal(map[string]any{"rules": in.Rules.Custom})
	must(t, err)
	return out
}

// installPrometheusAdapter makes a chart of prometheus-adapter's manifests, and installs it as the release that the page knows. It
// returns the chart's folder.
func (e *env) installPrometheusAdapter(t *testing.T, values string) string {
	t.Helper()
	build := buildFolder(t, "prometheus-adapter")
	files, err := filepath.Glob(filepath.Join(build, "manifests", "*.yaml"))
	must(t, err)
	manifests := ""
	for _, file := range files {
		text, err := os.ReadFile(file)
		must(t, err)
		manifests += "\n---\n" + string(text)
	}
	port := process.FreePort(t)
	chart := filepath.Join(e.dir, "charts", "prometheus-adapter")
	writeChart(t, chart, strings.TrimSpace(manifests)+customMetrics, localAPI{service: "prometheus-adapter", port: port},
		"v1beta1.metrics.k8s.io")
	config := filepath.Join(e.dir, "prometheus-adapter.yaml")
	must(t, os.WriteFile(config, adapterConfig(t, values), 0o600))
	e.pods["prometheus-adapter"] = &pod{namespace: monitoring, deployment: "prometheus-adapter", account: "prometheus-adapter",
		command: func(kubeconfig string, _ []string) []string {
			return []string{"env", "HTTP_PROXY=" + e.prometheus.url, "http_proxy=" + e.prometheus.url, filepath.Join(build, "adapter"),
				"--prometheus-url=http://prometheus.monitoring.svc:9090/", "--config=" + config, "--metrics-relist-interval=2s",
				"--metrics-max-age=1m", "--bind-address=127.0.0.1", fmt.Sprintf("--secure-port=%d", port),
				"--cert-dir=" + filepath.Join(e.dir, "serving-cert"), "--lister-kubeconfig=" + kubeconfig,
				"--authentication-kubeconfig=" + kubeconfig, "--authorization-kubeconfig=" + kubeconfig}
		}}
	_, err = e.Kube.Helm(t.Context(), "install", "prometheus-adapter", chart, "--namespace", monitoring, "--create-namespace")
	must(t, err)
	e.syncPods(t)
	e.awaitAPI(t, "v1beta1.custom.metrics.k8s.io")
	return chart
}

// shorterOldHPA is shorterHPA for the HPA that the page begins with.
var shorterOldHPA = []string{"stabilizationWindowSeconds: 300", "stabilizationWindowSeconds: 3", "maxReplicas: 20", "maxReplicas: 6"}

// TestMigrateFromPrometheusAdapter runs the page: external metrics beside prometheus-adapter, its replacement, and back.
func TestMigrateFromPrometheusAdapter(t *testing.T) {
	e := newEnv(t)
	p := page.Open(t, e.Kube, "docs/migrate-from-prometheus-adapter.md")
	chart := e.installPrometheusAdapter(t, p.Manifests[0])
	e.addSlurmMetrics(t)
	p.StandIns = []page.StandIn{{
		Text: "helm upgrade --install prometheus-adapter prometheus-adapter --repo https://prometheus-community.github.io/helm-charts",
		With: "helm upgrade --install prometheus-adapter " + chart,
		Why:  "the charts are on the internet",
	}}
	must(t, os.WriteFile(filepath.Join(p.Folder, "prometheus-adapter.values.yaml"), []byte(p.Manifests[0]), 0o600))
	must(t, e.Kube.Apply(t.Context(), page.ReplaceAll(t, p.Manifests[1], shorterOldHPA...)))
	e.requireJobsAreCounted(t) // before

	if out := p.Next(t, "kubectl get apiservices"); !strings.Contains(out, "v1beta1.custom.metrics.k8s.io") {
		t.Error("the page's command does not show who serves custom metrics")
	}
	p.Next(t, "go install")
	p.Next(t, "cp docs/examples/hpa/required-nodes-external.yaml")
	p.Edit(t, "gpu-external.yaml", shorterHPA...)
	p.Edit(t, "gpu-hpa.yaml", shorterHPA...)

	p.Next(t, "--set externalMetrics.enabled=true") // beside it
	e.syncPods(t)
	jobs := e.submit(t, 2, "--exclusive")
	e.awaitReplicas(t, 2)
	e.awaitRunning(t, 2)
	e.watch.require(2)
	out := p.Next(t, "get --raw")
	if strings.Count(out, `"value":"2"`) != 2 {
		t.Errorf("both adapters do not say that two workers are required:\n%s", out)
	}
	p.Next(t, "--filename gpu-external.yaml")
	e.requireHPAHolds(t, 2)
	e.watch.require(0)
	e.cancel(t, jobs)
	e.requireNodesAreCounted(t)
	p.Next(t, "--filename gpu-jobs.yaml")
	e.requireJobsAreCounted(t)

	jobs = e.submit(t, 2, "--exclusive")
	e.awaitReplicas(t, 2)
	e.awaitRunning(t, 2)
	e.watch.require(2)
	if out := p.Next(t, "--filename gpu-external.yaml"); !strings.Contains(out, "External") {
		t.Errorf("the page's command does not show the type of the metric:\n%s", out)
	}
	e.requireHPAHolds(t, 2)
	p.Next(t, "helm uninstall prometheus-adapter")
	e.syncPods(t)
	e.awaitRequired(t, 2)
	p.Next(t, "--filename gpu-hpa.yaml")
	e.requireHPAHolds(t, 2)
	p.Next(t, "externalMetrics.enabled=false")
	e.syncPods(t)
	e.requireHPAHolds(t, 2)
	e.watch.require(0)
	e.cancel(t, jobs)
	e.requireNodesAreCounted(t)

	jobs = e.submit(t, 2, "--exclusive")
	e.awaitReplicas(t, 2)
	e.awaitRunning(t, 2)
	e.watch.require(2)
	p.Next(t, "externalMetrics.enabled=true") // the way back
	e.syncPods(t)
	p.Next(t, "--filename gpu-external.yaml")
	e.requireHPAHolds(t, 2)
	p.Next(t, "customMetrics.enabled=false")
	e.syncPods(t)
	p.Next(t, "helm upgrade --install prometheus-adapter")
	e.syncPods(t)
	e.awaitAPI(t, "v1beta1.custom.metrics.k8s.io")
	e.requireHPAHolds(t, 2)
	p.Next(t, "helm uninstall slurm-metrics")
	e.syncPods(t)
	e.requireHPAHolds(t, 2)
	e.watch.require(0)
	e.cancel(t, jobs)
	e.requireJobsAreCounted(t) // as before
	p.End(t)
}
