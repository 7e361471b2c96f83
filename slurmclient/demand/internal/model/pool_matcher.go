package model

import (
	"slices"
	"strconv"
	"strings"

	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

// poolMatcher finds the pool of a node record. Pools are identified by their index in a list sorted
// by name.
type poolMatcher struct {
	pools     []Pool
	byName    map[string]int
	byFeature map[string]int   // the first pool with the feature
	byPrefix  map[string][]int // the pools with the worker prefix
}

func newPoolMatcher(sorted []Pool) poolMatcher {
	o := poolMatcher{pools: sorted, byName: map[string]int{}, byFeature: map[string]int{}, byPrefix: map[string][]int{}}
	for at, p := range sorted {
		o.byName[p.Name] = at
		if _, taken := o.byFeature[p.Feature]; !taken && p.Feature != "" {
			o.byFeature[p.Feature] = at
		}
		if p.Feature != "" && p.WorkerPrefix != "" {
			o.byPrefix[p.WorkerPrefix] = append(o.byPrefix[p.WorkerPrefix], at)
		}
	}
	return o
}

// poolOf returns the pool of a node record, or NoPool. A feature by itself identifies a pool only
// if it is the first of the node: NodeSets can give their workers the features of other NodeSets.
func (o poolMatcher) poolOf(n *slurm.Node) int {
	if len(o.pools) == 0 {
		return NoPool
	}
	if name := nodeSetOfComment(n.Comment); name != "" {
		if at, ok := o.byName[name]; ok {
			return at
		}
		return NoPool // a worker of a NodeSet that is not one of the pools
	}
	if at := o.poolByWorkerName(n); at != NoPool {
		return at
	}
	for _, features := range [...][]string{n.Features, n.ActiveFeatures} {
		if len(features) > 0 {
			if at, ok := o.byFeature[features[0]]; ok {
				return at
			}
		}
	}
	return NoPool
}

// poolByWorkerName returns the only pool whose worker prefix and feature the node has, or NoPool if no pool or several
// match.
func (o poolMatcher) poolByWorkerName(n *slurm.Node) int {
	found := NoPool
	for end := len(n.Name); end > 0 && isDigit(n.Name[end-1]); end-- {
		for _, at := range o.byPrefix[n.Name[:end-1]] {
			feature := o.pools[at].Feature
			if !slices.Contains(n.Features, feature) && !slices.Contains(n.ActiveFeatures, feature) {
				continue
			}
			if found != NoPool {
				return NoPool
			}
			found = at
		}
	}
	return found
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

// OrdinalOf returns the ordinal of the named worker of the pool.
func (p *Pool) OrdinalOf(name string) (uint64, bool) {
	digits, ok := strings.CutPrefix(name, p.WorkerPrefix)
	if !ok || p.WorkerPrefix == "" {
		return 0, false
	}
	n, err := strconv.ParseUint(digits, 10, 32)
	return n, err == nil
}

// nodeSetOfComment returns the NodeSet in slurm-operator's comment on a node, as "namespace/name";
// empty for other comments. The comment is compact JSON, and names of Kubernetes objects contain
// nothing that JSON escapes.
func nodeSetOfComment(comment string) string {
	if !strings.HasPrefix(comment, "{") {
		return ""
	}
	namespace, name := jsonValueIn(comment, `"namespace":"`), jsonValueIn(comment, `"nodeSetName":"`)
	if namespace == "" || name == "" {
		return ""
	}
	return namespace + "/" + name
}

// hasNoPod reports whether slurm-operator's comment on a node names no pod. Such a record does not occupy a worker's
// place.
func hasNoPod(comment string) bool {
	return nodeSetOfComment(comment) != "" && strings.Contains(comment, `"podName":""`)
}

func jsonValueIn(comment, key string) string {
	_, rest, _ := strings.Cut(comment, key)
	value, _, _ := strings.Cut(rest, `"`)
	return value
}

// NodesOf returns the nodes that belong to the named pool, which is one of pools.
func NodesOf(name string, nodes []*slurm.Node, pools []Pool) []*slurm.Node {
	byName := slices.SortedFunc(slices.Values(pools), func(a, b Pool) int { return strings.Compare(a.Name, b.Name) })
	o := newPoolMatcher(byName)
	var out []*slurm.Node
	for _, n := range nodes {
		if at := o.poolOf(n); at != NoPool && byName[at].Name == name {
			out = append(out, n)
		}
	}
	return out
}

// SplitOrdinal splits the numeric suffix off a name; -1 for none.
func SplitOrdinal(name string) (string, int64) {
	head := strings.TrimRight(name, "0123456789")
	n, err := strconv.ParseInt(name[len(head):], 10, 64)
	if err != nil {
		return name, -1
	}
	return head, n
}
