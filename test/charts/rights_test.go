package charts

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// granted are the rights, as "chart resource verb", that some values give a program. Roles
// of people are left out.
func granted(t *testing.T) map[string]bool {
	t.Helper()
	forPeople := regexp.MustCompile(`:(view|edit|metrics-reader)$|^slurm-view`)
	line := regexp.MustCompile(`^(?:Cluster)?Role (\S+): (\S+) (\S+)`)
	out := map[string]bool{}
	files, err := filepath.Glob("testdata/*/*.rights.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("there are no rights: %v", err)
	}
	for _, file := range files {
		for text := range strings.Lines(string(read(t, file))) {
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
	granted, argued := granted(t), map[string]bool{}
	for _, r := range programRights() {
		for verb := range strings.SplitSeq(r.verbs, ",") {
			key := r.chart + " " + r.resource + " " + verb
			argued[key] = true
			if !granted[key] {
				t.Errorf("nothing grants %q: delete it from the table", key)
			}
		}
		if text := read(t, filepath.Join("..", "..", r.user)); !strings.Contains(string(text), r.code) {
			t.Errorf("%s no longer has %q, for which %s may %s %s", r.user, r.code, r.chart, r.verbs, r.resource)
		}
	}
	for _, key := range sortedKeys(granted) {
		if !argued[key] {
			t.Errorf("nothing says why %q is granted: add it to programRights, or take it out of the chart", key)
		}
	}
}

// What may become everything is never given in all namespaces unless values ask for it.
func TestNoRightToSecretsOrExecEverywhereByDefault(t *testing.T) {
	for _, file := range []string{"slurm-operator/minimal", "slurm-operator/namespaces", "slurm-metrics/minimal", "slurm-metrics/namespaces"} {
		roles := map[string]bool{}
		text := string(read(t, "testdata/"+file+".rights.txt"))
		for line := range strings.Lines(text) {
			if m := regexp.MustCompile(`^ClusterRole (\S+): \S+ (secrets|configmaps|pods/exec)$`).FindStringSubmatch(strings.TrimSpace(line)); m != nil {
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
	path := filepath.Join("..", "..", "docs", "reference", "rights.md")
	if *update {
		write(t, path, rightsPage())
		return
	}
	if got, err := os.ReadFile(path); err != nil || string(got) != rightsPage() {
		t.Errorf("%s is not current (rewrite it with -update): %v", path, err)
	}
}

func rightsPage() string {
	var b strings.Builder
	b.WriteString(`# Rights

<!-- written by go test ./test/charts -update -->

What the charts let the programs do, each right with its reason and the code that uses it. A
test fails for a right that is missing here, and for one that no chart grants. The roles
themselves, for several values, are in ` + "`test/charts/testdata/*/*.rights.txt`" + `.

By default neither program may read Secrets outside the namespace of its release, and none
may run anything in a pod. ` + "`rbac.secretNamespaces`" + ` names the namespaces with your Clusters,
Controllers, Tokens and NodeSets; RBAC cannot select Secrets by label. With ` + "`namespaces`" + ` the
operator has its rights in these alone, save those to Kubernetes nodes, reviews, webhooks
and definitions, which have no namespace.
`)
	for _, chart := range []string{"slurm-operator", "slurm-metrics"} {
		fmt.Fprintf(&b, "\n## %s\n\n| resource | verbs | why | code |\n|---|---|---|---|\n", chart)
		for _, r := range programRights() {
			if r.chart == chart {
				fmt.Fprintf(&b, "| `%s` | %s | %s | `%s` |\n", r.resource, strings.ReplaceAll(r.verbs, ",", ", "), r.reason, r.user)
			}
		}
	}
	b.WriteString("\nslurm-metrics is bound to Kubernetes' own `system:auth-delegator` and `extension-apiserver-authentication-reader` too, as every aggregated API server is: it has to know who asks, and whether they may.\n")
	return b.String()
}

func sortedKeys(m map[string]bool) []string {
	var out []string
	for k := range m {
		out = append(out, k)
	}
	slices.Sort(out)
	return out
}
