package main

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "rewrite docs/reference/values.md")

func TestTheReferenceIsCurrent(t *testing.T) {
	root := filepath.Join("..", "..", "..")
	file := filepath.Join(root, "docs", "reference", "values.md")
	charts, err := readCharts(filepath.Join(root, "charts"))
	if err != nil {
		t.Fatal(err)
	}
	got := renderPage(charts)
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("docs/reference/values.md is not current (make generate):\n%s", diff)
	}
}

const testSchema = `{"type": "object", "additionalProperties": false, "properties": {
  "pods": {"type": "integer", "minimum": 0, "maximum": 9}, "qps": {"type": "number", "exclusiveMinimum": 0},
  "log": {"type": "object", "additionalProperties": false, "properties": {
    "level": {"enum": ["info", "warn"], "type": "string"}, "format": {"enum": ["text", "json", null], "type": ["string", "null"]}}},
  "wait": {"$ref": "#/$defs/duration"}, "who": {"$ref": "#/$defs/names"}, "labels": {"type": "object", "additionalProperties": {"type": "string"}},
  "resources": {"type": "object"}, "free": {}
}, "$defs": {"duration": {"type": "string"}, "names": {"type": "array", "items": {"$ref": "#/$defs/name"}}, "name": {"type": "string"}}}`

func TestRows(t *testing.T) {
	values := `# About this file -- and no value.

# -- Pods,
# and no more
pods: 1
# -- Requests
qps: 0.5
log:
  # -- Least level, info or warn
  level: info
  # -- Format. Or none
  format: ""
# -- Time
wait: 5m
# A note.
# -- Names, such as a|b
who: []
# -- Labels
labels: {a: "<b>"}
# -- Resources
resources:
  limits:
    memory: 1Gi
# -- Anything
free: null
`
	got, err := rowsOf([]byte(values), []byte(testSchema))
	want := []row{
		{"pods", "integer", "1", "Pods, and no more. At least 0. At most 9"},
		{"qps", "number", "0.5", "Requests. More than 0"},
		{"log.level", "string", `"info"`, "Least level, info or warn"},
		{"log.format", "string", `""`, "Format. Or none. One of `text`, `json`"},
		{"wait", "duration", `"5m"`, "Time"},
		{"who", "list of strings", "[]", "Names, such as a|b"},
		{"labels", "map of strings", `{"a":"<b>"}`, "Labels"},
		{"resources", "object", `{"limits":{"memory":"1Gi"}}`, "Resources"},
		{"free", "any", "null", "Anything"},
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(row{})); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
}

func TestUnexplainedValues(t *testing.T) {
	for _, tc := range []struct{ name, values, want string }{
		{"a value without a comment", "pods: 1", "the value pods has no explanation:"},
		{"a comment that is no explanation", "# Pods\npods: 1", "the value pods has no explanation:"},
		{"an empty explanation", "# -- \npods: 1", "the value pods has no explanation:"},
		{"a value of a part", "log:\n  level: info", "the value log.level has no explanation:"},
		{"an empty part", "labels: {}", "the value labels has no explanation:"},
		{"every one of several", "pods: 1\n# -- Requests\nqps: 1\nwait: 1s", "the value wait has no explanation:"},
		{"a value that the schema does not know", "# -- Cats\ncats: 1", "does not know the value cats"},
		{"one of a part", "log:\n  # -- Cats\n  cats: 1", "does not know the value log.cats"},
		{"no YAML", "a: b: c", "values.yaml: "},
		{"no values", "", "has no values"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, err := rowsOf([]byte(tc.values), []byte(testSchema))
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("the error is %v", err)
			}
		})
	}
	if _, err := rowsOf([]byte("# -- x\na: 1"), []byte("{")); err == nil {
		t.Error("a schema that is no JSON is no error")
	}
	if _, err := readCharts(t.TempDir()); err == nil {
		t.Error("no charts are no error")
	}
}

func TestPage(t *testing.T) {
	got := renderPage([]chart{{"tide", "A chart\nof tides", []row{{"a", "string", `"x"`, "One|other"}}}})
	for _, want := range []string{
		"- [tide](#tide): A chart of tides\n", "\n## tide\n", "(../../charts/tide/README.md)",
		"| value | type | default | meaning |\n|---|---|---|---|\n| `a` | string | `\"x\"` | One\\|other |\n",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("the page has no %q:\n%s", want, got)
		}
	}
}
