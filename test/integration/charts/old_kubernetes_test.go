//go:build e2e

package charts

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/structured-merge-diff/v6/typed"
	"sigs.k8s.io/yaml"
)

// kubeVersions are the minor versions of Kubernetes that the charts support, with the release of client-go that has the version's schema. A
// chart's kubeVersion sets its first one.
var kubeVersions = []struct{ kube, clientGo string }{
	{"1.27", "v0.27.3"}, {"1.28", "v0.28.8"}, {"1.29", "v0.29.15"}, {"1.30", "v0.30.14"}, {"1.31", "v0.31.14"},
	{"1.32", "v0.32.13"}, {"1.33", "v0.33.13"}, {"1.34", "v0.34.13"}, {"1.35", "v0.35.10"}, {"1.36", "v0.36.6"},
	{"1.37", "v0.37.1"},
}

// TestEverySupportedKubernetesKnowsTheFields compares what the charts render for each version of Kubernetes with that version's schema.
// Kubernetes silently drops unknown fields. The test renders all values in testdata with the first version that a chart supports, and only
// the fullest ones with the others.
func TestEverySupportedKubernetesKnowsTheFields(t *testing.T) {
	for _, v := range kubeVersions {
		t.Run(v.kube, func(t *testing.T) {
			checked := 0
			parser := schemaOf(t, v.clientGo)
			unknown := map[string]any{"spec": map[string]any{"replica": 1}}
			if _, err := parser.Type("io.k8s.api.apps.v1.Deployment").FromUnstructured(unknown); err == nil {
				t.Error("the schema takes a field that no Deployment has")
			}
			for _, name := range chartNames() {
				first := firstKubeVersion(t, name)
				if minorOf(t, v.kube) < minorOf(t, first) {
					continue
				}
				for title, values := range valuesFiles(t, name) {
					if v.kube != first && title != "full" && title != "own-database" {
						continue
					}
					text, err := renderChart(t, name, "--values", values, "--kube-version", v.kube+".0")
					if err != nil {
						t.Errorf("%s with %s: %v", name, title, err)
						continue
					}
					checked += checkFields(t, parser, name+" with "+title, text)
				}
			}
			if checked < 30 {
				t.Errorf("only %d objects were compared with the schema", checked)
			}
		})
	}
}

// hpaExamples maps the HPAs of docs/examples/hpa to the first minor version of Kubernetes that knows their fields. The pages offer these
// HPAs for certain versions.
var hpaExamples = map[string]int{
	"required-nodes.yaml": 33, "required-nodes-external.yaml": 33, "required-nodes-before-1.37.yaml": 33,
	"required-nodes-before-1.33.yaml": minorOfFirst,
}

// minorOfFirst is the minor version of the first of kubeVersions.
const minorOfFirst = 27

// TestHPAExamplesHaveTheFieldsOfTheirKubernetes compares these HPAs with the schema of each version: kubectl refuses a manifest with a
// field that the API server does not know.
func TestHPAExamplesHaveTheFieldsOfTheirKubernetes(t *testing.T) {
	for _, v := range kubeVersions {
		hpa := schemaOf(t, v.clientGo).Type("io.k8s.api.autoscaling.v2.HorizontalPodAutoscaler")
		for file, first := range hpaExamples {
			var object map[string]any
			if err := yaml.Unmarshal(readFile(t, filepath.Join("../../../docs/examples/hpa", file)), &object); err != nil {
				t.Fatal(err)
			}
			_, err := hpa.FromUnstructured(object)
			if known, want := err == nil, minorOf(t, v.kube) >= first; known != want {
				t.Errorf("Kubernetes %s knows the fields of %s: %t, want %t: %v", v.kube, file, known, want, err)
			}
		}
	}
}

// schemaOf returns the schema of Kubernetes' own kinds that is part of a release of client-go.
func schemaOf(t *testing.T, release string) *typed.Parser {
	t.Helper()
	cmd := exec.Command("go", "mod", "download", "-json", "k8s.io/client-go@"+release)
	cmd.Dir = t.TempDir() // outside of our module
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("downloading client-go %s: %v: %s%s", release, err, stderrOf(err), out)
	}
	var module struct{ Dir string }
	if err := json.Unmarshal(out, &module); err != nil {
		t.Fatal(err)
	}
	source, err := os.ReadFile(filepath.Join(module.Dir, "applyconfigurations", "internal", "internal.go"))
	if err != nil {
		t.Fatal(err)
	}
	text := regexp.MustCompile("(?s)typed\\.YAMLObject\\(`(.*?)`\\)").FindSubmatch(source)
	if text == nil {
		t.Fatalf("client-go %s has no schema", release)
	}
	parser, err := typed.NewParser(typed.YAMLObject(text[1]))
	if err != nil {
		t.Fatal(err)
	}
	return parser
}

// firstKubeVersion returns the first version of Kubernetes that a chart supports, such as "1.29".
func firstKubeVersion(t *testing.T, chart string) string {
	t.Helper()
	var meta struct{ KubeVersion string }
	if err := yaml.Unmarshal(readFile(t, filepath.Join(chartDir(chart), "Chart.yaml")), &meta); err != nil {
		t.Fatal(err)
	}
	return strings.TrimSuffix(strings.TrimPrefix(meta.KubeVersion, ">="), ".0-0")
}

func minorOf(t *testing.T, version string) int {
	t.Helper()
	minor := 0
	if _, err := fmt.Sscanf(version, "1.%d", &minor); err != nil {
		t.Fatalf("%q is no version of Kubernetes: %v", version, err)
	}
	return minor
}

// checkFields compares the objects of Kubernetes' own kinds with a schema, and returns how many there are.
func checkFields(t *testing.T, parser *typed.Parser, what, text string) int {
	t.Helper()
	checked := 0
	for document := range strings.SplitSeq(text, "\n---\n") {
		var object map[string]any
		if err := yaml.Unmarshal([]byte(document), &object); err != nil || object == nil {
			continue // it is decoded strictly elsewhere
		}
		apiVersion, _ := object["apiVersion"].(string)
		kind, _ := object["kind"].(string)
		name, isOurs := schemaName(apiVersion, kind)
		if isOurs {
			continue
		}
		if !hasType(parser, name) {
			t.Errorf("%s: Kubernetes does not know %s %s", what, apiVersion, kind)
			continue
		}
		if _, err := parser.Type(name).FromUnstructured(object); err != nil {
			t.Errorf("%s: %s: %v\n%s", what, kind, err, document)
		}
		checked++
	}
	return checked
}

// schemaName returns the name of a kind in a schema, and true if the kind is not one of Kubernetes' own.
func schemaName(apiVersion, kind string) (string, bool) {
	gv, err := schema.ParseGroupVersion(apiVersion)
	if err != nil {
		return "", false
	}
	group, domain, _ := strings.Cut(gv.Group, ".")
	switch {
	case group == "":
		group = "core"
	case domain != "" && domain != "k8s.io" && domain != "authorization.k8s.io":
		return "", true
	case group == "apiextensions" || group == "apiregistration":
		return "", true
	}
	return "io.k8s.api." + group + "." + gv.Version + "." + kind, false
}

// hasType reports whether a schema has a kind.
func hasType(parser *typed.Parser, name string) bool {
	_, has := parser.Schema.FindNamedType(name)
	return has
}
