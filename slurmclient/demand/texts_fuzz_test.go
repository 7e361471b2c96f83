package demand

import (
	"maps"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

// featuresOf lists the features that a constraint names.
func featuresOf(c *constraint) []string {
	if len(c.terms) == 0 {
		return []string{c.feature}
	}
	var out []string
	for i := range c.terms {
		out = append(out, featuresOf(&c.terms[i])...)
	}
	return out
}

// textOf writes a constraint with a bracket around each of its terms that has terms.
func textOf(c *constraint) string {
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

// FuzzConstraints reads any text as a constraint. What can be read names features of the
// text alone, a node with all of them meets it and one with none does not, and what is
// written of it says the same.
func FuzzConstraints(f *testing.F) {
	for _, text := range []string{
		"", "a", "a&b", "a, b|c", "(a|b)&c", "[r1*2&r2*4]&x", "a*4294967295", "a*99999999999999999999", "[(a&b)|(c&d)]*3",
		"((((((((((((((((a))))))))))))))))", "a*", "()", "[a)", strings.Repeat("(", 40), strings.Repeat("a&b|", 40) + "c",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		c, ok := readConstraint(text)
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
		if !c.met(&shape{features: names}) || c.met(&shape{}) {
			t.Errorf("%q is met by a node with all of %q: %v, by one with none: %v", text, names, c.met(&shape{features: names}), c.met(&shape{}))
		}
		checkRewritten(t, &c, names)
	})
}

// checkRewritten reads what is written of a constraint, unless its brackets are too deep:
// each node with some of the features meets both or neither.
func checkRewritten(t *testing.T, c *constraint, names []string) {
	slices.Sort(names)
	names = slices.Compact(names)
	again, ok := readConstraint(textOf(c))
	if !ok && strings.Count(textOf(c), "(") <= maxNesting {
		t.Fatalf("%q can not be read", textOf(c))
	}
	for some := range 1 << min(len(names), 6) {
		var has []string
		for i, name := range names {
			if some>>i&1 == 1 {
				has = append(has, name)
			}
		}
		if node := (shape{features: has}); ok && c.met(&node) != again.met(&node) {
			t.Errorf("%q is met by a node with %q: %v, as it is written: %v", textOf(c), has, c.met(&node), again.met(&node))
		}
	}
}

// checkCounts compares what was read of resources with the text: no more names than it has,
// each of the text, and of a resource no less than of one of its types.
func checkCounts(t *testing.T, text string, counts map[string]uint64) {
	if most := 2 * (1 + strings.Count(text, ",")); len(counts) > most {
		t.Fatalf("%q has %d resources", text, len(counts))
	}
	for name, n := range counts {
		for word := range strings.FieldsFuncSeq(name, func(r rune) bool { return strings.ContainsRune(":,=", r) }) {
			if !strings.Contains(strings.ReplaceAll(text, ":(null)", ""), word) {
				t.Errorf("%q has %d of %q", text, n, name)
			}
		}
		if base, _, typed := strings.Cut(name, ":"); typed && counts[base] < n {
			t.Errorf("%q has %d of %q and %d of %q", text, counts[base], base, n, name)
		}
	}
}

// FuzzGRES reads any text as the generic resources that a job asks for.
func FuzzGRES(f *testing.F) {
	for _, text := range []string{
		"gres/gpu:h100:2,gres/shard=1", "gres:gpu:2", "gpu:2", "gres/gpu:99999999999999999999", "gres/gpu=4611686018427387904",
		"gres/gpu:a=4611686018427387904,gres/gpu:b=4611686018427387904,gres/gpu:c=4611686018427387904,gres/gpu:d=4611686018427387904",
		"cpu=4,gres/gpu:-1", "gres/gpu:1e30", "gres/", "gres/gpu:(null):2(IDX:0-1)",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		var counts map[string]uint64
		addGRES(&counts, text)
		checkCounts(t, text, counts)
		twice := maps.Clone(counts)
		addGRES(&twice, text)
		if !maps.Equal(counts, twice) {
			t.Errorf("%q is %v, and read once more %v", text, counts, twice)
		}
	})
}

// FuzzLicenses reads any text as licences.
func FuzzLicenses(f *testing.F) {
	for _, text := range []string{"matlab:2,ansys", "a|b", "a:99999999999999999999", "a@db:4", "a:4611686018427387904,a:4611686018427387904,a:4611686018427387904,a:4611686018427387904"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		counts := readLicenses(text)
		checkCounts(t, text, counts)
		if strings.Contains(text, "|") && counts != nil {
			t.Errorf("of %q one will do, and %v are read", text, counts)
		}
	})
}

// FuzzAllocatedGRES reads how much of a resource a node has given to jobs. It is what
// ParseTRES reads where each resource is there once, with a number that has no unit.
func FuzzAllocatedGRES(f *testing.F) {
	f.Add("cpu=2,mem=1G,gres/gpu=3,gres/gpu:h100=2", "gpu")
	f.Add("gres/gpu=18446744073709551615", "gpu")
	f.Add("gres/gpu:h100=2,gres/gres/gpu=4", "gpu:h100")
	f.Fuzz(func(t *testing.T, text, name string) {
		got := allocatedGRES(text, name)
		set, err := slurm.ParseTRES(text)
		if err != nil || strings.ContainsAny(text, "KMGTPBib.eEpPxX_") || strings.Count(text, "gres/"+name+"=") != 1 {
			return
		}
		if want, there := set.GRES[name]; there && want < 1<<53 && got != want {
			t.Errorf("%q has %d of %q, not %d", text, got, name, want)
		}
	})
}

// FuzzNodeComments looks for a NodeSet in any comment of a node.
func FuzzNodeComments(f *testing.F) {
	for _, comment := range []string{
		`{"namespace":"team","podName":"x-0","node":"","nodeSetName":"gpu","nodeSetUID":"u"}`,
		`{"note": "nodeSetName"}`, `{`, `{"namespace":"`, `{"nodeSetName":"a","namespace":"b"}`,
	} {
		f.Add(comment)
	}
	f.Fuzz(func(t *testing.T, comment string) {
		name := nodeSetIn(comment)
		switch {
		case name == "":
		case !strings.HasPrefix(comment, "{") || len(name) < len("a/b") || strings.Contains(name, `"`):
			t.Errorf("%q names the NodeSet %q", comment, name)
		case !strings.Contains(comment, `"namespace":"`) || !strings.Contains(comment, `"nodeSetName":"`):
			t.Errorf("%q has no names, and names the NodeSet %q", comment, name)
		}
	})
}

// FuzzReasons gives any text to the readers of reasons, dependencies and names of nodes.
func FuzzReasons(f *testing.F) {
	for _, text := range []string{"Resources", "ReqNodeNotAvail, UnavailableNodes:n1", "afterok:7(fulfilled)", "afterok:7(unfulfilled),singleton", "n12", "n99999999999999999999"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if class, known := ClassOf(text); !slices.Contains(Classes(), class) || !known && class != ClassOther {
			t.Errorf("the reason %q is of the class %q", text, class)
		}
		if waitsForJobs(text) != waitsForJobs(text+",") || strings.Trim(text, ",?") == "" && waitsForJobs(text) {
			t.Errorf("the dependency %q stands: %v", text, waitsForJobs(text))
		}
		if head, n := cutNumber(text); n > math.MaxInt64/2 && len(text)-len(head) < 19 || n < 0 && head != text || !strings.HasPrefix(text, head) {
			t.Errorf("%q is %q and %d", text, head, n)
		}
		p := Pool{Workers: "gpu-"}
		if n, ok := p.ordinal(text); ok && (!strings.HasPrefix(text, "gpu-") || n > math.MaxUint32) {
			t.Errorf("%q is worker %d", text, n)
		}
	})
}
