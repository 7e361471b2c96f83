//go:build e2e

package hybrid

import (
	"os"
	"regexp"
	"slices"
	"testing"
)

// TestTheTableListsTheCells: docs/hybrid.md promises exactly the tested combinations.
func TestTheTableListsTheCells(t *testing.T) {
	text, err := os.ReadFile("../../../docs/hybrid.md")
	must(t, err)
	var rows, tested []string
	for _, row := range regexp.MustCompile("(?m)^\\| `([a-z-]+)` \\|").FindAllStringSubmatch(string(text), -1) {
		rows = append(rows, row[1])
	}
	for _, c := range cells {
		tested = append(tested, c.name)
	}
	if !slices.Equal(rows, tested) {
		t.Errorf("the table has %v, and the suite %v", rows, tested)
	}
}
