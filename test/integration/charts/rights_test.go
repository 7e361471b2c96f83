package charts

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// grantedRights returns the rights, as "chart resource verb", that any of the values files grants a
// program. It omits roles for users.
func grantedRights(t *testing.T) map[string]bool {
	t.Helper()
	forPeople := regexp.MustCompile(`:(view|edit|metrics-reader)$|^slurm-(view|act)`)
	line := regexp.MustCompile(`^(?:Cluster)?Role (\S+): (\S+) (\S+)`)
	out := map[string]bool{}
	files, err := filepath.Glob("testdata/*/*.rights.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("there are no files with rights: %v", err)
	}
	for _, file := range files {
		for text := range strings.Lines(string(readFile(t, file))) {
			m := line.FindStringSubmatch(text)
			if m == nil || forPeople.MatchString(m[1]) {
				continue
			}
			for verb := range strings.SplitSeq(m[2], ",") {
				out[filepath.Base(filepath.Dir(file))+" "+m[3]+" "+verb] = true
			}
		}
	}
	return out
}

func TestEveryRightHasAUserAndAReason(t *testing.T) {
	granted, documented := grantedRights(t), map[string]bool{}
	for _, r := range programRights() {
		for verb := range strings.SplitSeq(r.verbs, ",") {
			key := r.chart + " " + r.resource + " " + verb
			documented[key] = true
			if !granted[key] {
				t.Errorf("no chart grants %q: delete it from the table", key)
			}
		}
		if text := readFile(t, filepath.Join("..", "..", "..", r.user)); !strings.Contains(string(text), r.code) {
			t.Errorf("%s no longer contains %q, for which %s may %s %s", r.user, r.code, r.chart, r.verbs, r.resource)
		}
	}
	for _, key := range sortedKeys(granted) {
		if !documented[key] {
			t.Errorf("%q is granted without a reason: add it to programRights, or remove it from the chart", key)
		}
	}
}

// TestNoRightToSecretsOrExecEverywhereByDefault checks that rights which allow escalation are never
// granted in all namespaces unless values request it.
func TestNoRightToSecretsOrExecEverywhereByDefault(t *testing.T) {
	for _, file := range []string{"slurm-operator/minimal", "slurm-operator/namespaces", "slurm-metrics/minimal",
		"slurm-metrics/namespaces"} {
		roles := map[string]bool{}
		text := string(readFile(t, "testdata/"+file+".rights.txt"))
		for line := range strings.Lines(text) {
			if m := regexp.MustCompile(`^ClusterRole (\S+): \S+ (secrets|configmaps|pods/exec)$`).FindStringSubmatch(
				strings.TrimSpace(line)); m != nil {
				roles[m[1]] = true
			}
		}
		for role := range roles {
			if strings.Contains(text, "ClusterRole "+role+" everywhere") {
				t.Errorf("%s: %s is bound everywhere", file, role)
			}
		}
		if strings.Contains(text, "pods/exec") {
			t.Errorf("%s: exec is granted", file)
		}
	}
}

func TestThePageOfRightsIsCurrent(t *testing.T) {
	path := filepath.Join("..", "..", "..", "docs", "reference", "rights.md")
	if *update {
		writeFile(t, path, rightsPage())
		return
	}
	if got, err := os.ReadFile(path); err != nil || string(got) != rightsPage() {
		t.Errorf("%s is not current (rewrite it with -update): %v", path, err)
	}
}

func rightsPage() string {
	var b strings.Builder
	b.WriteString(`# Rights

<!-- written by go test ./test/integration/charts -update -->

This page lists the rights that the charts grant the programs, with the reason for each right and
the code that uses it. A test fails if a granted right is missing here, or if no chart grants a
listed one. ` + "`test/integration/charts/testdata/*/*.rights.txt`" + ` contains the roles for several values.

By default neither program may read Secrets outside the namespace of its release, and neither
may run commands in pods. ` + "`rbac.secretNamespaces`" + ` lists the namespaces of your Clusters,
Controllers, Tokens and NodeSets; RBAC cannot select Secrets by label. With ` + "`namespaces`" + ` the
operator has its rights in those namespaces only, except the rights to Kubernetes nodes, reviews,
webhooks and definitions, which are cluster-scoped. The rights of slurm-stack are those that it adds to the
ones of the charts in it, for the Job that runs before it is removed.
`)
	for _, chart := range []string{"slurm-operator", "slurm-metrics", "slurm-stack"} {
		fmt.Fprintf(&b, "\n## %s\n\n| resource | verbs | why | code |\n|---|---|---|---|\n", chart)
		for _, r := range programRights() {
			if r.chart == chart {
				fmt.Fprintf(&b, "| `%s` | %s | %s | `%s` |\n", r.resource, strings.ReplaceAll(r.verbs, ",", ", "),
					r.reason, r.user)
			}
		}
	}
	b.WriteString("\nLike every aggregated API server, slurm-metrics is also bound to Kubernetes' own `system:auth-delegator` and " +
		"`extension-apiserver-authentication-reader`, to authenticate and authorize its clients.\n")
	return b.String()
}

func sortedKeys[T any](m map[string]T) []string { return slices.Sorted(maps.Keys(m)) }
