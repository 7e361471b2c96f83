package metricsapi

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

const (
	hpaPage     = "../docs/metrics-for-hpas.md"
	namesBegin  = "<!-- names: written by go test ./metricsapi -run UpToDate -update -->\n"
	namesEnd    = "<!-- end of names -->\n"
	allFourText = "all four"
)

// TestHPAPageIsUpToDate writes the table of names with -update.
func TestHPAPageIsUpToDate(t *testing.T) {
	page, err := os.ReadFile(hpaPage)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok := strings.Cut(string(page), namesBegin)
	_, after, ok2 := strings.Cut(rest, namesEnd)
	if !ok || !ok2 {
		t.Fatalf("%s has no place for the names", hpaPage)
	}
	want := before + namesBegin + namesTable() + namesEnd + after
	if *update {
		if err := os.WriteFile(hpaPage, []byte(want), 0o600); err != nil {
			t.Fatal(err)
		}
	} else if want != string(page) {
		t.Errorf("%s is out of date: run make generate", hpaPage)
	}
}

func namesTable() string {
	var b strings.Builder
	names := 0
	b.WriteString("| metric | on | meaning |\n|---|---|---|\n")
	for _, e := range Catalogue() {
		on := allFourText
		if len(e.Resources) == 1 {
			on = "NodeSet"
		}
		names += len(e.Resources)
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", e.Name, on, e.Help)
	}
	fmt.Fprintf(&b, "\nThese are %d metrics, and %d names in the custom metrics API.\n", len(Catalogue()), names)
	return b.String()
}
