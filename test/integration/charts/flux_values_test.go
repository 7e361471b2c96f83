//go:build e2e

package charts

import (
	"path"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/pod-security-admission/api"
	"k8s.io/pod-security-admission/policy"
	"sigs.k8s.io/yaml"
)

// TestTheValuesOfReleasesFitTheirCharts renders the chart of each HelmRelease with its values; the chart refuses unknown values. The Jobs
// that slurm-flux adds are restricted, and run slurm-operator.
func TestTheValuesOfReleasesFitTheirCharts(t *testing.T) {
	evaluator, err := policy.NewEvaluator(policy.DefaultChecks(), nil)
	if err != nil {
		t.Fatal(err)
	}
	restricted := api.LevelVersion{Level: api.LevelRestricted, Version: api.LatestVersion()}
	for title, values := range valuesFiles(t, "slurm-flux") {
		text := mustRun(t)(renderChart(t, "slurm-flux", "--values", values))
		jobs := 0
		for name, release := range helmReleasesIn(t, text) {
			chart := chartInRegistry(t, text, release)
			rendered := renderHelmRelease(t, chart, release)
			if chart == "slurm-operator-crds" {
				continue // kinds that decodeObjects does not know
			}
			for pod, template := range podTemplatesIn(decodeObjects(t, rendered)) {
				if !strings.HasSuffix(pod, "-removal") {
					continue
				}
				jobs++
				if result := policy.AggregateCheckResults(evaluator.EvaluatePod(restricted, &template.ObjectMeta,
					&template.Spec)); !result.Allowed {
					t.Errorf("%s: the pods of %s in %s are not restricted: %s", title, pod, name, result.ForbiddenDetail())
				}
				container := template.Spec.Containers[0]
				if !strings.Contains(container.Image, "/slurm-operator") || container.Args[0] != "delete-clusters" {
					t.Errorf("%s: %s in %s runs %s %v", title, pod, name, container.Image, container.Args)
				}
			}
		}
		if want := map[string]int{"minimal": 1, "tenant": 3, "full": 2, "no-removal": 0}[title]; jobs != want {
			t.Errorf("%s: %d Jobs run before a removal, want %d", title, jobs, want)
		}
	}
}

// renderHelmRelease renders the chart of a HelmRelease under its name, in its namespace and with its values.
func renderHelmRelease(t *testing.T, chart string, release helmRelease) string {
	t.Helper()
	values := filepath.Join(t.TempDir(), "values.json")
	writeFile(t, values, string(release.Spec.Values))
	return mustRun(t)(renderRelease(t, release.Spec.ReleaseName, release.Spec.TargetNamespace, chart, "--values", values))
}

// chartInRegistry returns the name of a release's chart: its own, or the chart of the OCIRepository that it names.
func chartInRegistry(t *testing.T, text string, release helmRelease) string {
	t.Helper()
	if name := release.Spec.Chart.Spec.Chart; name != "" {
		return name
	}
	for document := range strings.SplitSeq(text, "\n---\n") {
		var source struct {
			Kind     string
			Metadata struct{ Name string }
			Spec     struct{ URL string }
		}
		if err := yaml.Unmarshal([]byte(document), &source); err != nil {
			t.Fatal(err)
		}
		if source.Kind == release.Spec.ChartRef.Kind && source.Metadata.Name == release.Spec.ChartRef.Name {
			return path.Base(source.Spec.URL)
		}
	}
	t.Fatalf("%s has no source %s", release.Metadata.Name, release.Spec.ChartRef.Name)
	return ""
}
