//go:build e2e

package charts

import (
	"path/filepath"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// slinkyBase are values with which most others have an effect.
const slinkyBase = `
accounting: {enabled: true}
loginsets: {a: {}}
nodesets: {a: {}}
extraObjects:
  - '{apiVersion: v1, kind: ConfigMap, metadata: {name: warnings}, data: {text: {{ include "slurm.warnings" . | toJson }}}}'
`

// nest returns a value at a path in the notation of helm --set.
func nest(path string, value any) map[string]any {
	var parts []string
	for part := range strings.SplitSeq(path, ".") {
		if last := len(parts) - 1; last >= 0 && strings.HasSuffix(parts[last], `\`) {
			parts[last] = strings.TrimSuffix(parts[last], `\`) + "." + part
			continue
		}
		parts = append(parts, part)
	}
	for i := len(parts) - 1; i > 0; i-- {
		value = map[string]any{parts[i]: value}
	}
	return map[string]any{parts[0]: value}
}

// valuesFile writes values to a file and returns its name.
func valuesFile(t *testing.T, values any) string {
	t.Helper()
	text, err := yaml.Marshal(values)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "values.yaml")
	writeFile(t, file, string(text))
	return file
}

// renderSlurm renders the chart slurm with slinkyBase and further values, and separates the warnings.
func renderSlurm(t *testing.T, values ...any) (objects, warnings string, err error) {
	t.Helper()
	base := filepath.Join(t.TempDir(), "base.yaml")
	writeFile(t, base, slinkyBase)
	args := []string{"--values", base}
	for _, v := range values {
		args = append(args, "--values", valuesFile(t, v))
	}
	text, err := renderChart(t, "slurm", args...)
	var kept []string
	for document := range strings.SplitSeq(text, "\n---\n") {
		if strings.Contains(document, "name: warnings") {
			warnings = document
		} else {
			kept = append(kept, document)
		}
	}
	return strings.Join(kept, "\n---\n"), warnings, err
}

// TestEveryValueOfSlinkyDoesWhatTheTableSays sets each value and compares the output.
func TestEveryValueOfSlinkyDoesWhatTheTableSays(t *testing.T) {
	for _, v := range slinkyValues(t) {
		t.Run(v.Value, func(t *testing.T) {
			t.Parallel()
			before, calm, err := renderSlurm(t, v.With)
			if err != nil {
				t.Fatalf("without the value: %v", err)
			}
			after, warnings, err := renderSlurm(t, v.With, nest(v.Value, v.Set))
			verdict := verdictOn(t, v.Value).verdict
			if verdict == verdictRefused {
				if err == nil || v.Refusal == "" || !strings.Contains(err.Error(), v.Refusal) {
					t.Errorf("the error does not contain %q: %v", v.Refusal, err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if hasEffect := before != after; hasEffect != (verdict != verdictIgnored) {
				t.Errorf("the table says %q, and what is rendered differs: %t", verdict, hasEffect)
			}
			if warned := warnings != calm; verdict == verdictIgnored && !warned {
				t.Errorf("the notes do not warn")
			}
		})
	}
}

// TestTheDefaultsOfSlinkyAreAccepted renders with a copy of Slinky's values.yaml.
func TestTheDefaultsOfSlinkyAreAccepted(t *testing.T) {
	var values []any
	for _, v := range slinkyValues(t) {
		values = append(values, nest(v.Value, v.Default))
	}
	merged := map[string]any{}
	for _, v := range values {
		mergeInto(merged, v.(map[string]any))
	}
	text, err := renderChart(t, "slurm", "--values", valuesFile(t, merged))
	if err != nil {
		t.Fatal(err)
	}
	kinds := map[string]bool{}
	for _, object := range decodeObjects(t, text) {
		kinds[object.GetObjectKind().GroupVersionKind().Kind] = true
	}
	if !kinds["Controller"] || !kinds["RestApi"] || len(kinds) != 2 {
		t.Errorf("the kinds are %v", kinds)
	}
}

// mergeInto adds the values of one map to another one, key by key.
func mergeInto(into, from map[string]any) {
	for key, value := range from {
		below, both := into[key].(map[string]any)
		if more, isMap := value.(map[string]any); isMap && both {
			mergeInto(below, more)
			continue
		}
		into[key] = value
	}
}
