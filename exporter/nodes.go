package exporter

import (
	"slices"
	"strings"

	"github.com/slurmtide/slurmtide/slurmclient"
	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

func nodesCollector() collector {
	return collector{
		name: "nodes", set: Native, help: "nodes by state and their resources, in total and for each node",
		needs:    []slurmclient.Resource{slurmclient.Nodes},
		families: slices.Concat(nodeSumFamilies(), nodeResourceFamilies(), nodeDetailFamilies()),
	}
}

// nodeSumFamilies returns the families without the label node.
func nodeSumFamilies() []family {
	return []family{
		{"slurm_nodes", gauge, "Nodes by state as sinfo shows it; a node is in exactly one state.", []string{"state"},
			readAllNodes(func(t *nodeTally, out *samples) { putWords(t, out) })},
		{"slurm_nodes_flagged", gauge,
			"Nodes by flag, such as drain or not_responding; a node may have several flags.",
			[]string{"flag"}, readAllNodes(func(t *nodeTally, out *samples) {
				for _, f := range nodeFlagNames() {
					out.addCount(t.byFlag[f.bit], f.name)
				}
			})},
		{"slurm_cpus", gauge, "CPUs that jobs may use, by state: allocated, idle, or other (idle on a node that is " +
			"down or drained).",
			[]string{"state"}, readAllNodes(func(t *nodeTally, out *samples) { putUsage(out, t.cpus, 1) })},
		{"slurm_memory_bytes", gauge,
			"Memory of the nodes by state: allocated, idle, or other (idle on a node that is down or drained).",
			[]string{"state"}, readAllNodes(func(t *nodeTally, out *samples) { putUsage(out, t.memoryMiB, mebibyte) })},
		{"slurm_gpus", gauge, "GPUs of the nodes by type and state: allocated, idle, or other (idle on a node that " +
			"is down or drained).",
			[]string{"type", "state"}, readAllNodes(func(t *nodeTally, out *samples) {
				for _, kind := range sortedKeys(t.gpus) {
					putUsage(out, *t.gpus[kind], 1, kind)
				}
			})},
	}
}

func readAllNodes(put func(t *nodeTally, out *samples)) func(*snapshotView, *samples) {
	return func(v *snapshotView, out *samples) {
		if v.nodes != nil {
			put(&v.nodes.all, out)
		}
	}
}

// putWords adds a sample for every state.
func putWords(t *nodeTally, out *samples, labels ...string) {
	for _, w := range slurm.NodeWords() {
		out.addCount(t.byWord[w], append(labels, w)...)
	}
}

func putUsage(out *samples, s usageSplit, unit float64, labels ...string) {
	out.add(float64(s.allocated)*unit, append(labels, "allocated")...)
	out.add(float64(s.idle)*unit, append(labels, "idle")...)
	out.add(float64(s.other)*unit, append(labels, "other")...)
}

type flagBit struct {
	bit  int
	name string
}

// nodeFlagNames lists the flags of nodes as label values.
func nodeFlagNames() []flagBit {
	var out []flagBit
	for i, n := range slurm.NodeFlagNames() {
		out = append(out, flagBit{i, labelSpelling(n)})
	}
	return out
}

// nodeFamily returns a family with the label node.
func nodeFamily(name, help string, put func(n *nodeFacts, out *samples)) family {
	return labelledNodeFamily(name, help, nil, put)
}

func labelledNodeFamily(name, help string, labels []string, put func(n *nodeFacts, out *samples)) family {
	return family{name, gauge, help, append([]string{"node"}, labels...), func(v *snapshotView, out *samples) {
		for _, n := range v.nodesWithSeries() {
			put(n, out)
		}
	}}
}

// nodesWithSeries returns the nodes within the limit.
func (v *snapshotView) nodesWithSeries() []*nodeFacts {
	if v.nodes == nil {
		return nil
	}
	if limit := v.limits.Nodes; limit > 0 && limit < len(v.nodes.nodes) {
		return v.nodes.nodes[:limit]
	}
	return v.nodes.nodes
}

func nodeResourceFamilies() []family {
	return []family{
		nodeFamily("slurm_node_cpus", "CPUs of the node.",
			func(n *nodeFacts, out *samples) { out.addCount(uint64(n.CPUs), n.Name) }),
		nodeFamily("slurm_node_cpus_effective", "CPUs of the node that jobs may use.",
			func(n *nodeFacts, out *samples) { out.addCount(uint64(n.EffectiveCPUs), n.Name) }),
		nodeFamily("slurm_node_cpus_allocated", "Allocated CPUs of the node.",
			func(n *nodeFacts, out *samples) { out.addCount(uint64(n.AllocCPUs), n.Name) }),
		nodeFamily("slurm_node_cpus_idle", "CPUs of the node that are not allocated, whether jobs can use them or not.",
			func(n *nodeFacts, out *samples) { out.addCount(uint64(n.IdleCPUs), n.Name) }),
		nodeFamily("slurm_node_load1", "One-minute load average as slurmd reported it.",
			func(n *nodeFacts, out *samples) { out.addFloat(n.Load, n.Name) }),
		nodeFamily("slurm_node_memory_bytes", "Memory of the node.",
			func(n *nodeFacts, out *samples) { out.add(float64(n.MemoryMiB)*mebibyte, n.Name) }),
		nodeFamily("slurm_node_memory_allocated_bytes", "Allocated memory of the node.",
			func(n *nodeFacts, out *samples) { out.add(float64(n.AllocMemoryMiB)*mebibyte, n.Name) }),
		nodeFamily("slurm_node_memory_free_bytes", "Free memory as the node's operating system reports it.",
			func(n *nodeFacts, out *samples) { out.addNumber(n.FreeMemoryMiB, mebibyte, n.Name) }),
		labelledNodeFamily("slurm_node_gpus", "GPUs of the node by type.", []string{"type"}, func(n *nodeFacts, out *samples) {
			for _, g := range n.gpus {
				out.addCount(g.total, n.Name, g.kind)
			}
		}),
		labelledNodeFamily("slurm_node_gpus_allocated", "Allocated GPUs of the node by type.", []string{"type"},
			func(n *nodeFacts, out *samples) {
				for _, g := range n.gpus {
					out.addCount(g.used, n.Name, g.kind)
				}
			}),
		nodeFamily("slurm_node_weight", "Scheduling weight of the node; nodes with lower weight are allocated first.",
			func(n *nodeFacts, out *samples) { out.addCount(uint64(n.Weight), n.Name) }),
	}
}

func nodeDetailFamilies() []family {
	return []family{
		labelledNodeFamily("slurm_node_state", "1 for the node's state as sinfo shows it, with its flags joined by +.",
			[]string{"state", "flags"},
			func(n *nodeFacts, out *samples) { out.add(1, n.Name, n.word, formatNodeFlags(n.State)) }),
		labelledNodeFamily("slurm_node_info", "Always 1; the labels describe the node and rarely change.",
			[]string{"address", "version", "architecture", "features", "instance_type", "partitions"},
			func(n *nodeFacts, out *samples) {
				out.add(1, n.Name, n.Address, n.Version, n.Architecture, strings.Join(n.Features, ","), n.InstanceType,
					strings.Join(n.Partitions, ","))
			}),
		labelledNodeFamily("slurm_node_reason_info", "1 for a node that is drained or down with a reason.",
			[]string{"reason", "user"}, func(n *nodeFacts, out *samples) {
				if n.Reason != "" {
					out.add(1, n.Name, shortenText(n.Reason), n.ReasonBy)
				}
			}),
		nodeFamily("slurm_node_reason_time_seconds", "When the node's reason was set, in Unix time.",
			func(n *nodeFacts, out *samples) {
				if n.Reason != "" {
					out.addTime(n.ReasonAt, n.Name)
				}
			}),
		nodeFamily("slurm_node_boot_time_seconds", "When the node booted, in Unix time.",
			func(n *nodeFacts, out *samples) { out.addTime(n.BootTime, n.Name) }),
		nodeFamily("slurm_node_last_busy_time_seconds", "When the node last had work, in Unix time.",
			func(n *nodeFacts, out *samples) { out.addTime(n.LastBusy, n.Name) }),
	}
}

func formatNodeFlags(s slurm.NodeState) string {
	return labelSpelling(strings.Join(s.Names()[1:], "+"))
}

// maxTextLength bounds label values that users write, in bytes.
const maxTextLength = 128

func shortenText(text string) string {
	if len(text) <= maxTextLength {
		return text
	}
	return strings.ToValidUTF8(text[:maxTextLength], "") + "…"
}
