//go:build e2e

package charts

import (
	"encoding/json"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/yaml"

	"github.com/slurmtide/slurmtide/test/harness/realkube"
)

// TestFluxInstallsTheCharts gives the objects of slurm-flux to a real API server with Flux's definitions. From there it installs the charts
// in a second one, in the order of dependsOn. Flux's controllers cannot run here, so the test uses Helm as helm-controller would.
func TestFluxInstallsTheCharts(t *testing.T) {
	management, tenant := startKube(t), startKube(t)
	createDefinitionsOfFlux(t, management)
	values := valuesFiles(t, "slurm-flux")
	mustRun(t)(management.Kubectl(t.Context(), "create", "namespace", "flux-system"))
	for _, title := range sortedKeys(values) {
		applyStrictly(t, management, title, mustRun(t)(renderChart(t, "slurm-flux", "--values", values[title])))
	}
	notes := mustRun(t)(management.Helm(t.Context(), "install", "test", chartDir("slurm-flux"), "--namespace", "flux-system",
		"--values", values["tenant"]))
	compareGolden(t, "testdata/slurm-flux/tenant.notes.txt", notesOf(notes))
	compareStored(t, management, documentsOfFlux(t, values["tenant"]))
	createKubeconfigSecret(t, management, tenant)
	admitOnlyRestrictedPods(t, tenant, "slurm-system", "hpc")

	releases := orderByDependencies(t, readHelmReleases(t, management))
	for _, release := range releases {
		checkPrerequisites(t, tenant, release)
		installRelease(t, management, release)
	}
	checkInstalled(t, tenant)
	if ours := mustRun(t)(management.Kubectl(t.Context(), "get", "crd", "--output", "name")); strings.Contains(ours, "slinky") {
		t.Errorf("the management cluster has definitions that are for the tenant:\n%s", ours)
	}
	checkRemovalWaits(t, tenant)
}

// createDefinitionsOfFlux generates the definitions from Flux's types with controller-gen, and creates them in the API server.
func createDefinitionsOfFlux(t *testing.T, k *realkube.Cluster) {
	t.Helper()
	dir := t.TempDir()
	runInGitopsModule(t, "", "tool", "controller-gen", "crd:maxDescLen=0", "paths=github.com/fluxcd/helm-controller/api/v2",
		"paths=github.com/fluxcd/source-controller/api/v1", "output:crd:dir="+dir)
	mustRun(t)(k.Kubectl(t.Context(), "create", "--filename", dir))
	if err := k.AwaitEstablished(t.Context(), "helmreleases.helm.toolkit.fluxcd.io",
		"helmrepositories.source.toolkit.fluxcd.io", "ocirepositories.source.toolkit.fluxcd.io"); err != nil {
		t.Fatal(err)
	}
}

// compareStored checks that the API server has kept every field of the specs.
func compareStored(t *testing.T, k *realkube.Cluster, documents []string) {
	t.Helper()
	for _, document := range documents {
		var want struct {
			Kind     string
			Metadata struct{ Name string }
			Spec     map[string]any
		}
		if err := yaml.Unmarshal([]byte(document), &want); err != nil {
			t.Fatal(err)
		}
		stored := mustRun(t)(k.Kubectl(t.Context(), "get", want.Kind, want.Metadata.Name, "--namespace", "flux-system",
			"--output", "jsonpath={.spec}"))
		var got map[string]any
		if err := json.Unmarshal([]byte(stored), &got); err != nil {
			t.Fatal(err)
		}
		for _, field := range missingFields("spec", want.Spec, got) {
			t.Errorf("the API server has not kept %s of %s %s", field, want.Kind, want.Metadata.Name)
		}
	}
}

// missingFields returns the paths of want's fields that got lacks or sets to another value. got may have more fields.
func missingFields(path string, want, got any) []string {
	wanted, isMap := want.(map[string]any)
	if !isMap {
		if fmt.Sprint(want) != fmt.Sprint(got) {
			return []string{path}
		}
		return nil
	}
	found, _ := got.(map[string]any) //nolint:errcheck // then everything is missing
	var out []string
	for key, value := range wanted {
		out = append(out, missingFields(path+"."+key, value, found[key])...)
	}
	return out
}

// createKubeconfigSecret creates the Secret that the HelmReleases name, with all certificates in the kubeconfig.
func createKubeconfigSecret(t *testing.T, management, tenant *realkube.Cluster) {
	t.Helper()
	config, err := clientcmd.LoadFromFile(tenant.Kubeconfig())
	if err != nil {
		t.Fatal(err)
	}
	if err := api.FlattenConfig(config); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "kubeconfig")
	if err := clientcmd.WriteToFile(*config, file); err != nil {
		t.Fatal(err)
	}
	mustRun(t)(management.Kubectl(t.Context(), "create", "secret", "generic", "tenant-kubeconfig", "--namespace", "flux-system",
		"--from-file=value="+file))
}

// admitOnlyRestrictedPods creates namespaces that exist before the releases.
func admitOnlyRestrictedPods(t *testing.T, k *realkube.Cluster, names ...string) {
	t.Helper()
	for _, name := range names {
		mustRun(t)(k.Kubectl(t.Context(), "create", "namespace", name))
		mustRun(t)(k.Kubectl(t.Context(), "label", "namespace", name, "pod-security.kubernetes.io/enforce=restricted"))
	}
}

// readHelmReleases returns what the API server has stored.
func readHelmReleases(t *testing.T, k *realkube.Cluster) map[string]helmRelease {
	t.Helper()
	var list struct{ Items []helmRelease }
	text := mustRun(t)(k.Kubectl(t.Context(), "get", "helmreleases", "--namespace", "flux-system", "--output", "json"))
	if err := json.Unmarshal([]byte(text), &list); err != nil {
		t.Fatal(err)
	}
	out := map[string]helmRelease{}
	for _, release := range list.Items {
		out[release.Metadata.Name] = release
	}
	return out
}

// installRelease installs a HelmRelease as helm-controller does, using only the management cluster's objects.
func installRelease(t *testing.T, management *realkube.Cluster, release helmRelease) {
	t.Helper()
	chart := chartOf(t, management, release)
	spec := release.Spec
	if spec.StorageNamespace != spec.TargetNamespace {
		t.Errorf("%s: Helm cannot list the release: its storage is in %s", release.Metadata.Name, spec.StorageNamespace)
	}
	if _, err := os.Stat(filepath.Join(chart, "templates", "tests")); spec.Test.Enable && err != nil {
		t.Errorf("%s: there are no tests to run: %v", release.Metadata.Name, err)
	}
	values := filepath.Join(t.TempDir(), "values.json")
	writeFile(t, values, string(spec.Values))
	kubeconfig := filepath.Join(t.TempDir(), "kubeconfig")
	key := valueOr(spec.KubeConfig.SecretRef.Key, "value")
	writeFile(t, kubeconfig, mustRun(t)(management.Kubectl(t.Context(), "get", "secret", spec.KubeConfig.SecretRef.Name,
		"--namespace", release.Metadata.Namespace, "--output", "go-template={{index .data \""+key+"\" | base64decode}}")))
	args := []string{"install", spec.ReleaseName, chart, "--kubeconfig", kubeconfig, "--namespace", spec.TargetNamespace,
		"--values", values}
	if spec.Install.CreateNamespace {
		args = append(args, "--create-namespace")
	}
	if !spec.Install.DisableTakeOwnership {
		args = append(args, "--take-ownership")
	}
	mustRun(t)(management.Helm(t.Context(), args...))
}

func valueOr(value, fallback string) string {
	if value == "" {
		return fallback
	}
	return value
}

// chartOf returns the folder of the chart that the source of a release has in its registry.
func chartOf(t *testing.T, k *realkube.Cluster, release helmRelease) string {
	t.Helper()
	ref := release.Spec.ChartRef
	text := mustRun(t)(k.Kubectl(t.Context(), "get", ref.Kind, ref.Name, "--namespace", release.Metadata.Namespace,
		"--output", "jsonpath={.spec.url} {.spec.ref.semver}"))
	url, version, _ := strings.Cut(text, " ")
	dir := chartDir(path.Base(url))
	var chart struct{ Name, Version string }
	if err := yaml.Unmarshal(readFile(t, filepath.Join(dir, "Chart.yaml")), &chart); err != nil {
		t.Fatal(err)
	}
	if chart.Name != path.Base(url) || chart.Version != version {
		t.Errorf("%s is of %s %s, which is %s %s", release.Metadata.Name, url, version, chart.Name, chart.Version)
	}
	return dir
}
