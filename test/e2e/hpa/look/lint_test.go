package look

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

func TestEveryPanelExplainsItself(t *testing.T) {
	for _, d := range allDashboards(t) {
		for _, p := range d.Panels {
			if p.Type == "row" {
				continue
			}
			if p.Title == "" || !strings.HasSuffix(p.Description, ".") {
				t.Errorf("the description of %s %q is not a sentence: %q", d.UID, p.Title, p.Description)
			}
			if p.Datasource.UID != "${datasource}" {
				t.Errorf("%s %q does not use the selected data source", d.UID, p.Title)
			}
			if p.Type != "table" && p.Type != "heatmap" && p.FieldConfig.Defaults.Unit == "" {
				t.Errorf("%s %q has no unit", d.UID, p.Title)
			}
			if len(p.Targets) == 0 {
				t.Errorf("%s %q has no query", d.UID, p.Title)
			}
		}
	}
}

func TestPanelsFillRowsWithoutOverlap(t *testing.T) {
	for _, d := range allDashboards(t) {
		taken := map[[2]int]string{}
		for _, p := range d.Panels {
			for x := p.GridPos.X; x < p.GridPos.X+p.GridPos.W; x++ {
				for y := p.GridPos.Y; y < p.GridPos.Y+p.GridPos.H; y++ {
					if other := taken[[2]int{x, y}]; other != "" || x >= 24 {
						t.Fatalf("%s: %q overlaps %q or the right edge at %d, %d", d.UID, p.Title, other, x, y)
					}
					taken[[2]int{x, y}] = p.Title
				}
			}
		}
		for at := range taken {
			if at[0] > 0 && taken[[2]int{at[0] - 1, at[1]}] == "" {
				t.Errorf("%s: there is a gap to the left of column %d in row %d", d.UID, at[0], at[1])
			}
		}
	}
}

func TestEveryDashboardHasVariablesForDataSourceAndClusters(t *testing.T) {
	for _, d := range allDashboards(t) {
		var names []string
		for _, v := range d.Templating.List {
			names = append(names, v.Name)
			single := d.UID == "slurmtide-"+strings.TrimSuffix(v.Name, "_id")
			if v.Type == "query" && (v.Multi == single || v.All == single) {
				t.Errorf("%s: %s allows several values: %t, all: %t", d.UID, v.Name, v.Multi, v.All)
			}
		}
		if len(names) < 2 || names[0] != "datasource" || names[1] != "cluster" {
			t.Errorf("%s: the variables are %v", d.UID, names)
		}
		for _, q := range d.queries(strings.NewReplacer()) {
			for _, s := range selectorsIn(q.expr) {
				ofExporter := strings.HasPrefix(s, "slurm_") && !strings.HasPrefix(s, "slurm_operator") &&
					!strings.Contains(s, "build_info")
				if ofExporter && !strings.Contains(s, `cluster=~"$cluster"`) {
					t.Errorf("%s does not select the chosen clusters: %s", q.location, s)
				}
				if strings.Contains(s, `=~"$user"`) && d.UID == "slurmtide-user" {
					t.Errorf("%s reads the name of one user as a regular expression: %s", q.location, s)
				}
			}
		}
	}
}

// histogramSuffixes matches what Prometheus appends to the name of a histogram.
var histogramSuffixes = regexp.MustCompile(`_(bucket|count|sum)$`)

func TestMetricsOfTheExporterAreDocumented(t *testing.T) {
	page := readFile(t, filepath.Join(root, "docs", "metrics.md")) +
		readFile(t, filepath.Join(root, "docs", "metrics-nodesets.md"))
	var queries []query
	for _, d := range allDashboards(t) {
		queries = append(queries, d.queries(allVariables("7"))...)
	}
	for _, r := range allRules(t) {
		queries = append(queries, query{r.Record + r.Alert, r.Expr})
	}
	for _, q := range queries {
		for _, name := range metricNames(q.expr) {
			other := strings.HasPrefix(name, "slurm_operator_") || name == "slurm_metrics_adapter_build_info"
			if !strings.HasPrefix(name, "slurm_") || other {
				continue
			}
			if !strings.Contains(page, "`"+histogramSuffixes.ReplaceAllString(name, "")+"`") &&
				!strings.Contains(page, "`"+name+"`") {
				t.Errorf("%s uses %s, which the metrics pages do not document", q.location, name)
			}
		}
	}
}

// TestEveryNodeStateHasItsOwnColour checks the panels that stack node states.
func TestEveryNodeStateHasItsOwnColour(t *testing.T) {
	panels := 0
	for _, d := range allDashboards(t) {
		for _, p := range d.Panels {
			if p.Title != "Nodes by state" {
				continue
			}
			panels++
			byColour := map[string]string{}
			for _, state := range slurm.NodeWords() {
				colour := p.seriesColour(state)
				if other := byColour[colour]; colour == "" || other != "" {
					t.Errorf("%s: %s has the colour %q, like %q", d.UID, state, colour, other)
				}
				byColour[colour] = state
			}
		}
	}
	if panels == 0 {
		t.Error("no panel shows nodes by state")
	}
}

func TestEveryAlertHasARunbook(t *testing.T) {
	const at = "https://github.com/slurmtide/slurmtide/blob/main/docs/runbooks/"
	var used []string
	for _, r := range allRules(t) {
		if r.Alert == "" {
			continue
		}
		name, ok := strings.CutPrefix(r.Annotations["runbook_url"], at)
		if !ok || r.Labels["severity"] == "" || r.For == "" || r.Annotations["summary"] == "" ||
			r.Annotations["description"] == "" {
			t.Errorf("%s lacks a runbook, a severity, a time, a summary or a description", r.Alert)
			continue
		}
		used = append(used, name)
		text := readFile(t, filepath.Join(root, "docs", "runbooks", name))
		for _, part := range []string{r.Alert, "## What it means", "## What to look at", "## Cure"} {
			if !strings.Contains(text, part) {
				t.Errorf("%s has no %q", name, part)
			}
		}
	}
	pages, err := os.ReadDir(filepath.Join(root, "docs", "runbooks"))
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range pages {
		if p.Name() != "README.md" && !slices.Contains(used, p.Name()) {
			t.Errorf("no alert links to %s", p.Name())
		}
	}
}

func allDashboards(t *testing.T) map[string]dashboard {
	t.Helper()
	all, err := readDashboards()
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func allRules(t *testing.T) []rule {
	t.Helper()
	all, err := readRules()
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func readFile(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestPanelsThatSumOrJoinAreTested compares the expressions in panels.test.yaml, which promtool tests, with the dashboards' expressions. It
// covers sums over the range, because a mean times the range would count time without data. It also covers joins with the jobs that
// dcgm-exporter knows; panels of other dcgm-exporter metrics have the same join.
func TestPanelsThatSumOrJoinAreTested(t *testing.T) {
	tests := readFile(t, filepath.Join(root, "dashboards", "rules", "tests", "panels.test.yaml"))
	day := strings.NewReplacer("$__rate_interval", "1m", "$__range", "1d", "$cluster", ".*", "$namespace", ".*",
		"$nodeset", ".*", `"$user"`, `"alice"`, "$account", ".*", "$gpu_type", ".*", "$gpu_price", "2.5",
		"$cpu_price", "0.05", "$job_id", "7")
	sums, joins := 0, 0
	for _, d := range allDashboards(t) {
		for _, q := range d.queries(strings.NewReplacer()) {
			if strings.Contains(q.expr, "$__range_s") {
				t.Errorf("%s multiplies by the range: %s", q.location, q.expr)
			}
			switch {
			case strings.Contains(q.expr, "[$__range:"):
				sums++
			case strings.Contains(q.expr, "DCGM_FI_DEV_GPU_UTIL{hpc_job"):
				joins++
			default:
				continue
			}
			if !strings.Contains(tests, "("+day.Replace(q.expr)+",") {
				t.Errorf("panels.test.yaml does not test %s: %s", q.location, day.Replace(q.expr))
			}
		}
	}
	if sums < 2 || joins < 2 {
		t.Errorf("%d panels sum over the range, %d join with jobs", sums, joins)
	}
}

// TestPicturesShowTheDashboards compares the panels of the dashboards with the panels in the documentation's pictures, which hack/look/draw
// records.
func TestPicturesShowTheDashboards(t *testing.T) {
	var drawn map[string][]string
	if err := json.Unmarshal([]byte(readFile(t, filepath.Join(root, "docs", "images", "dashboards.json"))), &drawn); err != nil {
		t.Fatal(err)
	}
	page := readFile(t, filepath.Join(root, "docs", "dashboards.md"))
	for name, d := range allDashboards(t) {
		var titles []string
		for _, p := range d.Panels {
			titles = append(titles, p.Title)
		}
		if diff := cmp.Diff(titles, drawn[name]); diff != "" {
			t.Errorf("the picture of %s is older than it, draw it with hack/look/draw (-dashboard +picture):\n%s", d.UID, diff)
		}
		if !strings.Contains(page, "(images/dashboard-"+name+".png)") {
			t.Errorf("docs/dashboards.md does not show %s", d.UID)
		}
	}
}
