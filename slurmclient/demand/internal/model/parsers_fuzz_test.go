package model

import (
	"maps"
	"math"
	"strings"
	"testing"

	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

// checkCounts compares parsed resources with the text: there are no more names than in the text,
// each name is in the text, and a resource counts at least as much as each of its types.
func checkCounts(t *testing.T, text string, counts map[string]uint64) {
	if most := 2 * (1 + strings.Count(text, ",")); len(counts) > most {
		t.Fatalf("%q contains %d resources", text, len(counts))
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

// FuzzGRES parses any text as the generic resources that a job requests.
func FuzzGRES(f *testing.F) {
	for _, text := range []string{
		"gres/gpu:h100:2,gres/shard=1", "gres:gpu:2", "gpu:2", "gres/gpu:99999999999999999999",
		"gres/gpu=4611686018427387904",
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
			t.Errorf("%q is %v, but %v when parsed twice", text, counts, twice)
		}
	})
}

// FuzzLicenses parses any text as licenses.
func FuzzLicenses(f *testing.F) {
	for _, text := range []string{"matlab:2,ansys", "a|b", "a:99999999999999999999", "a@db:4",
		"a:4611686018427387904,a:4611686018427387904,a:4611686018427387904,a:4611686018427387904"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		counts := parseLicenses(text)
		checkCounts(t, text, counts)
		if strings.Contains(text, "|") && counts != nil {
			t.Errorf("the alternatives %q are parsed as %v", text, counts)
		}
	})
}

// FuzzAllocatedGRES parses how much of a resource a node has allocated. The result equals ParseTRES's result if each
// resource occurs once, with a number without a unit.
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
			t.Errorf("%q has %d of %q, want %d", text, got, name, want)
		}
	})
}

// FuzzNodeComments searches a NodeSet in any comment of a node.
func FuzzNodeComments(f *testing.F) {
	for _, comment := range []string{
		`{"namespace":"team","podName":"x-0","node":"","nodeSetName":"gpu","nodeSetUID":"u"}`,
		`{"note": "nodeSetName"}`, `{`, `{"namespace":"`, `{"nodeSetName":"a","namespace":"b"}`,
	} {
		f.Add(comment)
	}
	f.Fuzz(func(t *testing.T, comment string) {
		name := nodeSetOfComment(comment)
		switch {
		case name == "":
		case !strings.HasPrefix(comment, "{") || len(name) < len("a/b") || strings.Contains(name, `"`):
			t.Errorf("%q names the NodeSet %q", comment, name)
		case !strings.Contains(comment, `"namespace":"`) || !strings.Contains(comment, `"nodeSetName":"`):
			t.Errorf("%q has no names, but names the NodeSet %q", comment, name)
		}
	})
}

// FuzzNodeNames passes any text to the parsers of node names.
func FuzzNodeNames(f *testing.F) {
	for _, text := range []string{"n12", "gpu-7", "n99999999999999999999"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if head, n := SplitOrdinal(text); n > math.MaxInt64/2 && len(text)-len(head) < 19 || n < 0 && head != text ||
			!strings.HasPrefix(text, head) {
			t.Errorf("%q is split into %q and %d", text, head, n)
		}
		p := Pool{WorkerPrefix: "gpu-"}
		if n, ok := p.OrdinalOf(text); ok && (!strings.HasPrefix(text, "gpu-") || n > math.MaxUint32) {
			t.Errorf("%q is worker %d", text, n)
		}
	})
}
