//go:build e2e

package charts

import (
	"encoding/json"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/slurmtide/slurmtide/test/realkube"
)

// TestChartsOnKubernetes installs, upgrades and removes the charts on a real API server whose
// namespace admits only restricted pods. There is no kubelet, so the test ends when the pods exist.
func TestChartsOnKubernetes(t *testing.T) {
	k := startKube(t)
	for _, name := range names() {
		t.Run(name, func(t *testing.T) {
			values := cases(t, name)
			for _, title := range sortedKeys(values) {
				validate(t, k, name, values[title])
			}
			notes := must(t)(k.Helm(t.Context(), "install", "test", chart(name), "--namespace", "slurm",
				"--values", values["minimal"]))
			golden(t, "testdata/"+name+"/minimal.notes.txt", notesOf(notes))
			awaitPods(t, k, name)
			must(t)(k.Helm(t.Context(), "upgrade", "test", chart(name), "--namespace", "slurm",
				"--values", values["full"], "--set", "serviceMonitor.enabled=false"))
			must(t)(k.Helm(t.Context(), "upgrade", "test", chart(name), "--namespace", "slurm", "--values", values["minimal"]))
			must(t)(k.Helm(t.Context(), "uninstall", "test", "--namespace", "slurm", "--wait"))
			if left := labelled(t, k); left != "" {
				t.Errorf("objects left after an uninstall:\n%s", left)
			}
		})
	}
}

// TestTheCertificateOfCertManager has the API server validate the Certificate with cert-manager's
// own definition.
func TestTheCertificateOfCertManager(t *testing.T) {
	out, err := exec.Command("go", "mod", "download", "-json", "github.com/cert-manager/cert-manager@v1.21.2").Output()
	if err != nil {
		t.Skipf("cert-manager's module is unavailable: %v: %s", err, out)
	}
	var module struct{ Dir string }
	if err := json.Unmarshal(out, &module); err != nil {
		t.Fatal(err)
	}
	k := startKube(t)
	must(t)(k.Kubectl(t.Context(), "create",
		"--filename", filepath.Join(module.Dir, "deploy/crds/cert-manager.io_certificates.yaml")))
	if err := k.Established(t.Context(), "certificates.cert-manager.io"); err != nil {
		t.Fatal(err)
	}
	values := cases(t, "slurm-metrics")["cert-manager"]
	must(t)(k.Helm(t.Context(), "install", "test", chart("slurm-metrics"), "--namespace", "slurm"))
	must(t)(k.Helm(t.Context(), "upgrade", "test", chart("slurm-metrics"), "--namespace", "slurm", "--values", values))
	text, err := render(t, "slurm-metrics", "--values", values, "--show-only", "templates/certificate.yaml")
	if err != nil {
		t.Fatal(err)
	}
	strictly(t, k, values, text)
	must(t)(k.Helm(t.Context(), "upgrade", "test", chart("slurm-metrics"), "--namespace", "slurm"))
}

func startKube(t *testing.T, apiServerArgs ...string) *realkube.Cluster {
	t.Helper()
	if missing := realkube.Missing(); missing != "" {
		t.Skip(missing)
	}
	k, err := realkube.Start(t.Context(), realkube.Config{Name: "charts", APIServerArgs: apiServerArgs})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := k.Close(); err != nil {
			t.Error(err)
		}
	})
	if err := k.Apply(t.Context(), `
apiVersion: v1
kind: Namespace
metadata:
  name: slurm
  labels: {pod-security.kubernetes.io/enforce: restricted}
---
apiVersion: v1
kind: Namespace
metadata: {name: team-a}
---
apiVersion: v1
kind: Namespace
metadata: {name: team-b}
`); err != nil {
		t.Fatal(err)
	}
	return k
}

// validateChart has the API server validate all rendered objects strictly: an unknown field is an
// error. It omits kinds that stock Kubernetes lacks.
func validate(t *testing.T, k *realkube.Cluster, name, values string) {
	t.Helper()
	text, err := render(t, name, "--values", values)
	if err != nil {
		t.Fatal(err)
	}
	documents := slices.DeleteFunc(strings.Split(text, "\n---\n"), foreign)
	strictly(t, k, values, strings.Join(documents, "\n---\n"))
}

func strictly(t *testing.T, k *realkube.Cluster, title, text string) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "objects.yaml")
	write(t, file, text)
	// Helm already owns the fields of its objects.
	if _, err := k.Kubectl(t.Context(), "apply", "--server-side", "--force-conflicts",
		"--dry-run=server", "--validate=strict", "--filename", file); err != nil {
		t.Errorf("%s: %v", title, err)
	}
}

// awaitPods waits until the Deployment has all its pods, which shows that the API server admitted
// them.
func awaitPods(t *testing.T, k *realkube.Cluster, name string) {
	t.Helper()
	get := func(kind, path string) string {
		return must(t)(k.Kubectl(t.Context(), "get", kind, "--namespace", "slurm",
			"--selector", "app.kubernetes.io/name="+name, "--output", "jsonpath="+path))
	}
	for range 300 {
		if pods := strings.Fields(get("pods", "{.items[*].metadata.name}")); fmt.Sprint(len(pods)) == get("deployments", "{.items[0].spec.replicas}") {
			return
		}
		time.Sleep(100 * time.Millisecond)
	}
	t.Errorf("the pods of %s were not created: %s", name, get("replicasets", "{.items[0].status.conditions}"))
}

// labelledObjects lists the objects with the label of the release in all namespaces. It ignores
// what controllers created from them.
func labelled(t *testing.T, k *realkube.Cluster) string {
	t.Helper()
	return must(t)(k.Kubectl(t.Context(), "get", "deployments,services,serviceaccounts,secrets,networkpolicies,poddisruptionbudgets,"+
		"roles,rolebindings,clusterroles,clusterrolebindings,apiservices,validatingwebhookconfigurations",
		"--all-namespaces", "--selector", "app.kubernetes.io/instance=test", "--output", "name"))
}

// notesOf returns the notes in the output of helm install.
func notesOf(text string) string {
	_, notes, _ := strings.Cut(text, "NOTES:\n")
	return notes
}

// mustRun returns a function that returns the text, or fails the test.
func must(t *testing.T) func(string, error) string {
	return func(text string, err error) string {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
}
