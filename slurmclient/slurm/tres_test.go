package slurm

import (
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParseGRES(t *testing.T) {
	type counts = map[string]uint64
	for text, c := range map[string]struct {
		want counts
		bad  bool
	}{
		"":                                {},
		"(null)":                          {},
		"N/A":                             {},
		"gpu":                             {want: counts{"gpu": 1}},
		"gpu:4":                           {want: counts{"gpu": 4}},
		"gpu:h100":                        {want: counts{"gpu": 1, "gpu:h100": 1}},
		"gpu:h100:4(S:0-1),shard:8":       {want: counts{"gpu": 4, "gpu:h100": 4, "shard": 8}},
		"gpu:a100:2(S:0),gpu:h100:2(S:1)": {want: counts{"gpu": 4, "gpu:a100": 2, "gpu:h100": 2}},
		"gpu:h100:2(IDX:0-1)":             {want: counts{"gpu": 2, "gpu:h100": 2}},
		"gpu:h100:0(IDX:N/A)":             {want: counts{"gpu": 0, "gpu:h100": 0}},
		"gpu:(null):2(IDX:0-1)":           {want: counts{"gpu": 2}},
		"gpu:(null):0(IDX:N/A)":           {want: counts{"gpu": 0}},
		"gpu:(null):2(IDX:0,3),gpu:h100:1(IDX:4)": {want: counts{"gpu": 3, "gpu:h100": 1}},
		"shard:(null):3(2/8,1/8)":                 {want: counts{"shard": 3}},
		"mps:100(0/100)":                          {want: counts{"mps": 100}},
		"lustre:4K":                               {want: counts{"lustre": 4096}},
		"gpu:":                                    {want: counts{"gpu": 1}},
		"gpu:h100:,shard:2":                       {want: counts{"shard": 2}, bad: true},
		"gpu:1080ti":                              {want: counts{"gpu": 1, "gpu:1080ti": 1}},
		"gpu:1080ti:2":                            {want: counts{"gpu": 2, "gpu:1080ti": 2}},
		"gpu:3g.20gb":                             {want: counts{"gpu": 1, "gpu:3g.20gb": 1}},
		"gpu:1.5":                                 {want: counts{"gpu": 1, "gpu:1.5": 1}},
		"gpu:0x1":                                 {want: counts{"gpu": 1, "gpu:0x1": 1}},
		"gpu:1i":                                  {want: counts{"gpu": 1, "gpu:1i": 1}},
		"gpu:3t":                                  {want: counts{"gpu": 3 << 40}},
		"gpu:1K":                                  {want: counts{"gpu": 1024}},
		"gpu:1kib":                                {want: counts{"gpu": 1024}},
		"gpu:2kb":                                 {want: counts{"gpu": 2000}},
		"gpu:h100:1k":                             {want: counts{"gpu": 1024, "gpu:h100": 1024}},
		"gpu:h100:1x":                             {bad: true},
		"gpu:nan":                                 {want: counts{"gpu": 1, "gpu:nan": 1}},
		"gpu:h100:2(IDX:0-1":                      {want: counts{"gpu": 2, "gpu:h100": 2}},
		"gpu:99999999999999999999":                {want: counts{"gpu": 1, "gpu:99999999999999999999": 1}},
		"gpu:4096P,gpu:4096P,gpu:4096P,gpu:4096P": {want: counts{"gpu": math.MaxUint64}},
	} {
		got, err := ParseGRES(text)
		if diff := cmp.Diff(c.want, got); diff != "" || (err != nil) != c.bad {
			t.Errorf("%q: %v, %s", text, err, diff)
		}
	}
}

func TestParseTRES(t *testing.T) {
	for text, c := range map[string]struct {
		want TRES
		bad  bool
	}{
		"": {},
		"cpu=4,mem=62.50G,node=1,billing=4,gres/gpu:h100=2,license/matlab=3": {want: TRES{CPUs: 4, Nodes: 1,
			MemoryMiB: 64000, Billing: 4,
			GRES: map[string]uint64{"gpu:h100": 2}, Licenses: map[string]uint64{"matlab": 3}}},
		"mem=500":         {want: TRES{MemoryMiB: 500}},
		"cpu=,node=2":     {want: TRES{Nodes: 2}, bad: true},
		"cpu=NaN":         {bad: true},
		"cpu=Inf":         {bad: true},
		"cpu=-1":          {bad: true},
		"cpu=9999999999P": {bad: true},
		"cpu":             {bad: true},
		"fs/disk=7":       {},
	} {
		got, err := ParseTRES(text)
		if diff := cmp.Diff(c.want, got); diff != "" || (err != nil) != c.bad {
			t.Errorf("%q: %v, %s", text, err, diff)
		}
	}
}

// FuzzParsers passes any text to every parser of Slurm's texts. None of them may panic.
func FuzzParsers(f *testing.F) {
	for _, s := range []string{
		"gpu:(null):2(IDX:0-1)", "gpu:h100:4(S:0-1),shard:8", "cpu=4,mem=62.50G,gres/gpu:h100=2", "cpu=NaN",
		"2-9,12-20:4%2", "0-19,...",
		"IDLE", "RUNNING", "%", ":", "=", ",", "(", "4294967295-1", "0-18446744073709551615:1",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if gres, err := ParseGRES(text); err == nil && text == "" && gres != nil {
			t.Errorf("empty text is %v", gres)
		}
		_, _ = ParseTRES(text)
		if tasks, ok := ParseArrayTasks(text); ok && (tasks.Count == 0 || tasks.First > 1<<32) {
			t.Errorf("%q is %+v", text, tasks)
		}
		if s := ParseNodeState(text); s.Word() == "" {
			t.Errorf("%q has no word", text)
		}
		if s := ParseJobState(text); s.String() == "" {
			t.Errorf("%q has no name", text)
		}
		if (&Job{Partition: text}).Partitions() == nil && text != "" {
			t.Errorf("%q names no partition", text)
		}
	})
}

// TestGPUsOfManyTypesDoNotWrapAround adds up counts that overflow.
func TestGPUsOfManyTypesDoNotWrapAround(t *testing.T) {
	most := TRES{GRES: map[string]uint64{"gpu:a": math.MaxUint64, "gpu:b": 2}}
	if got := most.GPUs(); got != math.MaxUint64 {
		t.Errorf("there are %d GPUs", got)
	}
}

// FuzzCounts parses any text as TRES and as GRES. No set has more names than the text has items, and no total is less
// than the count of one of its types. Formatting and parsing a set returns the same set.
func FuzzCounts(f *testing.F) {
	for _, text := range []string{
		"cpu=4,mem=62.50G,node=1,billing=4,gres/gpu:h100=2,license/matlab=3", "gpu:h100:4(S:0-1),shard:8",
		"gpu:(null):2(IDX:0-1)",
		"gpu:99999999999999999999", "cpu=4611686018427387904", "gpu:a:4096P,gpu:b:4096P,gpu:c:4096P,gpu:d:4096P",
		"mem=1e18P",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		gres, _ := ParseGRES(text)
		if most := 2 * (1 + strings.Count(text, ",")); len(gres) > most {
			t.Fatalf("%q has %d names", text, len(gres))
		}
		for name, n := range gres {
			if base, _, typed := strings.Cut(name, ":"); typed && gres[base] < n {
				t.Errorf("%q has %d of %q, and %d of %q", text, gres[base], base, n, name)
			}
		}
		set, _ := ParseTRES(text)
		if len(set.GRES)+len(set.Licenses) > 1+strings.Count(text, ",") {
			t.Fatalf("%q has %d names", text, len(set.GRES)+len(set.Licenses))
		}
		again, err := ParseTRES(textOf(set))
		if err != nil || again.MemoryMiB != set.MemoryMiB || again.CPUs != set.CPUs ||
			!maps.Equal(again.GRES, set.GRES) || !maps.Equal(again.Licenses, set.Licenses) {
			t.Errorf("%q is %+v, but its text %q is %+v, %v", text, set, textOf(set), again, err)
		}
	})
}

// textOf formats a set as Slurm does.
func textOf(t TRES) string {
	words := []string{"cpu=" + strconv.FormatUint(t.CPUs, 10), "mem=" + strconv.FormatUint(t.MemoryMiB, 10)}
	for _, name := range slices.Sorted(maps.Keys(t.GRES)) {
		words = append(words, "gres/"+name+"="+strconv.FormatUint(t.GRES[name], 10))
	}
	for _, name := range slices.Sorted(maps.Keys(t.Licenses)) {
		words = append(words, "license/"+name+"="+strconv.FormatUint(t.Licenses[name], 10))
	}
	return strings.Join(words, ",")
}
