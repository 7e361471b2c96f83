package constraint

import (
	"slices"
	"strings"
	"testing"
)

// featuresOf returns the features that a constraint names.
func featuresOf(c *Constraint) []string {
	if len(c.terms) == 0 {
		return []string{c.feature}
	}
	var out []string
	for i := range c.terms {
		out = append(out, featuresOf(&c.terms[i])...)
	}
	return out
}

// textOf formats a constraint with brackets around each of its terms that has terms.
func textOf(c *Constraint) string {
	if len(c.terms) == 0 {
		return c.feature
	}
	words := make([]string, len(c.terms))
	for i := range c.terms {
		if words[i] = textOf(&c.terms[i]); len(c.terms[i].terms) > 0 {
			words[i] = "(" + words[i] + ")"
		}
	}
	return strings.Join(words, map[bool]string{true: "|", false: "&"}[c.any])
}

// FuzzConstraints parses any text as a constraint. A parsed constraint names only features of the
// text, a node with all of them meets it, a node with none does not, and formatting preserves its
// meaning.
func FuzzConstraints(f *testing.F) {
	for _, text := range []string{
		"", "a", "a&b", "a, b|c", "(a|b)&c", "[r1*2&r2*4]&x", "a*4294967295", "a*99999999999999999999",
		"[(a&b)|(c&d)]*3",
		"((((((((((((((((a))))))))))))))))", "a*", "()", "[a)", strings.Repeat("(", 40),
		strings.Repeat("a&b|", 40) + "c",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		c, ok := Parse(text)
		plain := strings.ReplaceAll(text, " ", "")
		if !ok || plain == "" {
			return
		}
		names := featuresOf(&c)
		if len(names) > len(plain) {
			t.Fatalf("%q names %d features", text, len(names))
		}
		for _, name := range names {
			if name == "" || !strings.Contains(plain, name) || strings.ContainsAny(name, "&|,()[]*") {
				t.Errorf("%q names the feature %q", text, name)
			}
		}
		if !c.IsMetBy(FeatureList(names)) || c.IsMetBy(FeatureList{}) {
			t.Errorf("a node with all features %[2]q meets %[1]q: %[3]v, a node without features: %[4]v", text, names,
				c.IsMetBy(FeatureList(names)), c.IsMetBy(FeatureList{}))
		}
		checkRewritten(t, &c, names)
	})
}

// checkRewritten formats a constraint and parses the result, unless its brackets are too deep. Each
// node with some of the features meets both constraints or neither.
func checkRewritten(t *testing.T, c *Constraint, names []string) {
	slices.Sort(names)
	names = slices.Compact(names)
	again, ok := Parse(textOf(c))
	if !ok && strings.Count(textOf(c), "(") <= maxNesting {
		t.Fatalf("%q cannot be parsed", textOf(c))
	}
	for some := range 1 << min(len(names), 6) {
		var has []string
		for i, name := range names {
			if some>>i&1 == 1 {
				has = append(has, name)
			}
		}
		if node := FeatureList(has); ok && c.IsMetBy(node) != again.IsMetBy(node) {
			t.Errorf("a node with %[2]q meets %[1]q: %[3]v, the formatted constraint: %[4]v", textOf(c), has,
				c.IsMetBy(node), again.IsMetBy(node))
		}
	}
}
