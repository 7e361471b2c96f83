//go:build e2e

package charts

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/meta"
)

// renderWithNotes renders a chart of a release in a namespace, with its notes as an object.
func renderWithNotes(t *testing.T, chart, namespace string, args ...string) (string, error) {
	t.Helper()
	return renderFolder(t, "test", namespace, copyWithNotes(t, chart), args...)
}

// copyWithNotes returns a copy of a chart that renders its notes as an object.
func copyWithNotes(t *testing.T, chart string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), chart)
	// slurm-stack has links to the charts that it consists of.
	if out, err := exec.Command("cp", "-rL", chartDir(chart), dir).CombinedOutput(); err != nil {
		t.Fatalf("copying the chart: %v: %s", err, out)
	}
	if _, err := os.Stat(filepath.Join(dir, "templates", "NOTES.txt")); err == nil {
		writeFile(t, filepath.Join(dir, "templates", "notes-of-test.yaml"),
			"notes: {{ include (print .Template.BasePath \"/NOTES.txt\") . | toJson }}\n")
	}
	return dir
}

// ofTheRelease matches texts that name the release's own namespace, whatever the objects' namespace is.
var ofTheRelease = regexp.MustCompile(`(helm (?:uninstall|upgrade|rollback|test) [^\\\n]*--namespace |--release-namespace=)\w+`)

// TestNamespaceOverrideIsAReleaseElsewhere: with namespaceOverride a chart has the same output as a release in that namespace. This covers
// objects, the subjects of rights, references, hooks, names of Services, ServiceMonitors and the commands of the notes.
func TestNamespaceOverrideIsAReleaseElsewhere(t *testing.T) {
	for _, chart := range []string{"slurm", "slurm-exporter", "slurm-metrics", "slurm-operator", "slurm-flux"} {
		for title, file := range valuesFiles(t, chart) {
			t.Run(chart+"/"+title, func(t *testing.T) {
				t.Parallel()
				set := "extraObjects=null,namespaceOverride=" // templates of users may name the release's namespace
				got := mustRun(t)(renderWithNotes(t, chart, "released", "--values", file, "--set", set+"elsewhere"))
				want := mustRun(t)(renderWithNotes(t, chart, "elsewhere", "--values", file, "--set", set+"null"))
				compareNamespaces(t, want, got)
				checkNamespaces(t, got, "elsewhere", chart)
			})
		}
	}
}

// compareNamespaces compares two texts, except where they name the namespace of the release.
func compareNamespaces(t *testing.T, want, got string) {
	t.Helper()
	for _, text := range []*string{&want, &got} {
		*text = ofTheRelease.ReplaceAllString(*text, "${1}RELEASE")
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-release elsewhere +override):\n%s", diff)
	}
}

// checkNamespaces checks that an object is in the namespace, so the comparison cannot be empty.
func checkNamespaces(t *testing.T, text, namespace, chart string) {
	t.Helper()
	count := 0
	for _, document := range decodeMaps(t, text) {
		metadata, _ := document["metadata"].(map[string]any)
		if metadata["namespace"] == namespace {
			count++
		}
		if metadata["namespace"] == "released" {
			t.Errorf("%v %v is in the namespace of the release", document["kind"], metadata["name"])
		}
	}
	if count == 0 {
		t.Errorf("%s has no objects in %s", chart, namespace)
	}
}

// elsewhereInTheStack are the values with which every part of slurm-stack is in namespace elsewhere.
const elsewhereInTheStack = "slurm.namespaceOverride=elsewhere,slurm-operator.namespaceOverride=elsewhere,slurm-metrics.namespaceOverride=elsewhere," +
	"slurm-operator.namespaces[0]=elsewhere"

// TestNamespaceOverrideOfTheStack: a stack with all parts elsewhere equals a release elsewhere. In addition, its hook has the right to see
// whether Helm still removes the release.
func TestNamespaceOverrideOfTheStack(t *testing.T) {
	for title, file := range valuesFiles(t, "slurm-stack") {
		t.Run(title, func(t *testing.T) {
			t.Parallel()
			got := mustRun(t)(renderWithNotes(t, "slurm-stack", "slurm", "--values", file, "--set", elsewhereInTheStack))
			want := mustRun(t)(renderWithNotes(t, "slurm-stack", "elsewhere", "--values", file, "--set", "slurm-operator.namespaces[0]=elsewhere"))
			const role = "slurm-delete-clusters"
			compareNamespaces(t, withoutRole(t, want, role), withoutRole(t, got, role))
			if strings.Contains(got, "kind: Job") && !strings.Contains(ruleOf(t, got, role, "slurm"), "sh.helm.release.v1.test.v1") {
				t.Errorf("the hook cannot read the release:\n%s", ruleOf(t, got, role, "slurm"))
			}
		})
	}
}

// withoutRole returns a text without the Roles and RoleBindings of a name.
func withoutRole(t *testing.T, text, name string) string {
	t.Helper()
	var out []string
	for document := range strings.SplitAfterSeq(text, "\n---\n") {
		if !regexp.MustCompile(`(?m)^kind: (Role|RoleBinding)$`).MatchString(document) ||
			!strings.Contains(document, "\n  name: "+name+"\n") {
			out = append(out, document)
		}
	}
	return strings.Join(out, "")
}

// ruleOf returns the Role of a name in a namespace as text.
func ruleOf(t *testing.T, text, name, namespace string) string {
	t.Helper()
	for _, o := range decodeMaps(t, text) {
		metadata, _ := o["metadata"].(map[string]any)
		if o["kind"] == "Role" && metadata["name"] == name && metadata["namespace"] == namespace {
			return fmt.Sprint(o["rules"])
		}
	}
	return ""
}

// TestPartsOfTheStackInNamespacesOfTheirOwn: such stacks work or are refused. The operator and the adapter must serve the namespace of the
// cluster.
func TestPartsOfTheStackInNamespacesOfTheirOwn(t *testing.T) {
	for _, tc := range []struct{ values, want string }{
		{"slurm.namespaceOverride=a", "the operator does not manage namespace a of the cluster: add it to slurm-operator.namespaces (slurm)"},
		{"slurm.namespaceOverride=a,slurm-operator.namespaces[0]=a",
			"the adapter does not serve namespace a of the cluster, whose Secrets it may not read: add it to slurm-metrics.rbac.secretNamespaces (slurm)"},
		{"slurm-metrics.namespaceOverride=a",
			"the adapter does not serve namespace slurm of the cluster, whose Secrets it may not read: add it to slurm-metrics.rbac.secretNamespaces (a)"},
		{"slurm.namespaceOverride=a,slurm-operator.namespaces=null,install.metrics=false",
			"the operator does not manage namespace a of the cluster, whose Secrets it may not read: add it to slurm-operator.rbac.secretNamespaces (slurm)"},
		{"slurm-metrics.namespaces[0]=a", "the adapter does not serve namespace slurm of the cluster: add it to slurm-metrics.namespaces (a)"},
		{"slurm-operator.namespaceOverride=a", ""},
		{"slurm.namespaceOverride=a,slurm-operator.namespaces[0]=a,slurm-metrics.rbac.secretNamespaces[0]=a", ""},
		{"slurm.namespaceOverride=a,slurm-operator.namespaces[0]=a,slurm-metrics.rbac.secretNamespaces[0]=*", ""},
		{"slurm.namespaceOverride=a,slurm-operator.namespaces[0]=a,slurm-metrics.rbac.create=false", ""},
		{"slurm.namespaceOverride=a,slurm-operator.namespaces[0]=a,install.metrics=false", ""},
		{"slurm-metrics.namespaces[0]=a,install.cluster=false", ""},
	} {
		text, err := renderChart(t, "slurm-stack", setValues(tc.values)...)
		if (err != nil) != (tc.want != "") || err != nil && !strings.Contains(err.Error(), tc.want) {
			t.Errorf("with %s the error is %v, want %q", tc.values, err, tc.want)
		}
		if err == nil {
			checkReferencedNamespaces(t, tc.values, text)
		}
	}
}

// checkReferencedNamespaces checks that the subjects of rights, the webhooks and the APIServices name objects that the text contains.
func checkReferencedNamespaces(t *testing.T, values, text string) {
	t.Helper()
	has := map[string]bool{}
	for _, o := range decodeObjects(t, text) {
		if m, err := meta.Accessor(o); err == nil {
			has[o.GetObjectKind().GroupVersionKind().Kind+" "+m.GetNamespace()+"/"+m.GetName()] = true
		}
	}
	for _, o := range decodeMaps(t, text) {
		subjects, _ := o["subjects"].([]any)
		for _, subject := range subjects {
			if s, _ := subject.(map[string]any); s["kind"] == "ServiceAccount" && !has[fmt.Sprintf("ServiceAccount %s/%s", s["namespace"], s["name"])] {
				t.Errorf("with %s %v is bound to %v, which does not exist", values, o["kind"], s)
			}
		}
		for _, service := range servicesIn(o) {
			if !has["Service "+service] {
				t.Errorf("with %s %v names the Service %s, which does not exist", values, o["kind"], service)
			}
		}
	}
}

// servicesIn returns the Services that a webhook configuration or an APIService calls.
func servicesIn(object map[string]any) []string {
	var out []string
	add := func(of any, path ...string) {
		for _, name := range path {
			below, _ := of.(map[string]any)
			of = below[name]
		}
		if s, isService := of.(map[string]any); isService {
			out = append(out, fmt.Sprintf("%s/%s", s["namespace"], s["name"]))
		}
	}
	if object["kind"] == "APIService" {
		add(object, "spec", "service")
	}
	webhooks, _ := object["webhooks"].([]any)
	for _, w := range webhooks {
		add(w, "clientConfig", "service")
	}
	return out
}

// TestChartsWithoutANamespaceRefuseToGetOne: the definitions belong to no namespace, and each part of slurm-stack has its own value.
func TestChartsWithoutANamespaceRefuseToGetOne(t *testing.T) {
	for _, chart := range []string{"slurm-operator-crds", "slurm-stack"} {
		_, err := renderChart(t, chart, setValues("namespaceOverride=elsewhere")...)
		if err == nil || !strings.Contains(err.Error(), "additional properties 'namespaceOverride' not allowed") {
			t.Errorf("%s: %v", chart, err)
		}
	}
}
