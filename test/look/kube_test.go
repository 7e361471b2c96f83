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

	"github.com/slurmtide/slurmtide/test/loop"
)

// kubeStateMetrics is a real kube-state-metrics to run beside the loop, instead of what
// one of them said, which is kept in testdata.
var kubeStateMetrics = flag.String("kube-state-metrics", "", "program to run, and to keep in testdata what it says, instead of serving that")

// other is the namespace of the operator that keeps workers. Its NodeSet has no kubelet,
// so its pods never run.
const other = "batch"

const otherObjects = `
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

// scaleIn has the operator let its workers go.
func (s *stage) scaleIn(t *testing.T) {
	t.Helper()
	if _, err := s.loop.Kube.Kubectl(t.Context(), "scale", "nodeset", "nightly", "-n", other, "--replicas=0"); err != nil {
		t.Fatal(err)
	}
}

// startOperator starts slurm-operator for a NodeSet of its own and returns, when it has
// made the workers, where its metrics are.
func (s *stage) startOperator(t *testing.T, dir string) string {
	t.Helper()
	kube := s.loop.Kube
	kubectl := func(args ...string) string {
		out, err := kube.Kubectl(t.Context(), args...)
		if err != nil {
			t.Fatal(err)
		}
		return strings.TrimSpace(out)
	}
	kubectl("create", "namespace", other)
	token := kubectl("get", "secret", "token", "-n", loop.Namespace, "-o", "jsonpath={.data.SLURM_JWT}")
	manifest := fmt.Sprintf(otherObjects, other, token, s.loop.Slurm.URL)
	if err := kube.Apply(t.Context(), manifest); err != nil {
		t.Fatal(err)
	}
	address := freeAddress(t)
	launch(t, build(t, dir, "slurm-operator"), "--kube.config="+kube.Kubeconfig(), "--namespaces="+other, "--reconcilers=nodeset,cluster",
		"--no-webhook", "--no-leader-election", "--health.listen-address=0", "--no-metrics.secure", "--metrics.listen-address="+address)
	await(t, func() error { return answers("http://" + address + "/metrics") })
	await(t, func() error {
		if pods := kubectl("get", "pods", "-n", other, "-o", "name"); strings.Count(pods, "pod/") != 2 {
			return fmt.Errorf("the operator made %q, and says %s", pods, kubectl("get", "nodeset", "nightly", "-n", other, "-o", "jsonpath={.status}"))
		}
		return nil
	})
	return address
}

// recorded is what a kube-state-metrics said of the HPA of a loop.
var recorded = filepath.Join("testdata", "kube-state-metrics.prom")

// keep writes what a URL answers into a file.
func keep(t *testing.T, url, file string) {
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

// startKubeStateMetrics serves what one of them said of such a loop, or starts one.
func (s *stage) startKubeStateMetrics(t *testing.T) string {
	t.Helper()
	if *kubeStateMetrics != "" {
		address := freeAddress(t)
		_, port, _ := strings.Cut(address, ":")
		_, telemetry, _ := strings.Cut(freeAddress(t), ":")
		launch(t, *kubeStateMetrics, "--kubeconfig="+s.loop.Kube.Kubeconfig(), "--resources=horizontalpodautoscalers",
			"--host=127.0.0.1", "--telemetry-host=127.0.0.1", "--port="+port, "--telemetry-port="+telemetry)
		await(t, func() error { return answers("http://" + address + "/healthz") })
		t.Cleanup(func() { keep(t, "http://"+address+"/metrics", recorded) })
		return address
	}
	text := read(t, recorded)
	return serve(t, func() (string, error) { return text, nil })
}

// serveAPIServer serves the API server's metrics of APIServices, which need a login.
func (s *stage) serveAPIServer(t *testing.T) string {
	t.Helper()
	return serve(t, func() (string, error) {
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

func serve(t *testing.T, text func() (string, error)) string {
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
