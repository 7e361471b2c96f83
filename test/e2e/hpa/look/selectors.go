package look

import (
	"regexp"
	"slices"
	"strings"
)

// selectorPattern finds metrics with their matchers in a query. Names of our metrics and of
// Kubernetes metrics contain an underscore or a colon. No function used here has one before a
// brace, and no label precedes one.
var (
	selectorPattern = regexp.MustCompile(`\b[a-z][a-z0-9]*[_:][a-zA-Z0-9_:]*\b(\s*\{[^}]*\})?`)
	quotedPattern   = regexp.MustCompile(`"(\\.|[^"\\])*"`)
	groupingPattern = regexp.MustCompile(`\b(by|without|on|ignoring|group_left|group_right)\s*\([^)]*\)`)
)

// selectorsIn returns the metrics that a query reads, each with its matchers, without duplicates.
func selectorsIn(expr string) []string {
	expr = groupingPattern.ReplaceAllString(expr, " ")
	var kept []string
	masked := quotedPattern.ReplaceAllStringFunc(expr, func(s string) string {
		kept = append(kept, s)
		return `"` + strings.Repeat("\x00", len(s)-2) + `"`
	})
	var out []string
	for _, at := range selectorPattern.FindAllStringIndex(masked, -1) {
		if rest := strings.TrimSpace(masked[at[1]:]); strings.HasPrefix(rest, "(") {
			continue // a function
		}
		if found := expr[at[0]:at[1]]; !slices.Contains(out, found) {
			out = append(out, found)
		}
	}
	return out
}

// metricNames returns the names of the metrics that a query reads.
func metricNames(expr string) []string {
	var out []string
	for _, s := range selectorsIn(expr) {
		name, _, _ := strings.Cut(s, "{")
		out = append(out, strings.TrimSpace(name))
	}
	return out
}
