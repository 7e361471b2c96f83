package charts

import (
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// slinkyValue is a value of Slinky's chart slurm.
type slinkyValue struct {
	// Value is its path, in the notation of helm --set.
	Value string `json:"value"`
	// Default is its default there, Set another value, and With are values without which it has no effect.
	Default any            `json:"default"`
	Set     any            `json:"set"`
	With    map[string]any `json:"with"`
	// Refusal is a part of what the chart says if it refuses Set.
	Refusal string `json:"refusal"`
}

// What the chart slurm makes of a value of Slinky's chart.
const (
	verdictSame    = "same"
	verdictBetter  = "better"
	verdictIgnored = "ignored"
	verdictRefused = "refused"
)

// slinkyValues returns all values of Slinky's chart slurm.
func slinkyValues(t *testing.T) []slinkyValue {
	t.Helper()
	var out []slinkyValue
	if err := yaml.UnmarshalStrict(readFile(t, filepath.Join("testdata", "slurm", "slinky.yaml")), &out); err != nil {
		t.Fatal(err)
	}
	if len(out) == 0 {
		t.Fatal("there are no values")
	}
	return out
}

// verdictRow is a row of the table of docs/reference/slurm-chart.md.
type verdictRow struct{ value, verdict, remark string }

// covers reports whether the row is about a value: it names it, or all values below a part in which it is.
func (r verdictRow) covers(value string) bool {
	if part, all := strings.CutSuffix(r.value, "*"); all {
		return strings.HasPrefix(value, part)
	}
	return r.value == value
}

// verdictRows returns the rows of the table.
func verdictRows(t *testing.T) []verdictRow {
	t.Helper()
	page := string(readFile(t, filepath.Join("..", "..", "..", "docs", "reference", "slurm-chart.md")))
	_, table, _ := strings.Cut(page, "| value | here | |\n|---|---|---|\n")
	line := regexp.MustCompile("^\\| `([^`]+)` \\| ([a-z]+) \\| (.*?) ?\\|$")
	var out []verdictRow
	for text := range strings.Lines(table) {
		m := line.FindStringSubmatch(strings.TrimSuffix(text, "\n"))
		if m == nil {
			break
		}
		out = append(out, verdictRow{m[1], m[2], m[3]})
	}
	return out
}

// verdictOn returns what the table says of a value.
func verdictOn(t *testing.T, value string) verdictRow {
	t.Helper()
	var found []verdictRow
	for _, row := range verdictRows(t) {
		if row.covers(value) {
			found = append(found, row)
		}
	}
	if len(found) != 1 {
		t.Fatalf("%d rows of the table are about %s, want one: %v", len(found), value, found)
	}
	return found[0]
}

// TestTheTableNamesEveryValueOfSlinky: each value is in one row, and each row is about a value.
func TestTheTableNamesEveryValueOfSlinky(t *testing.T) {
	values := slinkyValues(t)
	for _, v := range values {
		switch row := verdictOn(t, v.Value); row.verdict {
		case verdictSame:
		case verdictBetter, verdictIgnored, verdictRefused:
			if row.remark == "" {
				t.Errorf("the table does not say why %s is %s", v.Value, row.verdict)
			}
		default:
			t.Errorf("%s: there is no verdict %q", v.Value, row.verdict)
		}
	}
	for _, row := range verdictRows(t) {
		about := 0
		for _, v := range values {
			if row.covers(v.Value) {
				about++
			}
		}
		if about == 0 {
			t.Errorf("Slinky's chart has no value %s", row.value)
		}
	}
}
