package table

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

type row struct {
	Name string `json:"name"`
	CPUs *int64 `json:"cpus"`
	Note string `json:"note,omitempty"`
}

func cpuCount(n int64) *int64 { return &n }

func newTestTable() *Table[row] {
	return &Table[row]{
		Columns: []Column[row]{
			{Name: "NAME", Value: func(r *row) Cell { return Text(r.Name) }},
			{Name: "CPUS", Value: func(r *row) Cell { return CountOf(r.CPUs) }},
			{Name: "NOTE", Wide: true, Value: func(r *row) Cell { return Text(r.Note) }},
		},
		Rows: []row{{"b", cpuCount(2), ""}, {"c", nil, "x\ty\x1b[31m"}, {"a", cpuCount(10), ""}},
		Name: func(r *row) string { return "row/" + r.Name },
	}
}

func TestPrintWritesEveryFormat(t *testing.T) {
	for _, tc := range []struct {
		name     string
		format   Format
		headings Headings
		want     string
	}{
		{"plain columns with unknown values", Plain, WithHeadings,
			"NAME   CPUS\nb      2\nc      <unknown>\na      10\n"},
		{"without headings", Plain, WithoutHeadings, "b     2\nc     <unknown>\na     10\n"},
		{"wide, without control characters", Wide, WithHeadings,
			"NAME   CPUS        NOTE\nb      2           <none>\nc      <unknown>   x y [31m\na      10          " +
				"<none>\n"},
		{"names", Names, WithHeadings, "row/b\nrow/c\nrow/a\n"},
		{"YAML with null for unknown values", YAML, WithHeadings,
			"items:\n- cpus: 2\n  name: b\n- cpus: null\n  name: c\n  note: \"x\\ty\\e[31m\"\n- cpus: 10\n  name: " +
				"a\nkind: List\n"},
		{"columns of one's own", "custom-columns=WHO:.name,HOW MANY:.cpus,X:.missing", WithHeadings,
			"WHO   HOW MANY   X\nb     2          <none>\nc     <none>     <none>\na     10         <none>\n"},
		{"a JSONPath", `jsonpath={range .items[*]}{.name}={.cpus}{"\n"}{end}`, WithHeadings, "b=2\nc=null\na=10\n"},
		{"a Go template", `go-template={{range .items}}{{.name}} {{end}}`, WithHeadings, "b c a "},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var out strings.Builder
			if err := newTestTable().Print(&out, tc.format, tc.headings); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, out.String()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestTemplatesPrintLargeNumbersInFull(t *testing.T) {
	of := newTestTable()
	of.Rows[0].CPUs = cpuCount(123456789012)
	for _, format := range []Format{"jsonpath={.items[0].cpus}", "go-template={{(index .items 0).cpus}}"} {
		var out strings.Builder
		if err := of.Print(&out, format, WithHeadings); err != nil || out.String() != "123456789012" {
			t.Errorf("-o %s prints %q, %v", format, out.String(), err)
		}
	}
}

func TestAnEmptyTableIsAnEmptyList(t *testing.T) {
	var out strings.Builder
	empty := &Table[row]{}
	if err := empty.Print(&out, JSON, WithHeadings); err != nil || !strings.Contains(out.String(), `"items": []`) {
		t.Errorf("%v: %s", err, out.String())
	}
}

func TestSort(t *testing.T) {
	for _, tc := range []struct{ by, want string }{
		{"", "bca"}, {"name", "abc"}, {"CPUS", "abc"}, {"cpus", "abc"}, {"cp", "abc"}, {"-cpus", "bac"}, {"-na", "cba"},
	} {
		table := newTestTable()
		if err := table.Sort(tc.by); err != nil {
			t.Fatal(err)
		}
		got := ""
		for _, r := range table.Rows {
			got += r.Name
		}
		if got != tc.want {
			t.Errorf("sorted by %q it is %s, not %s", tc.by, got, tc.want)
		}
	}
	for _, by := range []string{"n", "-", "-n", "names"} {
		if err := newTestTable().Sort(by); err == nil {
			t.Errorf("the column %q is not one of NAME and NOTE", by)
		}
	}
	if err := newTestTable().Sort("height"); err == nil || !strings.Contains(err.Error(), "name, cpus, note") {
		t.Errorf("an unknown column: %v", err)
	}
}

func TestParseFormat(t *testing.T) {
	file := filepath.Join(t.TempDir(), "names")
	if err := os.WriteFile(file, []byte("{.items[*].name}"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct{ name, format, want string }{
		{"an unknown format", "xml", "-o takes json, yaml, wide, name, custom-columns=…, jsonpath=…, jsonpath-file=…, go-template=…, " +
			`go-template-file=…, not "xml"`},
		{"no template", "jsonpath=", "template"},
		{"a wrong JSONPath", "jsonpath={.items[", "unterminated"},
		{"a wrong Go template", "go-template={{", "unclosed action"},
		{"a missing file", "go-template-file=/nonexistent", "no such file"},
		{"a file", "jsonpath-file=" + file, ""},
		{"wide", "wide", ""},
		{"columns without a path", "custom-columns=A", "NAME:PATH"},
		{"columns with a wrong path", "custom-columns=A:.a[", "custom-columns"},
		{"no columns", "custom-columns=", "NAME:PATH"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, err := ParseFormat(tc.format)
			if (err == nil) != (tc.want == "") || err != nil && !strings.Contains(err.Error(), tc.want) {
				t.Errorf("the error is %v, want %q", err, tc.want)
			}
		})
	}
	if _, err := ParseObjectFormat("wide"); err == nil {
		t.Error("an object can be printed wide")
	}
}

func TestLongWordsAreCutExceptInWideTables(t *testing.T) {
	type row struct{ name string }
	of := Table[row]{
		Columns: []Column[row]{{Name: "NAME", MaxLetters: 6, Value: func(r *row) Cell { return Text(r.name) }}},
		Rows:    []row{{"träger"}, {"trägers"}, {""}},
	}
	for f, want := range map[Format]string{Plain: "NAME\nträger\nträge…\n<none>\n",
		Wide: "NAME\nträger\nträgers\n<none>\n"} {
		var out strings.Builder
		if err := of.Print(&out, f, WithHeadings); err != nil || out.String() != want {
			t.Errorf("%q prints %q, %v", f, out.String(), err)
		}
	}
}

func TestColumnsOfAFixedWidthAreCutAndPaddedAsSlurmDoes(t *testing.T) {
	of := Table[string]{
		Columns: []Column[string]{
			{Name: "ID", Width: 4, Align: Right, Value: func(r *string) Cell { return Text(*r) }},
			{Name: "NAME", Width: 6, Value: func(r *string) Cell { return Text(*r) }},
			{Name: "WHERE", Width: 1, Whole: true, Value: func(*string) Cell { return Blank("") }},
		},
		Rows: []string{"träger", "a\tb"},
	}
	for h, want := range map[Headings]string{
		WithHeadings: "  ID NAME   WHERE\nträg träger\n a b a b\n", WithoutHeadings: "träg träger\n a b a b\n"} {
		var out strings.Builder
		if err := of.Print(&out, Plain, h); err != nil || out.String() != want {
			t.Errorf("it prints %q, %v, want %q", out.String(), err, want)
		}
	}
	of.Rows = nil
	var out strings.Builder
	if err := of.Print(&out, Plain, WithHeadings); err != nil || out.String() != "  ID NAME   WHERE\n" {
		t.Errorf("without rows it prints %q, %v", out.String(), err)
	}
}

func TestATerminalHasWiderColumnsAndColors(t *testing.T) {
	of := Table[string]{
		Columns: []Column[string]{
			{Name: "ID", Width: 2, Align: Right, Value: func(*string) Cell { return Text("1") }},
			{Name: "NAME", Width: 4, Align: Right, Value: func(r *string) Cell { return Text(*r) }},
			{Name: "ST", Width: 2, Value: func(*string) Cell { return Text("R") }, Color: func(*string) Color { return Green }},
			{Name: "WHERE", Width: 1, Whole: true, Value: func(*string) Cell { return Text("node-1") }},
		},
		Rows: []string{"training"},
	}
	for _, tc := range []struct {
		name   string
		screen Screen
		want   string
	}{
		{"no terminal", Screen{}, "ID NAME ST WHERE\n 1 trai R  node-1\n"},
		{"a narrow one", Screen{Columns: 17}, "ID NAME ST WHERE\n 1 trai R  node-1\n"},
		{"with some room", Screen{Columns: 19}, "ID   NAME ST WHERE\n 1 traini R  node-1\n"},
		{"with more room than needed", Screen{Columns: 80}, "ID     NAME ST WHERE\n 1 training R  node-1\n"},
		{"with colors", Screen{Color: true}, "ID NAME ST WHERE\n 1 trai \x1b[32mR\x1b[0m  node-1\n"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			of.Screen = tc.screen
			var out strings.Builder
			if err := of.Print(&out, Plain, WithHeadings); err != nil || out.String() != tc.want {
				t.Errorf("it prints %q, %v, want %q", out.String(), err, tc.want)
			}
		})
	}
}

func TestCleanKeepsLettersAndReplacesControls(t *testing.T) {
	for text, want := range map[string]string{
		"träger 日本": "träger 日本", "a\tb\nc\x1b[2Jd\x7f\u009b": "a b c [2Jd  ", "x\u202egpj.exe": "x gpj.exe", "a\u2028b\u2066": "a b ",
	} {
		if got := Clean(text); got != want {
			t.Errorf("Clean(%q) = %q, want %q", text, got, want)
		}
	}
}
