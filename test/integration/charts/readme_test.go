package charts

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"
)

var update = flag.Bool("update", false, "rewrite the golden files and the tables of the READMEs")

// chartNames returns the charts that this package tests.
func chartNames() []string {
	return append([]string{"slurm", "slurm-flux", "slurm-stack"}, programCharts()...)
}

// programCharts returns the charts that run a program of ours in a Deployment.
func programCharts() []string { return []string{"slurm-exporter", "slurm-metrics", "slurm-operator"} }

// chartDir returns the folder of a chart.
func chartDir(name string) string { return filepath.Join("..", "..", "..", "charts", name) }

const (
	tableStart = "<!-- values: written by go test ./test/integration/charts -update -->\n"
	tableEnd   = "<!-- end of values -->\n"
)

func TestReadmesHaveTheTableOfValues(t *testing.T) {
	for _, name := range chartNames() {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(chartDir(name), "README.md")
			readme := string(readFile(t, path))
			before, rest, ok := strings.Cut(readme, tableStart)
			_, after, ok2 := strings.Cut(rest, tableEnd)
			if !ok || !ok2 {
				t.Fatalf("%s lacks the markers of the table: %q and %q", path, tableStart, tableEnd)
			}
			want := before + tableStart + valuesTable(t, readFile(t, filepath.Join(chartDir(name), "values.yaml"))) +
				tableEnd + after
			if *update {
				writeFile(t, path, want)
			} else if diff := cmp.Diff(want, readme); diff != "" {
				t.Errorf("the table does not match values.yaml (rewrite it with -update) (-want +got):\n%s", diff)
			}
		})
	}
}

// valuesTable renders the values as a Markdown table: one row for each comment that begins with "--
// ".
func valuesTable(t *testing.T, values []byte) string {
	t.Helper()
	var root yaml.Node
	if err := yaml.Unmarshal(values, &root); err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	out.WriteString("| value | default | |\n|---|---|---|\n")
	addRows(t, &out, "", root.Content[0])
	return out.String()
}

func addRows(t *testing.T, out *strings.Builder, prefix string, node *yaml.Node) {
	t.Helper()
	for pair := range slices.Chunk(node.Content, 2) {
		key, value := pair[0], pair[1]
		path := prefix + key.Value
		_, text, ok := strings.Cut(key.HeadComment, "-- ")
		switch {
		case ok:
			text = strings.ReplaceAll(text, "\n# ", " ")
			fmt.Fprintf(out, "| `%s` | `%s` | %s |\n", path, compactJSON(t, value), strings.ReplaceAll(text, "|", `\|`))
		case value.Kind == yaml.MappingNode && len(value.Content) > 0:
			addRows(t, out, path+".", value)
		default:
			t.Errorf("the value %s has no explanation: write a comment that begins with \"# -- \"", path)
		}
	}
}

// compactJSON renders a value as JSON in one line.
func compactJSON(t *testing.T, node *yaml.Node) string {
	t.Helper()
	var value any
	if err := node.Decode(&value); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(out.String())
}

func TestSchemasKnowExactlyTheValues(t *testing.T) {
	for _, name := range chartNames() {
		t.Run(name, func(t *testing.T) {
			var schema map[string]any
			if err := json.Unmarshal(readFile(t, filepath.Join(chartDir(name), "values.schema.json")),
				&schema); err != nil {
				t.Fatal(err)
			}
			var values map[string]any
			if err := yaml.Unmarshal(readFile(t, filepath.Join(chartDir(name), "values.yaml")), &values); err != nil {
				t.Fatal(err)
			}
			compareSchema(t, "", schema["$defs"].(map[string]any), schema, values)
		})
	}
}

// unsetProperties returns the properties that values.yaml omits:
//
//   - Helm's own properties;
//   - properties with a default in Kubernetes;
//   - names that exist only to suggest the intended one;
//   - values of earlier releases of Slinky's chart.
func unsetProperties() []string {
	return []string{"global", "collectors.*", "exporter.collectors.*", "resources.claims",
		"probes.*.initialDelaySeconds",
		"probes.*.successThreshold", "certificates.certManager.issuerRef.*", "jwtHs256Key",
		"asciiArt", "priorityClassName", "slurmKeyRef", "jwtHs256KeyRef", "loginsetDefaults.sssdConf",
		"nodesetDefaults.taintKubeNodes", "nodesetDefaults.useResourceLimits"}
}

func compareSchema(t *testing.T, prefix string, defs, schema, values map[string]any) {
	t.Helper()
	if ref, ok := schema["$ref"].(string); ok {
		schema = defs[strings.TrimPrefix(ref, "#/$defs/")].(map[string]any)
	}
	properties, ok := schema["properties"].(map[string]any)
	if !ok {
		return // an open object
	}
	if schema["additionalProperties"] != false && prefix != "global." { // Helm gives it to all charts of a release
		t.Errorf("the schema accepts unknown keys below %q", prefix)
	}
	for key := range values {
		if properties[key] == nil {
			t.Errorf("the schema does not know the value %s%s", prefix, key)
		}
	}
	for key, property := range properties {
		value, ok := values[key]
		matches := func(pattern string) bool { m, _ := filepath.Match(pattern, prefix+key); return m }
		if !ok && !slices.ContainsFunc(unsetProperties(), matches) {
			t.Errorf("values.yaml does not have %s%s", prefix, key)
		}
		if inner, ok := value.(map[string]any); ok {
			compareSchema(t, prefix+key+".", defs, property.(map[string]any), inner)
		}
	}
}

func readFile(t *testing.T, path string) []byte {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return content
}

func writeFile(t *testing.T, path, content string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}

// TestThePageOfUpgradesIsFound checks that the README and the notes of each chart lead to the page, which has the chart.
func TestThePageOfUpgradesIsFound(t *testing.T) {
	page := string(readFile(t, filepath.Join("..", "..", "..", "docs", "upgrade.md")))
	for _, name := range append(chartNames(), "slurm-operator-crds") {
		if !strings.Contains(page, "`"+name+"`") {
			t.Errorf("docs/upgrade.md does not have the chart %s", name)
		}
		if !strings.Contains(string(readFile(t, filepath.Join(chartDir(name), "README.md"))), "(../../docs/upgrade.md)") {
			t.Errorf("the README of %s does not lead to docs/upgrade.md", name)
		}
	}
	for _, name := range chartNames() {
		notes := string(readFile(t, filepath.Join(chartDir(name), "templates", "NOTES.txt")))
		if !strings.Contains(notes, "/blob/main/docs/upgrade.md\n") {
			t.Errorf("the notes of %s do not lead to docs/upgrade.md", name)
		}
	}
}
