package model

import (
	"fmt"
	"iter"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// randomList returns a host list with names of records, names of workers and unused names.
func randomList(r *rand.Rand) string {
	var parts []string
	for range r.IntN(6) {
		prefix, low := []string{"n", "gpu-", "x1-", "gpu"}[r.IntN(4)], r.IntN(300)
		parts = append(parts, fmt.Sprintf("%s[%d-%d]", prefix, low, low+r.IntN(300)))
	}
	return strings.Join(parts, ",")
}

// TestNodeNames compares sets and lists with the expanded names.
func TestNodeNames(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	pools := []PoolState{{Spec: Pool{Name: "a", WorkerPrefix: "gpu-", Max: 40}}, {Spec: Pool{Name: "b", WorkerPrefix: "x1-", Max: 500}},
		{Spec: Pool{Name: "c", WorkerPrefix: "gpu"}}, {Spec: Pool{Name: "d", WorkerPrefix: "n", Max: 10}}}
	for range 300 {
		n, union := NewNodeNames(), map[string]bool{}
		var sets []*NameSet
		var lists []string
		for range 1 + r.IntN(4) {
			list := randomList(r)
			set, ok := n.readSet(list)
			required, alsoOK := n.readList(list)
			if want := expandHostlist(list); !ok || !alsoOK || !slices.Equal(required, want) {
				t.Fatalf("%s: %d names, want %d", list, len(required), len(want))
			}
			sets, lists = append(sets, set), append(lists, list)
		}
		n.Union(union, slices.Values(sets))
		if want := ExpandHostlists(lists); !maps.Equal(union, want) {
			t.Fatalf("%v: the union has %d names, want %d", lists, len(union), len(want))
		}
		workers := n.WorkersByPool(pools)
		for i, list := range lists {
			names := ExpandHostlists([]string{list})
			for _, name := range []string{"n0", "n299", "gpu-7", "gpu7", "x1-300", "y", ""} {
				if sets[i].Has(name) != names[name] {
					t.Errorf("%s has %q: %v", list, name, sets[i].Has(name))
				}
			}
			for at := range pools {
				want := uint64(0)
				for name := range names {
					if ordinal, ok := pools[at].Spec.OrdinalOf(name); ok && ordinal < pools[at].Spec.Max {
						want++
					}
				}
				if got := sets[i].CountOf(workers[at]); got != want {
					t.Errorf("%s has %d workers of pool %s, want %d", list, got, pools[at].Spec.Name, want)
				}
			}
		}
	}
}

// TestNodeNamesAreBounded checks the bounds of the read names, the distinct names and the bytes of the sets.
func TestNodeNamesAreBounded(t *testing.T) {
	for what, lists := range map[string]iter.Seq[string]{
		"names": func(yield func(string) bool) {
			for i := 0; yield(fmt.Sprintf("n[0-9999],m%d", i)); i++ {
			}
		},
		"distinct names": func(yield func(string) bool) {
			for i := 0; yield(fmt.Sprintf("m%d-[0-9999]", i)); i++ {
			}
		},
	} {
		n, read := NewNodeNames(), 0
		for list := range lists {
			if _, ok := n.readSet(list); !ok {
				break
			}
			if read++; read > maxNamesRead/10_000 {
				t.Fatalf("%s: there is no bound", what)
			}
		}
		if read < 20 || len(n.names) > maxDistinctNames || n.bytesLeft < 0 {
			t.Errorf("%s: %d lists, %d names, %d bytes left", what, read, len(n.names), n.bytesLeft)
		}
		if _, ok := n.readSet("m1-[0-3]"); what == "names" && ok {
			t.Errorf("%s: a further list is read", what)
		}
	}
	n := NewNodeNames()
	if _, ok := n.readList("n[0-1047999]"); ok {
		t.Error("a list of a million required nodes is read")
	}
	if _, ok := n.readList("n[0-1047999]"); ok {
		t.Error("it is read the second time")
	}
}
