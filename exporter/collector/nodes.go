package collector

import (
	"maps"
	"slices"
	"strings"

	"github.com/slurmtide/slurmtide/exporter/exposition"
	"github.com/slurmtide/slurmtide/exporter/tally"
	"github.com/slurmtide/slurmtide/slurmclient"
	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

func nodesCollector() exposition.Collector {
	return exposition.Collector{
		Name: "nodes", Set: exposition.Native, Help: "nodes by state and their resources, in total and for each node, failures and drains",
		Needs:      []slurmclient.Resource{slurmclient.Nodes},
		NewHistory: func() exposition.History { return NewNodeHistory() },
		Families:   slices.Concat(nodeSumFamilies(), nodeResourceFamilies(), nodeDetailFamilies()),
	}
}

// nodeSumFamilies returns the families without the label node.
func nodeSumFamilies() []exposition.Family {
	return []exposition.Family{
		{Name: "slurm_nodes", Kind: exposition.Gauge,
			Help: "Nodes by state as sinfo shows it; a node is in exactly one state.", Labels: []string{"state"},
			Values: readAllNodes(func(t *tally.Nodes, out *exposition.Samples) { putWords(t, out) })},
		{Name: "slurm_nodes_flagged", Kind: exposition.Gauge,
			Help:   "Nodes by flag, such as drain or not_responding; a node may have several flags.",
			Labels: []string{"flag"}, Values: readAllNodes(func(t *tally.Nodes, out *exposition.Samples) {
				for _, f := range nodeFlagNames() {
					out.AddCount(t.ByFlag[f.bit], f.name)
				}
			})},
		{Name: "slurm_cpus", Kind: exposition.Gauge,
			Help: "CPUs that jobs may use, by state: allocated, idle, or other (idle on a node that is " +
				"down or drained).",
			Labels: []string{"state"},
			Values: readAllNodes(func(t *tally.Nodes, out *exposition.Samples) { putUsage(out, t.CPUs, 1) })},
		{Name: "slurm_memory_bytes", Kind: exposition.Gauge,
			Help:   "Memory of the nodes by state: allocated, idle, or other (idle on a node that is down or drained).",
			Labels: []string{"state"},
			Values: readAllNodes(func(t *tally.Nodes,
				out *exposition.Samples) {
				putUsage(out, t.MemoryMiB, mebibyte)
			})},
		{Name: "slurm_gpus", Kind: exposition.Gauge,
			Help: "GPUs of the nodes by type and state: allocated, idle, or other (idle on a node that " +
				"is down or drained).",
			Labels: []string{"type", "state"}, Values: readAllNodes(func(t *tally.Nodes, out *exposition.Samples) {
				for _, kind := range slices.Sorted(maps.Keys(t.GPUs)) {
					putUsage(out, *t.GPUs[kind], 1, kind)
				}
			})},
		{Name: "slurm_reservation_nodes_by_state", Kind: exposition.Gauge,
			Help:   "Nodes of active reservations by state as sinfo shows it.",
			Labels: []string{"reservation", "state"}, Values: func(v *tally.View, out *exposition.Samples) {
				if v.NodeTotals == nil {
					return
				}
				for _, name := range slices.Sorted(maps.Keys(v.NodeTotals.ByReservation)) {
					putWords(v.NodeTotals.ByReservation[name], out, name)
				}
			}},
	}
}

func readAllNodes(put func(t *tally.Nodes, out *exposition.Samples)) func(*tally.View, *exposition.Samples) {
	return func(v *tally.View, out *exposition.Samples) {
		if v.NodeTotals != nil {
			put(&v.NodeTotals.All, out)
		}
	}
}

// putWords adds a sample for every state.
func putWords(t *tally.Nodes, out *exposition.Samples, labels ...string) {
	for _, w := range slurm.NodeWords() {
		out.AddCount(t.ByWord[w], append(labels, w)...)
	}
}

func putUsage(out *exposition.Samples, s tally.Usage, unit float64, labels ...string) {
	out.Add(float64(s.Allocated)*unit, append(labels, "allocated")...)
	out.Add(float64(s.Idle)*unit, append(labels, "idle")...)
	out.Add(float64(s.Other)*unit, append(labels, "other")...)
}

type flagBit struct {
	bit  int
	name string
}

// nodeFlagNames lists the flags of nodes as label values.
func nodeFlagNames() []flagBit {
	var out []flagBit
	for i, n := range slurm.NodeFlagNames() {
		out = append(out, flagBit{i, exposition.LabelSpelling(n)})
	}
	return out
}

// nodeFamily returns a family with the label node.
func nodeFamily(name, help string, put func(n *tally.NodeFacts, out *exposition.Samples)) exposition.Family {
	return labelledNodeFamily(name, help, nil, put)
}

func labelledNodeFamily(name, help string, labels []string,
	put func(n *tally.NodeFacts, out *exposition.Samples)) exposition.Family {
	return exposition.Family{Name: name, Kind: exposition.Gauge, Help: help,
		Labels: append([]string{"node"}, labels...), Values: func(v *tally.View, out *exposition.Samples) {
			for _, n := range nodesWithSeries(v) {
				put(n, out)
			}
		}}
}

// nodesWithSeries returns the nodes within the limit.
func nodesWithSeries(v *tally.View) []*tally.NodeFacts {
	if v.NodeTotals == nil {
		return nil
	}
	if limit := v.Limits.Nodes; limit > 0 && limit < len(v.NodeTotals.Nodes) {
		return v.NodeTotals.Nodes[:limit]
	}
	return v.NodeTotals.Nodes
}

func nodeResourceFamilies() []exposition.Family {
	return []exposition.Family{
		nodeFamily("slurm_node_cpus", "CPUs of the node.",
			func(n *tally.NodeFacts, out *exposition.Samples) { out.AddCount(uint64(n.CPUs), n.Name) }),
		nodeFamily("slurm_node_cpus_effective", "CPUs of the node that jobs may use.",
			func(n *tally.NodeFacts, out *exposition.Samples) { out.AddCount(uint64(n.EffectiveCPUs), n.Name) }),
		nodeFamily("slurm_node_cpus_allocated", "Allocated CPUs of the node.",
			func(n *tally.NodeFacts, out *exposition.Samples) { out.AddCount(uint64(n.AllocCPUs), n.Name) }),
		nodeFamily("slurm_node_cpus_idle", "CPUs of the node that are not allocated, whether jobs can use them or not.",
			func(n *tally.NodeFacts, out *exposition.Samples) { out.AddCount(uint64(n.IdleCPUs), n.Name) }),
		nodeFamily("slurm_node_load1", "One-minute load average as slurmd reported it.",
			func(n *tally.NodeFacts, out *exposition.Samples) { out.AddFloat(n.Load, n.Name) }),
		nodeFamily("slurm_node_memory_bytes", "Memory of the node.",
			func(n *tally.NodeFacts, out *exposition.Samples) { out.Add(float64(n.MemoryMiB)*mebibyte, n.Name) }),
		nodeFamily("slurm_node_memory_allocated_bytes", "Allocated memory of the node.",
			func(n *tally.NodeFacts, out *exposition.Samples) { out.Add(float64(n.AllocMemoryMiB)*mebibyte, n.Name) }),
		nodeFamily("slurm_node_memory_free_bytes", "Free memory as the node's operating system reports it.",
			func(n *tally.NodeFacts, out *exposition.Samples) { out.AddNumber(n.FreeMemoryMiB, mebibyte, n.Name) }),
		labelledNodeFamily("slurm_node_gpus", "GPUs of the node by type.", []string{"type"},
			func(n *tally.NodeFacts, out *exposition.Samples) {
				for _, g := range n.GPUs {
					out.AddCount(g.Total, n.Name, g.Kind)
				}
			}),
		labelledNodeFamily("slurm_node_gpus_allocated", "Allocated GPUs of the node by type.", []string{"type"},
			func(n *tally.NodeFacts, out *exposition.Samples) {
				for _, g := range n.GPUs {
					out.AddCount(g.Used, n.Name, g.Kind)
				}
			}),
		labelledNodeFamily("slurm_node_gres", "Generic resources of the node other than GPUs, such as shard or mps, by type.",
			[]string{"gres", "type"}, func(n *tally.NodeFacts, out *exposition.Samples) {
				for _, g := range n.OtherGRES {
					out.AddCount(g.Total, n.Name, g.Name, g.Kind)
				}
			}),
		labelledNodeFamily("slurm_node_gres_allocated", "Allocated generic resources of the node other than GPUs, by type.",
			[]string{"gres", "type"}, func(n *tally.NodeFacts, out *exposition.Samples) {
				for _, g := range n.OtherGRES {
					out.AddCount(g.Used, n.Name, g.Name, g.Kind)
				}
			}),
		nodeFamily("slurm_node_weight", "Scheduling weight of the node; nodes with lower weight are allocated first.",
			func(n *tally.NodeFacts, out *exposition.Samples) { out.AddCount(uint64(n.Weight), n.Name) }),
	}
}

func nodeDetailFamilies() []exposition.Family {
	return []exposition.Family{
		labelledNodeFamily("slurm_node_state", "1 for the node's state as sinfo shows it, with its flags joined by +.",
			[]string{"state", "flags"},
			func(n *tally.NodeFacts, out *exposition.Samples) {
				out.Add(1, n.Name, n.Word, formatNodeFlags(n.State))
			}),
		labelledNodeFamily("slurm_node_info", "Always 1; the labels describe the node and rarely change.",
			[]string{"address", "version", "architecture", "features", "instance_type", "partitions"},
			func(n *tally.NodeFacts, out *exposition.Samples) {
				out.Add(1, n.Name, n.Address, n.Version, n.Architecture, strings.Join(n.Features, ","), n.InstanceType,
					strings.Join(n.Partitions, ","))
			}),
		labelledNodeFamily("slurm_node_reason_info", "1 for a node that is drained or down with a reason.",
			[]string{"reason", "user"}, func(n *tally.NodeFacts, out *exposition.Samples) {
				if n.Reason != "" {
					out.Add(1, n.Name, shortenText(n.Reason), n.ReasonBy)
				}
			}),
		nodeFamily("slurm_node_reason_time_seconds", "When the node's reason was set, in Unix time.",
			func(n *tally.NodeFacts, out *exposition.Samples) {
				if n.Reason != "" {
					out.AddTime(n.ReasonAt, n.Name)
				}
			}),
		nodeFamily("slurm_node_boot_time_seconds", "When the node booted, in Unix time.",
			func(n *tally.NodeFacts, out *exposition.Samples) { out.AddTime(n.BootTime, n.Name) }),
		nodeFamily("slurm_node_last_busy_time_seconds", "When the node last had work, in Unix time.",
			func(n *tally.NodeFacts, out *exposition.Samples) { out.AddTime(n.LastBusy, n.Name) }),
	}
}

func formatNodeFlags(s slurm.NodeState) string {
	return exposition.LabelSpelling(strings.Join(s.Names()[1:], "+"))
}

// maxTextLength bounds label values that users write, in bytes.
const maxTextLength = 128

func shortenText(text string) string {
	if len(text) <= maxTextLength {
		return text
	}
	return strings.ToValidUTF8(text[:maxTextLength], "") + "…"
}
