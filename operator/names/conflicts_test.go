package names

import (
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"
)

func nodeSetNames(name string, age int, change ...func(*NodeSetNames)) NodeSetNames {
	n := NodeSetNames{Name: name, UID: name, Created: time.Unix(int64(1000-age), 0), Prefix: name + "-", Bound: 10_000}
	for _, c := range change {
		c(&n)
	}
	return n
}

func TestAssign(t *testing.T) {
	set := nodeSetNames
	bound := func(b uint64) func(*NodeSetNames) { return func(n *NodeSetNames) { n.Bound = b } }
	padding := func(p int) func(*NodeSetNames) { return func(n *NodeSetNames) { n.Padding = p } }
	prefix := func(p string) func(*NodeSetNames) { return func(n *NodeSetNames) { n.Prefix = p } }
	uid := func(u string) func(*NodeSetNames) { return func(n *NodeSetNames) { n.UID = u } }
	included := func(n *NodeSetNames) { n.Included = true }
	kube := func(names ...string) func(*NodeSetNames) {
		return func(n *NodeSetNames) { n.Prefix, n.KubeNames = "", names }
	}
	node := func(name string) map[string]string { return map[string]string{name: "a node of spec.extraConf"} }
	for _, tc := range []struct {
		name   string
		sets   []NodeSetNames
		static map[string]string
		want   string // the NodeSets that are left out
	}{
		{"different names", []NodeSetNames{set("gpu", 2), set("cpu", 1)}, nil, ""},
		{"the name of a worker", []NodeSetNames{set("gpu", 2), set("gpu-0", 1)}, nil, "gpu-0"},
		{"whatever the order of the list", []NodeSetNames{set("gpu-0", 1), set("gpu", 2)}, nil, "gpu-0"},
		{"a younger NodeSet whose worker would have the name", []NodeSetNames{set("gpu-0", 2), set("gpu", 1)}, nil, ""},
		{"created in the same second, by UID", []NodeSetNames{set("gpu-0", 1, uid("b")), set("gpu", 1, uid("a"))}, nil, "gpu-0"},
		{"the other UID first", []NodeSetNames{set("gpu-0", 1, uid("a")), set("gpu", 1, uid("b"))}, nil, ""},
		{"the last ordinal", []NodeSetNames{set("gpu", 2), set("gpu-9999", 1)}, nil, "gpu-9999"},
		{"beyond the maximum", []NodeSetNames{set("gpu", 2, bound(8)), set("gpu-2080", 1)}, nil, ""},
		{"other padding", []NodeSetNames{set("gpu", 2, padding(3)), set("gpu-0", 1)}, nil, ""},
		{"padded", []NodeSetNames{set("gpu", 2, padding(3)), set("gpu-007", 1)}, nil, "gpu-007"},
		{"longer than the padding", []NodeSetNames{set("gpu", 2, padding(1)), set("gpu-00", 1)}, nil, ""},
		{"a hostname template", []NodeSetNames{set("gpu", 2, prefix("node")), set("node7", 1)}, nil, "node7"},
		{"its own worker", []NodeSetNames{set("node7", 1, prefix("node"))}, nil, ""},
		{"a suffix that is no number", []NodeSetNames{set("gpu", 2), set("gpu-a0", 1), set("gpu-", 1), set("gpu-+1", 1)}, nil, ""},
		{"other case is another name to Slurm", []NodeSetNames{set("gpu", 2, kube("B")), set("b", 1)}, nil, ""},
		{"a Kubernetes node", []NodeSetNames{set("gpu", 2, kube("a", "b")), set("b", 1)}, nil, "b"},
		{"its own Kubernetes node", []NodeSetNames{set("b", 2, kube("a", "b"))}, nil, ""},
		{"reserved words", []NodeSetNames{set("default", 2), set("all", 1), set("none", 1)}, nil, "all default"},
		{"reserved words that are listed", []NodeSetNames{set("default", 2, included)}, nil, "default"},
		{"a node in extraConf", []NodeSetNames{set("batch", 1)}, node("batch"), "batch"},
		{"a node in extraConf, added later", []NodeSetNames{set("batch", 1, included)}, node("batch"), ""},
		{"its own line in extraConf", []NodeSetNames{set("batch", 1)}, map[string]string{"batch": OwnerExtraConf("batch")}, ""},
		{"the maximum of the other was raised", []NodeSetNames{set("gpu", 2, included), set("gpu-5", 1, included)}, nil, ""},
		{"a listed NodeSet is kept whatever its age", []NodeSetNames{set("gpu", 2), set("gpu-5", 1, included)}, nil, ""},
		{"a NodeSet that is not listed stays left out", []NodeSetNames{set("gpu", 1, included), set("gpu-5", 2)}, nil, "gpu-5"},
		{"the name of a worker of one that is left out",
			[]NodeSetNames{set("gpu", 3), set("gpu-0", 2), set("gpu-0-1", 1)}, nil, "gpu-0 gpu-0-1"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := Assign(tc.sets, tc.static)
			out := strings.Join(slices.Sorted(maps.Keys(got.LeftOut)), " ")
			if out != tc.want {
				t.Errorf("left out are %v, want %q", got.LeftOut, tc.want)
			}
			for _, n := range tc.sets {
				if (got.LeftOut[n.Name] == "") && got.Reserved[n.Name] == "" {
					t.Errorf("the name of NodeSet %s is not reserved", n.Name)
				}
			}
		})
	}
}

// TestAssignKeepsWhatItListed assigns names repeatedly while NodeSets are added, deleted and get other maxima.
// Only new NodeSets may be left out, never a listed one.
func TestAssignKeepsWhatItListed(t *testing.T) {
	random := rand.New(rand.NewPCG(33, 8)) //nolint:gosec // no secret
	choices := []string{"gpu", "gpu-0", "gpu-0-1", "gpu-1", "cpu"}
	for range 2000 {
		present := map[string]NodeSetNames{}
		for step := range 12 {
			name := choices[random.IntN(len(choices))]
			n, has := present[name]
			switch {
			case !has:
				present[name] = nodeSetNames(name, -step/2, func(n *NodeSetNames) { n.Bound = random.Uint64N(3) })
			case random.IntN(2) == 0:
				n.Bound = random.Uint64N(3)
				present[name] = n
			default:
				delete(present, name)
			}
			got := Assign(slices.Collect(maps.Values(present)), nil)
			for name, n := range present {
				if n.Included && got.LeftOut[name] != "" {
					t.Fatalf("NodeSet %s is not listed any more: %s", name, got.LeftOut[name])
				}
				n.Included = got.LeftOut[name] == ""
				if n.Included != (got.Reserved[name] != "") {
					t.Fatalf("NodeSet %s is listed: %v, its name is reserved: %q", name, n.Included, got.Reserved[name])
				}
				present[name] = n
			}
		}
	}
}

func TestSharedWorkerName(t *testing.T) {
	set := nodeSetNames
	n := func(p string, bound uint64) func(*NodeSetNames) {
		return func(n *NodeSetNames) { n.Prefix, n.Bound = p, bound }
	}
	padded := func(n *NodeSetNames) { n.Padding = 3 }
	onKubeNode := func(n *NodeSetNames) { n.Prefix, n.KubeNames = "", []string{"gpu-0"} }
	for _, tc := range []struct {
		name   string
		own    NodeSetNames
		others []NodeSetNames
		worker string
		want   string
	}{
		{"prefixes that differ", set("gpu", 1), []NodeSetNames{set("cpu", 2)}, "gpu-0", ""},
		{"one prefix", set("gpu", 1, n("n-", 2)), []NodeSetNames{set("cpu", 2, n("n-", 2))}, "n-0", "a worker of NodeSet cpu"},
		{"one prefix, beyond the maximum of the other", set("gpu", 1, n("n-", 9)), []NodeSetNames{set("cpu", 2, n("n-", 2))}, "n-5",
			"a worker of NodeSet cpu"},
		{"one prefix, and it is the older one", set("gpu", 2, n("n-", 2)), []NodeSetNames{set("cpu", 1, n("n-", 2))}, "n-0", ""},
		{"one prefix with another padding", set("gpu", 1, n("n-", 2), padded), []NodeSetNames{set("cpu", 2, n("n-", 2))}, "n-000", ""},
		{"a prefix that begins like the other", set("gpu1", 1, n("gpu1", 8)), []NodeSetNames{set("gpu", 2, n("gpu", 11))}, "gpu10",
			"a worker of NodeSet gpu"},
		{"a prefix that begins like the other, whose maximum is too low", set("gpu1", 1, n("gpu1", 8)),
			[]NodeSetNames{set("gpu", 2, n("gpu", 10))}, "gpu10", ""},
		{"itself", set("gpu", 1), []NodeSetNames{set("gpu", 1)}, "gpu-0", ""},
		{"one prefix, and a name of an earlier template", set("gpu", 1, n("n-", 9)), []NodeSetNames{set("cpu", 2, n("n-", 2))}, "old-5", ""},
		{"one prefix, and a name with another padding", set("gpu", 1, n("n-", 9)), []NodeSetNames{set("cpu", 2, n("n-", 2))}, "n-05", ""},
		{"Kubernetes nodes of an older NodeSet", set("gpu", 1), []NodeSetNames{set("ds", 2, onKubeNode)}, "gpu-0", "a worker of NodeSet ds"},
		{"Kubernetes nodes of a younger NodeSet", set("gpu", 2), []NodeSetNames{set("ds", 1, onKubeNode)}, "gpu-0", ""},
		{"the scheduler chooses the Kubernetes node", set("gpu", 2), []NodeSetNames{set("ds", 1, onKubeNode,
			func(n *NodeSetNames) { n.NamedWhenScheduled = true })}, "gpu-0", "a worker of NodeSet ds"},
		{"two NodeSets on Kubernetes nodes", set("gpu", 1, onKubeNode), []NodeSetNames{set("ds", 2, onKubeNode)}, "gpu-0", ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := tc.own.SharedWorkerName(tc.others, tc.worker); got != tc.want {
				t.Errorf("the owner is %q, want %q", got, tc.want)
			}
		})
	}
}

// TestASharedNameIsReadOnce: a reconciliation checks thousands of names against hundreds of NodeSets.
func TestASharedNameIsReadOnce(t *testing.T) {
	own := nodeSetNames("gpu", 1)
	others := []NodeSetNames{own}
	allocations := func() float64 {
		return testing.AllocsPerRun(10, func() { own.SharedWorkerName(others, "gpu-7") })
	}
	one := allocations()
	for i := range 200 {
		others = append(others, nodeSetNames("cpu"+strings.Repeat("x", i), 2))
	}
	if many := allocations(); many != one {
		t.Errorf("%v allocations beside 200 NodeSets, want %v", many, one)
	}
}
