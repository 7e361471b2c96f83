//go:build e2e

package look

import (
	"context"
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/slurmtide/slurmtide/test/e2e/hpa/loop"
	"github.com/slurmtide/slurmtide/test/harness/process"
)

// kubeStateMetrics is the path of a kube-state-metrics to run beside the loop. Without it the tests
// serve the recorded metrics of testdata.
var kubeStateMetrics = flag.String("kube-state-metrics", "",
	"program to run, whose metrics are recorded in testdata, instead of serving the recorded ones")

// operatorNamespace is the namespace of the NodeSet that the operator reconciles. No kubelet runs
// its pods.
const operatorNamespace = "batch"

const operatorObjects = `
apiVersion: v1
kind: Secret
metadata: {name: token, namespace: %[1]s}
data: {SLURM_JWT: %[2]s, slurm.key: %[2]s}
---
apiVersion: slinky.slurm.net/v1beta1
kind: Cluster
metadata: {name: real, namespace: %[1]s}
spec:
  server: %[3]s
  token: {secretRef: {name: token, key: SLURM_JWT}}
  slurmctld: {host: slurmctld.example}
  slurmKeyRef: {name: token, key: slurm.key}
---
apiVersion: slinky.slurm.net/v1beta1
kind: NodeSet
metadata: {name: nightly, namespace: %[1]s}
spec:
  clusterRef: {name: real}
  replicas: 2
  slurmd: {image: none}
  template: {}
`

// scaleToZero scales the operator's NodeSet to zero.
func (s *env) scaleToZero(t *testing.T) {
	t.Helper()
	if _, err := s.loop.Kube.Kubectl(t.Context(), "scale", "nodeset", "nightly", "-n", operatorNamespace,
		"--replicas=0"); err != nil {
		t.Fatal(err)
	}
}

// startOperator starts slurm-operator for its own NodeSet, waits until it has created the workers, and returns the
// address of its metrics.
func (s *env) startOperator(t *testing.T, dir string) string {
	t.Helper()
	kube := s.loop.Kube
	kubectl := func(args ...string) string {
		out, err := kube.Kubectl(t.Context(), args...)
		if err != nil {
			t.Fatal(err)
		}
		return strings.TrimSpace(out)
	}
	kubectl("create", "namespace", operatorNamespace)
	token := kubectl("get", "secret", "token", "-n", loop.Namespace, "-o", "jsonpath={.data.SLURM_JWT}")
	manifest := fmt.Sprintf(operatorObjects, operatorNamespace, token, s.loop.Slurm.URL)
	if err := kube.Apply(t.Context(), manifest); err != nil {
		t.Fatal(err)
	}
	address := process.FreeAddress(t)
	process.Start(t, buildProgram(t, dir, "slurm-operator"), "--kube.config="+kube.Kubeconfig(),
		"--namespaces="+operatorNamespace,
		"--reconcilers=nodeset,cluster", "--no-webhook", "--no-leader-election", "--health.listen-address=0",
		"--no-metrics.secure", "--metrics.listen-address="+address)
	process.Await(t, func() error { return process.CheckOK("http://" + address + "/metrics") })
	process.Await(t, func() error {
		if pods := kubectl("get", "pods", "-n", operatorNamespace, "-o", "name"); strings.Count(pods, "pod/") != 2 {
			return fmt.Errorf("the operator created %q; the status is %s", pods,
				kubectl("get", "nodeset", "nightly", "-n", operatorNamespace, "-o", "jsonpath={.status}"))
		}
		return nil
	})
	return address
}

// recordedMetrics contains the metrics of a kube-state-metrics about the HPA of a loop.
var recordedMetrics = filepath.Join("testdata", "kube-state-metrics.prom")

// saveResponse writes the response body of a URL to a file.
func saveResponse(t *testing.T, url, file string) {
	r, err := http.Get(url)
	if err != nil {
		t.Error(err)
		return
	}
	defer r.Body.Close()
	text, err := io.ReadAll(r.Body)
	if err != nil || len(text) == 0 {
		t.Errorf("reading %s: %v", url, err)
		return
	}
	if err := os.WriteFile(file, text, 0o644); err != nil {
		t.Error(err)
	}
}

// startKubeStateMetrics serves the recorded metrics, or starts kube-state-metrics, and returns the
// address.
func (s *env) startKubeStateMetrics(t *testing.T) string {
	t.Helper()
	if *kubeStateMetrics != "" {
		address := process.FreeAddress(t)
		_, port, _ := strings.Cut(address, ":")
		_, telemetry, _ := strings.Cut(process.FreeAddress(t), ":")
		process.Start(t, *kubeStateMetrics, "--kubeconfig="+s.loop.Kube.Kubeconfig(),
			"--resources=horizontalpodautoscalers",
			"--host=127.0.0.1", "--telemetry-host=127.0.0.1", "--port="+port, "--telemetry-port="+telemetry)
		process.Await(t, func() error { return process.CheckOK("http://" + address + "/healthz") })
		t.Cleanup(func() { saveResponse(t, "http://"+address+"/metrics", recordedMetrics) })
		return address
	}
	text := readFile(t, recordedMetrics)
	return serveMetrics(t, func() (string, error) { return text, nil })
}

// serveAPIServer serves the metrics of APIServices, which the API server itself serves only to
// authenticated clients.
func (s *env) serveAPIServer(t *testing.T) string {
	t.Helper()
	return serveMetrics(t, func() (string, error) {
		text, err := s.loop.Kube.Kubectl(context.WithoutCancel(t.Context()), "get", "--raw", "/metrics")
		var out strings.Builder
		for line := range strings.Lines(text) {
			if strings.HasPrefix(line, "aggregator_unavailable_apiservice{") {
				out.WriteString(line)
			}
		}
		return out.String(), err
	})
}

func serveMetrics(t *testing.T, text func() (string, error)) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		out, err := text()
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		w.Header().Set("Content-Type", "text/plain; version=0.0.4")
		fmt.Fprint(w, out)
	}))
	t.Cleanup(server.Close)
	return strings.TrimPrefix(server.URL, "http://")
}
