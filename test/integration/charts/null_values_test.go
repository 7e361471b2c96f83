//go:build e2e

package charts

import (
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
)

// mapPaths returns the paths of the maps below a value, in the notation of helm --set.
func mapPaths(prefix string, value any) []string {
	below, isMap := value.(map[string]any)
	if !isMap {
		return nil
	}
	var out []string
	if prefix != "" {
		out = append(out, prefix)
	}
	for key, v := range below {
		path := strings.ReplaceAll(key, ".", `\.`)
		if prefix != "" {
			path = prefix + "." + path
		}
		out = append(out, mapPaths(path, v)...)
	}
	return out
}

// TestNullTakesTheDefaultsOfAnyMapAway: null removes the defaults of any map, as Helm's documentation says. Stored data stays: slurmctld
// keeps its volume, and the operator generates the keys.
func TestNullTakesTheDefaultsOfAnyMapAway(t *testing.T) {
	var values map[string]any
	if err := yaml.Unmarshal(readFile(t, filepath.Join(chartDir("slurm"), "values.yaml")), &values); err != nil {
		t.Fatal(err)
	}
	paths := mapPaths("", values)
	paths = append(paths, mapPaths("nodesets.a", values["nodesetDefaults"])...)
	paths = append(paths, mapPaths("loginsets.a", values["loginsetDefaults"])...)
	if len(paths) < 100 {
		t.Fatalf("there are only %d maps", len(paths))
	}
	for _, path := range paths {
		t.Run(path, func(t *testing.T) {
			t.Parallel()
			base := map[string]any{"accounting": map[string]any{"enabled": true}, "nodesets": map[string]any{"a": map[string]any{}},
				"loginsets": map[string]any{"a": map[string]any{}}}
			text, err := renderChart(t, "slurm", "--values", valuesFile(t, base), "--values", valuesFile(t, nest(path, nil)))
			if err != nil {
				t.Fatal(err)
			}
			decodeObjects(t, text)
			c := objectsOfKind[v1beta1.Controller](t, text, "Controller")["test-slurm"]
			if strings.Contains(text, "persistence:\n    enabled: false") || c.Annotations[v1beta1.AnnotationGenerateKeys] != "slurmKeyRef,jwtKeyRef" {
				t.Errorf("the Controller has no volume, or the annotations %v:\n%s", c.Annotations, text)
			}
		})
	}
}

// defaultValues returns the default values of a chart.
func defaultValues(t *testing.T, chart string) map[string]any {
	t.Helper()
	var out map[string]any
	if err := yaml.Unmarshal(readFile(t, filepath.Join(chartDir(chart), "values.yaml")), &out); err != nil {
		t.Fatal(err)
	}
	return out
}

// allCharts are the names of all charts.
func allCharts() []string { return append(chartNames(), "slurm-operator-crds") }

// minimalValues returns the arguments for the values that a chart needs to render anything.
func minimalValues(t *testing.T, chart string) []string {
	t.Helper()
	if chart == "slurm-operator-crds" {
		return nil
	}
	return []string{"--values", valuesFiles(t, chart)["minimal"]}
}

// mapsOf returns the paths of the maps in the defaults of a chart, and of each of its sets.
func mapsOf(t *testing.T, chart string) []string {
	t.Helper()
	values := defaultValues(t, chart)
	out := mapPaths("", values)
	if chart == "slurm" {
		out = append(out, mapPaths("nodesets.a", values["nodesetDefaults"])...)
		out = append(out, mapPaths("loginsets.a", values["loginsetDefaults"])...)
	}
	slices.Sort(out)
	return out
}

// TestNullOfAnyMapRendersOrIsRefused: the error names the value, and is not a failure of a template.
func TestNullOfAnyMapRendersOrIsRefused(t *testing.T) {
	brokenTemplate := regexp.MustCompile(`nil pointer|error calling (?:dig|index|get|include: template: [^<]*: error calling dig)|can't evaluate field|wrong type|invalid value; expected`)
	for _, chart := range allCharts() {
		for _, path := range mapsOf(t, chart) {
			t.Run(chart+"/"+path, func(t *testing.T) {
				t.Parallel()
				text, err := renderChart(t, chart, append(minimalValues(t, chart), "--values", valuesFile(t, nest(path, nil)))...)
				if err == nil {
					decodeObjects(t, text)
					return
				}
				last := path[strings.LastIndexByte(path, '.')+1:]
				if brokenTemplate.MatchString(err.Error()) || !strings.Contains(err.Error(), last) {
					t.Errorf("%v", err)
				}
			})
		}
	}
}
