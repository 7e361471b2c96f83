//go:build e2e

package charts

import (
	"encoding/json"
	"fmt"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/slurmtide/slurmtide/operator/definitions"
	"github.com/slurmtide/slurmtide/test/harness/process"
	"github.com/slurmtide/slurmtide/test/harness/realkube"
)

// TestChartsOnKubernetes installs, upgrades and removes the charts on a real API server whose
// namespace admits only restricted pods. There is no kubelet, so the test ends when the pods exist.
func TestChartsOnKubernetes(t *testing.T) {
	k := startKube(t)
	for _, name := range programCharts() {
		t.Run(name, func(t *testing.T) {
			values := valuesFiles(t, name)
			for _, title := range sortedKeys(values) {
				validateChart(t, k, name, values[title])
			}
			notes := mustRun(t)(k.Helm(t.Context(), "install", "test", chartDir(name), "--namespace", "slurm",
				"--values", values["minimal"]))
			compareGolden(t, "testdata/"+name+"/minimal.notes.txt", notesOf(notes))
			awaitPods(t, k, name)
			mustRun(t)(k.Helm(t.Context(), "upgrade", "test", chartDir(name), "--namespace", "slurm",
				"--values", values["full"], "--set", "serviceMonitor.enabled=false"))
			mustRun(t)(k.Helm(t.Context(), "upgrade", "test", chartDir(name), "--namespace", "slurm", "--values",
				values["minimal"]))
			mustRun(t)(k.Helm(t.Context(), "uninstall", "test", "--namespace", "slurm", "--wait"))
			if left := labelledObjects(t, k); left != "" {
				t.Errorf("objects left after an uninstall:\n%s", left)
			}
		})
	}
}

// TestTheClusterOnKubernetes installs, upgrades and removes the chart slurm on a real API server without an operator.
func TestTheClusterOnKubernetes(t *testing.T) {
	k := startKube(t)
	takeDefinitionsOver(t, k)
	values := valuesFiles(t, "slurm")
	for _, title := range sortedKeys(values) {
		validateChart(t, k, "slurm", values[title])
	}
	notes := mustRun(t)(k.Helm(t.Context(), "install", "test", chartDir("slurm"), "--namespace", "slurm", "--values",
		values["minimal"]))
	compareGolden(t, "testdata/slurm/minimal.notes.txt", notesOf(notes))
	checkRefusedPods(t, k)
	mustRun(t)(k.Helm(t.Context(), "upgrade", "test", chartDir("slurm"), "--namespace", "slurm", "--values", values["full"],
		"--set", "controller.metrics.serviceMonitor.enabled=false"))
	mustRun(t)(k.Helm(t.Context(), "upgrade", "test", chartDir("slurm"), "--namespace", "slurm", "--values",
		values["minimal"]))
	mustRun(t)(k.Helm(t.Context(), "uninstall", "test", "--namespace", "slurm", "--wait"))
	left := mustRun(t)(k.Kubectl(t.Context(), "get", "controllers.slinky.slurm.net,restapis,accountings,loginsets,nodesets,"+
		"configmaps,secrets,hpa", "--all-namespaces", "--selector", "app.kubernetes.io/instance=test", "--output", "name"))
	if left != "" {
		t.Errorf("objects left after an uninstall:\n%s", left)
	}
}

// checkRefusedPods: the notes name the pods that the namespace's pod security standard refuses.
func checkRefusedPods(t *testing.T, k *realkube.Cluster) {
	t.Helper()
	for values, want := range map[string]string{
		"nodesets.cpu.replicas=1,loginsets.main.replicas=1":                    "refuses the workers of cpu, login pods: ",
		"nodesets.cpu.replicas=1,nodesetDefaults.securityProfile=Unprivileged": "refuses the workers of cpu: ",
		"nodesets.cpu.enabled=false":                                           "",
		"nodesets.cpu.replicas=1,namespaceOverride=default":                    "",
	} {
		notes := notesOf(mustRun(t)(k.Helm(t.Context(), "upgrade", "--install", "notes", chartDir("slurm"), "--namespace", "slurm",
			"--dry-run=server", "--set", values)))
		const warning = "WARNING: namespace slurm enforces the pod security standard restricted, which "
		if has := strings.Contains(notes, warning); has != (want != "") || !strings.Contains(notes, want) {
			t.Errorf("with %s the notes are %s", values, notes)
		}
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
	mustRun(t)(k.Kubectl(t.Context(), "create",
		"--filename", filepath.Join(module.Dir, "deploy/crds/cert-manager.io_certificates.yaml")))
	if err := k.AwaitEstablished(t.Context(), "certificates.cert-manager.io"); err != nil {
		t.Fatal(err)
	}
	values := valuesFiles(t, "slurm-metrics")["cert-manager"]
	mustRun(t)(k.Helm(t.Context(), "install", "test", chartDir("slurm-metrics"), "--namespace", "slurm"))
	mustRun(t)(k.Helm(t.Context(), "upgrade", "test", chartDir("slurm-metrics"), "--namespace", "slurm", "--values",
		values))
	text, err := renderChart(t, "slurm-metrics", "--values", values, "--show-only", "templates/certificate.yaml")
	if err != nil {
		t.Fatal(err)
	}
	applyStrictly(t, k, values, text)
	mustRun(t)(k.Helm(t.Context(), "upgrade", "test", chartDir("slurm-metrics"), "--namespace", "slurm"))
}

// takeDefinitionsOver installs the chart of the definitions over definitions of another release without our revision,
// such as Slinky's. Existing objects are kept, and the definitions can be upgraded from then on.
func takeDefinitionsOver(t *testing.T, k *realkube.Cluster) {
	t.Helper()
	theirs := mustRun(t)(renderChart(t, "slurm-operator-crds"))
	theirs = regexp.MustCompile(`(?m)^    `+regexp.QuoteMeta(definitions.RevisionAnnotation)+`: .*$`).ReplaceAllString(theirs,
		"    meta.helm.sh/release-name: theirs\n    meta.helm.sh/release-namespace: theirs")
	if err := k.Apply(t.Context(), theirs); err != nil {
		t.Fatal(err)
	}
	if err := k.AwaitEstablished(t.Context(), "nodesets.slinky.slurm.net"); err != nil {
		t.Fatal(err)
	}
	if err := k.Apply(t.Context(), `
apiVersion: slinky.slurm.net/v1beta1
kind: NodeSet
metadata: {name: before, namespace: slurm}
spec: {controllerRef: {name: slurm}, replicas: 3, slurmd: {image: slurmd}, template: {}}
`); err != nil {
		t.Fatal(err)
	}
	get := func(args ...string) string {
		return mustRun(t)(k.Kubectl(t.Context(), append([]string{"get", "--namespace", "slurm"}, args...)...))
	}
	before := get("nodeset", "before", "--output=jsonpath={.metadata.uid} {.spec}")
	if _, err := k.Helm(t.Context(), "install", "crds", chartDir("slurm-operator-crds"), "--namespace", "slurm"); err == nil {
		t.Error("Helm installs the definitions over those of another release without being told to")
	}
	mustRun(t)(k.Helm(t.Context(), "install", "crds", chartDir("slurm-operator-crds"), "--namespace", "slurm",
		"--take-ownership"))
	if after := get("nodeset", "before", "--output=jsonpath={.metadata.uid} {.spec}"); after != before {
		t.Errorf("a NodeSet was %s and is %s", before, after)
	}
	escaped := strings.ReplaceAll(definitions.RevisionAnnotation, ".", `\.`)
	if revision := get("crd", "nodesets.slinky.slurm.net", "--output=jsonpath={.metadata.annotations."+escaped+"}"); revision == "" {
		t.Error("the definition has no revision")
	}
	mustRun(t)(k.Kubectl(t.Context(), "delete", "nodeset", "before", "--namespace", "slurm"))
}

func startKube(t *testing.T, apiServerArgs ...string) *realkube.Cluster {
	t.Helper()
	if missing := realkube.MissingRequirement(); missing != "" {
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
---
apiVersion: v1
kind: Namespace
metadata: {name: elsewhere}
`); err != nil {
		t.Fatal(err)
	}
	return k
}

// validateChart has the API server validate all rendered objects strictly: an unknown field is an
// error. It omits kinds that stock Kubernetes lacks.
func validateChart(t *testing.T, k *realkube.Cluster, name, values string) {
	t.Helper()
	text, err := renderChart(t, name, "--values", values)
	if err != nil {
		t.Fatal(err)
	}
	documents := slices.DeleteFunc(strings.Split(text, "\n---\n"), isForeign)
	applyStrictly(t, k, values, strings.Join(documents, "\n---\n"))
}

func applyStrictly(t *testing.T, k *realkube.Cluster, title, text string) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "objects.yaml")
	writeFile(t, file, text)
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
		return mustRun(t)(k.Kubectl(t.Context(), "get", kind, "--namespace", "slurm",
			"--selector", "app.kubernetes.io/name="+name, "--output", "jsonpath="+path))
	}
	process.Await(t, func() error {
		pods := strings.Fields(get("pods", "{.items[*].metadata.name}"))
		if want := get("deployments", "{.items[0].spec.replicas}"); fmt.Sprint(len(pods)) != want {
			return fmt.Errorf("%s has %d pods, not %s: %s", name, len(pods), want,
				get("replicasets", "{.items[0].status.conditions}"))
		}
		return nil
	})
}

// labelledObjects lists the objects with the label of the release in all namespaces. It ignores
// what controllers created from them.
func labelledObjects(t *testing.T, k *realkube.Cluster) string {
	t.Helper()
	return mustRun(t)(k.Kubectl(t.Context(), "get",
		"deployments,services,serviceaccounts,secrets,networkpolicies,poddisruptionbudgets,"+
			"roles,rolebindings,clusterroles,clusterrolebindings,apiservices,validatingwebhookconfigurations",
		"--all-namespaces", "--selector", "app.kubernetes.io/instance=test", "--output", "name"))
}

// notesOf returns the notes in the output of helm install.
func notesOf(text string) string {
	_, notes, _ := strings.Cut(text, "NOTES:\n")
	return notes
}

// mustRun returns a function that returns the text, or fails the test.
func mustRun(t *testing.T) func(string, error) string {
	return func(text string, err error) string {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
}
