package info

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/slurmtide/slurmtide/cmd/kubectl-slurm/internal/records"
	"github.com/slurmtide/slurmtide/slurmclient/hostlist"
	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

// Row is a row of sinfo.
type Row struct {
	Namespace string `json:"namespace"`
	Cluster   string `json:"cluster"`
	// Partition ends with a star if it is the default one. It is empty in the rows of -R.
	Partition    string `json:"partition,omitempty"`
	Availability string `json:"availability,omitempty"`
	TimeLimit    string `json:"timeLimit,omitempty"`
	// Nodes is the number of nodes as sinfo prints it.
	Nodes string `json:"nodes,omitempty"`
	// Usage are the numbers of allocated, idle, other and all nodes.
	Usage    string `json:"allocatedIdleOtherTotal,omitempty"`
	State    string `json:"state,omitempty"`
	Reason   string `json:"reason,omitempty"`
	User     string `json:"user,omitempty"`
	Time     string `json:"time,omitempty"`
	NodeList string `json:"nodeList"`
}

// Style is what the rows of a table are.
type Style string

// The styles of sinfo.
const (
	// ByState has a row for each state in each partition.
	ByState Style = "state"
	// Summary has a row for each partition (-s), ByNode one for each node in each partition (-N), and Reasons one for each
	// reason of nodes that are drained, down or failing (-R).
	Summary Style = "summary"
	ByNode  Style = "node"
	Reasons Style = "reasons"
)

// Cluster are the records of a Slurm cluster.
type Cluster struct {
	Namespace, Name string
	Nodes           []*slurm.Node
	Partitions      []*slurm.Partition
}

// Rows returns the rows of a cluster.
func (c *Cluster) Rows(style Style, zone *time.Location) []Row {
	partitions := slices.Clone(c.Partitions)
	slices.SortStableFunc(partitions, func(a, b *slurm.Partition) int {
		return cmp.Or(cmp.Compare(a.Position, b.Position), cmp.Compare(a.Name, b.Name))
	})
	nodes := slices.DeleteFunc(slices.Clone(c.Nodes), func(n *slurm.Node) bool { return n.State.Base == slurm.NodeFuture })
	slices.SortFunc(nodes, func(a, b *slurm.Node) int { return hostlist.Compare(a.Name, b.Name) })
	var rows []Row
	switch style {
	case Summary:
		rows = summaryRows(partitions, nodes)
	case ByNode:
		rows = nodeRows(partitions, nodes)
	case Reasons:
		rows = reasonRows(partitions, nodes, zone)
	default:
		rows = stateRows(partitions, nodes)
	}
	for i := range rows {
		rows[i].Namespace, rows[i].Cluster = c.Namespace, c.Name
	}
	return rows
}

// partitionRow returns the columns that describe a partition.
func partitionRow(p *slurm.Partition) Row {
	r := Row{Partition: p.Name, Availability: strings.ToLower(string(p.State)), TimeLimit: records.FormatLimit(p.MaxTime)}
	if p.Default {
		r.Partition += "*"
	}
	if p.State == slurm.PartitionInactive {
		r.Availability = "inact"
	}
	return r
}

func nodesOf(p *slurm.Partition, nodes []*slurm.Node) []*slurm.Node {
	return slices.DeleteFunc(slices.Clone(nodes), func(n *slurm.Node) bool { return !slices.Contains(n.Partitions, p.Name) })
}

// group are nodes that share a row. The first one determines its place.
type group struct {
	key   string
	nodes []*slurm.Node
}

// groupNodes groups nodes by key, with the highest rank of the first node first.
func groupNodes(nodes []*slurm.Node, key func(n *slurm.Node) string) []group {
	var out []group
	at := map[string]int{}
	for _, n := range nodes {
		k := key(n)
		i, known := at[k]
		if !known {
			i, at[k] = len(out), len(out)
			out = append(out, group{key: k})
		}
		out[i].nodes = append(out[i].nodes, n)
	}
	slices.SortStableFunc(out, func(a, b group) int { return -cmp.Compare(a.nodes[0].State.Rank(), b.nodes[0].State.Rank()) })
	return out
}

func (g group) hostlist() string {
	names := make([]string, len(g.nodes))
	for i, n := range g.nodes {
		names[i] = n.Name
	}
	return hostlist.Compress(names)
}

func stateRows(partitions []*slurm.Partition, nodes []*slurm.Node) []Row {
	var out []Row
	for _, p := range partitions {
		groups := groupNodes(nodesOf(p, nodes), func(n *slurm.Node) string { return n.State.Code() })
		for _, g := range groups {
			r := partitionRow(p)
			r.Nodes, r.State, r.NodeList = records.FormatCount(uint64(len(g.nodes))), g.key, g.hostlist()
			out = append(out, r)
		}
		if len(groups) == 0 {
			r := partitionRow(p)
			r.Nodes, r.State = "0", "n/a"
			out = append(out, r)
		}
	}
	return out
}

func summaryRows(partitions []*slurm.Partition, nodes []*slurm.Node) []Row {
	var out []Row
	for _, p := range partitions {
		own := nodesOf(p, nodes)
		var allocated, idle, other uint64
		for _, n := range own {
			switch {
			case n.State.Busy():
				allocated++
			case n.State.Base == slurm.NodeIdle && !n.State.Has(slurm.NodeDrain):
				idle++
			default:
				other++
			}
		}
		r := partitionRow(p)
		r.Usage = fmt.Sprintf("%s/%s/%s/%s", records.FormatCount(allocated), records.FormatCount(idle),
			records.FormatCount(other), records.FormatCount(uint64(len(own))))
		r.NodeList = group{nodes: own}.hostlist()
		out = append(out, r)
	}
	return out
}

func nodeRows(partitions []*slurm.Partition, nodes []*slurm.Node) []Row {
	var out []Row
	for _, n := range nodes {
		for _, p := range partitions {
			if slices.Contains(n.Partitions, p.Name) {
				r := partitionRow(p)
				r.Nodes, r.State, r.NodeList = "1", n.State.Code(), n.Name
				out = append(out, r)
			}
		}
	}
	return out
}

// reasonRows groups the nodes that have a reason, in the order of their first partitions.
func reasonRows(partitions []*slurm.Partition, nodes []*slurm.Node, zone *time.Location) []Row {
	var out []Row
	shown := map[string]bool{}
	for _, p := range partitions {
		own := slices.DeleteFunc(nodesOf(p, nodes), func(n *slurm.Node) bool { return shown[n.Name] || !hasReason(n) })
		for _, g := range groupNodes(own, func(n *slurm.Node) string {
			return fmt.Sprintf("%s\x00%s\x00%d", n.Reason, n.ReasonBy, n.ReasonAt)
		}) {
			// Nodes with the same reason in later partitions belong to this row.
			for _, n := range nodes {
				if a := g.nodes[0]; hasReason(n) && !slices.Contains(g.nodes, n) && len(n.Partitions) > 0 &&
					n.Reason == a.Reason && n.ReasonBy == a.ReasonBy && n.ReasonAt == a.ReasonAt {
					g.nodes = append(g.nodes, n)
				}
			}
			for _, n := range g.nodes {
				shown[n.Name] = true
			}
			first := g.nodes[0]
			out = append(out, Row{Reason: first.Reason, User: first.ReasonBy, Time: records.FormatDate(first.ReasonAt, zone),
				NodeList: g.hostlist()})
		}
	}
	return out
}

// hasReason reports whether sinfo -R shows a node.
func hasReason(n *slurm.Node) bool {
	return n.Reason != "" && (n.State.Any(slurm.NodeDrain|slurm.NodeFail) || n.State.Base == slurm.NodeDown ||
		n.State.Base == slurm.NodeError)
}
