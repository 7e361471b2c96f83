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

// TestChartsOnKubernetes installs, upgrades and removes the charts on a real API
// server whose namespace takes restricted pods only. There is no kubelet: that pods
// are made is enough.
func TestChartsOnKubernetes(t *testing.T) {
	k := startKube(t)
	for _, name := range names() {
		t.Run(name, func(t *testing.T) {
			values := cases(t, name)
			for _, title := range sorted(values) {
				validate(t, k, name, values[title])
			}
			notes := must(t)(k.Helm(t.Context(), "install", "test", chart(name), "--namespace", "slurm", "--values", values["minimal"]))
			golden(t, "testdata/"+name+"/minimal.notes.txt", notesOf(notes))
			awaitPods(t, k, name)
			must(t)(k.Helm(t.Context(), "upgrade", "test", chart(name), "--namespace", "slurm", "--values", values["full"], "--set", "serviceMonitor.enabled=false"))
			must(t)(k.Helm(t.Context(), "upgrade", "test", chart(name), "--namespace", "slurm", "--values", values["minimal"]))
			must(t)(k.Helm(t.Context(), "uninstall", "test", "--namespace", "slurm", "--wait"))
			if left := labelled(t, k); left != "" {
				t.Errorf("this is left after an uninstall:\n%s", left)
			}
		})
	}
}

// TestTheCertificateOfCertManager has the API server look at the Certificate by
// cert-manager's own definition.
func TestTheCertificateOfCertManager(t *testing.T) {
	out, err := exec.Command("go", "mod", "download", "-json", "github.com/cert-manager/cert-manager@v1.21.2").Output()
	if err != nil {
		t.Skipf("cert-manager's module is not to be had: %v: %s", err, out)
	}
	var module struct{ Dir string }
	if err := json.Unmarshal(out, &module); err != nil {
		t.Fatal(err)
	}
	k := startKube(t)
	must(t)(k.Kubectl(t.Context(), "create", "--filename", filepath.Join(module.Dir, "deploy/crds/cert-manager.io_certificates.yaml")))
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

// validate has the API server look at everything that is rendered, strictly: an
// unknown field is an error. Kinds that stock Kubernetes does not have are left out.
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
	// Of Helm's objects the fields have another manager.
	if _, err := k.Kubectl(t.Context(), "apply", "--server-side", "--force-conflicts", "--dry-run=server", "--validate=strict", "--filename", file); err != nil {
		t.Errorf("%s: %v", title, err)
	}
}

// awaitPods waits until the Deployment has as many pods as it wants: the API server
// took them.
func awaitPods(t *testing.T, k *realkube.Cluster, name string) {
	t.Helper()
	get := func(kind, path string) string {
		return must(t)(k.Kubectl(t.Context(), "get", kind, "--namespace", "slurm", "--selector", "app.kubernetes.io/name="+name, "--output", "jsonpath="+path))
	}
	for range 300 {
		if pods := strings.Fields(get("pods", "{.items[*].metadata.name}")); fmt.Sprint(len(pods)) == get("deployments", "{.items[0].spec.replicas}") {
			return
		}
		time.Sleep(100 * time.Millisecond)
	}
	t.Errorf("the pods of %s are not made: %s", name, get("replicasets", "{.items[0].status.conditions}"))
}

// labelled lists what carries the label of the release, wherever it is. What the
// controllers have yet to remove is not the chart's.
func labelled(t *testing.T, k *realkube.Cluster) string {
	t.Helper()
	return must(t)(k.Kubectl(t.Context(), "get", "deployments,services,serviceaccounts,secrets,networkpolicies,poddisruptionbudgets,"+
		"roles,rolebindings,clusterroles,clusterrolebindings,apiservices,validatingwebhookconfigurations",
		"--all-namespaces", "--selector", "app.kubernetes.io/instance=test", "--output", "name"))
}

// notesOf is what helm install prints for people.
func notesOf(text string) string {
	_, notes, _ := strings.Cut(text, "NOTES:\n")
	return notes
}

// must returns a function that returns the text, or ends the test.
func must(t *testing.T) func(string, error) string {
	return func(text string, err error) string {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
}
