//go:build e2e

package charts

import (
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"sigs.k8s.io/yaml"
)

// slinkySet contains values from the tests of Slinky's chart slurm (1.3), and that chart's output for them, without labels of Helm and
// without empty fields.
type slinkySet struct {
	ID        int              `json:"id"`
	About     string           `json:"about"`
	Release   string           `json:"release"`
	Namespace string           `json:"namespace"`
	Values    map[string]any   `json:"values"`
	Refused   bool             `json:"refused"`
	Objects   []map[string]any `json:"objects"`
}

func slinkySets(t *testing.T) []slinkySet {
	t.Helper()
	var out []slinkySet
	if err := json.Unmarshal(readFile(t, filepath.Join("testdata", "slinky", "value-sets.json")), &out); err != nil {
		t.Fatal(err)
	}
	if len(out) == 0 {
		t.Fatal("there are no value sets")
	}
	return out
}

// TestTheValuesOfSlinkysReleasesAreAccepted: a copy of the values.yaml of each release.
func TestTheValuesOfSlinkysReleasesAreAccepted(t *testing.T) {
	for _, file := range slinkyReleaseFiles(t) {
		text, err := renderChart(t, "slurm", "--values", file)
		if err != nil {
			t.Errorf("%s: %v", file, err)
			continue
		}
		for _, complaint := range judgeObjects(t, text).complaints {
			t.Errorf("%s: the operator complains: %s", file, complaint)
		}
	}
}

// difference is a row of the table of differing output: a kind and a path, where * stands for any text.
type difference struct {
	pattern *regexp.Regexp
	text    string
	seen    bool
}

// readDifferences returns the rows of the table in docs/reference/slurm-chart.md.
func readDifferences(t *testing.T) []*difference {
	t.Helper()
	page := string(readFile(t, filepath.Join("..", "..", "..", "docs", "reference", "slurm-chart.md")))
	_, table, _ := strings.Cut(page, "| object and field | here |\n|---|---|\n")
	row := regexp.MustCompile("^\\| `([^`]+)` \\| (.+) \\|$")
	var out []*difference
	for line := range strings.Lines(table) {
		m := row.FindStringSubmatch(strings.TrimSuffix(line, "\n"))
		if m == nil {
			break
		}
		pattern := strings.ReplaceAll(regexp.QuoteMeta(m[1]), `\*`, ".*")
		out = append(out, &difference{pattern: regexp.MustCompile("^" + pattern + "$"), text: m[1]})
	}
	if len(out) == 0 {
		t.Fatal("the page has no table of what is rendered otherwise")
	}
	return out
}

// withDefaultImage are value sets without a repository or a tag of slurmctld's image. Slinky's chart refuses them, and this one
// takes its own.
var withDefaultImage = []int{46, 47, 48}

// isRefusedHere reports whether the chart of slurmtide refuses the values as well.
func (s slinkySet) isRefusedHere() bool { return s.Refused && !slices.Contains(withDefaultImage, s.ID) }

// TestValueSetsOfSlinkyRenderTheSameObjects compares object by object. What differs is in a table of the documentation, and
// every row of the table is a difference.
func TestValueSetsOfSlinkyRenderTheSameObjects(t *testing.T) {
	differences := readDifferences(t)
	var mu sync.Mutex
	accepted, refused, nodeSets, fields, different := 0, 0, 0, 0, 0
	t.Run("sets", func(t *testing.T) {
		for _, set := range slinkySets(t) {
			t.Run(fmt.Sprint(set.ID, " ", set.About), func(t *testing.T) {
				t.Parallel()
				text, err := renderRelease(t, set.Release, set.Namespace, "slurm", "--values", valuesFile(t, set.Values))
				if set.Refused {
					mu.Lock()
					defer mu.Unlock()
					if refused++; (err != nil) != set.isRefusedHere() {
						t.Errorf("Slinky's chart refuses it, and here the error is %v", err)
					}
					return
				}
				if err != nil {
					t.Fatal(err)
				}
				judged := judgeObjects(t, text)
				for _, complaint := range judged.complaints {
					t.Errorf("the operator complains: %s", complaint)
				}
				found := compareObjects(set.Objects, decodeMaps(t, text))
				mu.Lock()
				defer mu.Unlock()
				accepted++
				nodeSets += judged.nodeSets
				fields += countFields(set.Objects)
				different += len(found)
				for _, f := range found {
					at := slices.IndexFunc(differences, func(d *difference) bool { return d.pattern.MatchString(f.path) })
					if at < 0 {
						t.Errorf("%s: %v there, and %v here", f.path, f.theirs, f.ours)
						continue
					}
					differences[at].seen = true
				}
			})
		}
	})
	t.Logf("%d sets with %d NodeSets are accepted, beside %d that Slinky's chart refuses; of %d fields that it renders, and others, %d differ, "+
		"as the table says", accepted, nodeSets, refused, fields, different)
	for _, d := range differences {
		if !d.seen {
			t.Errorf("nothing differs at %s", d.text)
		}
	}
}

// foundDifference is a field that differs. What is missing is nil.
type foundDifference struct {
	path         string
	theirs, ours any
}

// compareObjects returns the fields that differ between two sets of objects.
func compareObjects(theirs, ours []map[string]any) []foundDifference {
	a, b := byName(theirs), byName(ours)
	var out []foundDifference
	for _, object := range slices.Sorted(maps.Keys(merged(a, b))) {
		kind, _, _ := strings.Cut(object, " ")
		if a[object] == nil || b[object] == nil {
			out = append(out, foundDifference{path: object, theirs: a[object] != nil, ours: b[object] != nil})
			continue
		}
		for _, path := range slices.Sorted(maps.Keys(merged(a[object], b[object]))) {
			if x, y := a[object][path], b[object][path]; x != y && !isSameImage(x, y) && !(kind+path == "Controller.spec.extraConf" && isSameConf(x, y)) {
				out = append(out, foundDifference{kind + " " + path, x, y})
			}
		}
	}
	return out
}

// countFields returns how many fields objects have.
func countFields(objects []map[string]any) int {
	out := 0
	for _, fields := range byName(objects) {
		out += len(fields)
	}
	return out
}

func merged[V any](a, b map[string]V) map[string]V {
	out := maps.Clone(a)
	maps.Copy(out, b)
	return out
}

// isSameImage reports whether both are the chart's image of a daemon, of the same tag if the values give one.
func isSameImage(theirs, ours any) bool {
	x, isX := theirs.(string)
	y, isY := ours.(string)
	of := regexp.MustCompile(`^ghcr\.io/(?:slinkyproject|slurmtide)/([a-z]+):(.*)$`)
	m, n := of.FindStringSubmatch(x), of.FindStringSubmatch(y)
	return isX && isY && m != nil && n != nil && m[1] == n[1] && (m[2] == n[2] || m[2] == "26.05-ubuntu26.04")
}

// isSameConf reports whether the lines of slurm.conf are the same, but for those that define NodeSets, by their names in the
// values, and the partition slinky of a NodeSet.
func isSameConf(theirs, ours any) bool {
	lines := func(text any) []string {
		all, _ := text.(string)
		all = regexp.MustCompile(`Nodes=\S*-worker-`).ReplaceAllString(all, "Nodes=")
		return slices.DeleteFunc(strings.Split(strings.TrimSpace(all), "\n"), func(line string) bool {
			return line == "" || strings.HasPrefix(line, "NodeSet=") || strings.HasPrefix(line, "PartitionName=slinky ")
		})
	}
	return slices.Equal(lines(theirs), lines(ours))
}

// byName returns the fields of objects by kind and name.
func byName(objects []map[string]any) map[string]map[string]any {
	out := map[string]map[string]any{}
	for _, o := range objects {
		metadata, _ := o["metadata"].(map[string]any)
		fields := map[string]any{}
		collectFields("", o, fields)
		out[fmt.Sprint(o["kind"], " ", metadata["name"])] = fields
	}
	return out
}

// collectFields collects the fields of a value by their paths, without labels of Helm. References to ConfigMaps, whose files are
// sorted by name, have no order.
func collectFields(path string, value any, into map[string]any) {
	switch value := value.(type) {
	case map[string]any:
		for key, below := range value {
			if path == ".metadata.labels" && (strings.HasPrefix(key, "helm.sh/") || strings.HasPrefix(key, "app.kubernetes.io/")) {
				continue
			}
			collectFields(path+"."+key, below, into)
		}
	case []any:
		for i, below := range value {
			if ref, isMap := below.(map[string]any); isMap && strings.HasSuffix(path, "Refs") {
				into[fmt.Sprint(path, "[", ref["name"], "]")] = true
				continue
			}
			collectFields(fmt.Sprint(path, "[", i, "]"), below, into)
		}
	case string:
		if value != "" {
			into[path] = value
		}
	case nil:
	default:
		into[path] = fmt.Sprint(value)
	}
}

// decodeMaps decodes objects without knowing their kinds.
func decodeMaps(t *testing.T, text string) []map[string]any {
	t.Helper()
	var out []map[string]any
	for document := range strings.SplitSeq(text, "\n---\n") {
		var o map[string]any
		if err := yaml.Unmarshal([]byte(document+"\n"), &o); err != nil {
			t.Fatal(err)
		}
		if o != nil {
			out = append(out, o)
		}
	}
	return out
}
