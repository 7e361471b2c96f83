package top

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/slurmtide/slurmtide/cmd/kubectl-slurm/internal/table"
	"github.com/slurmtide/slurmtide/metricsapi/view/convert"
	view "github.com/slurmtide/slurmtide/metricsapi/view/v1alpha1"
	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

// Node is a row of the table of Slurm nodes.
type Node struct {
	ClusterName
	Object     string   `json:"object"`
	Name       string   `json:"name"`
	State      string   `json:"state"`
	States     []string `json:"states,omitempty"`
	Partitions []string `json:"partitions,omitempty"`
	Features   []string `json:"features,omitempty"`
	// CPUs and the other numbers are nil if only the worker's pod was read.
	CPUs            *uint64 `json:"cpus"`
	AllocatedCPUs   *uint64 `json:"allocatedCPUs"`
	Memory          *uint64 `json:"memoryMiB"`
	AllocatedMemory *uint64 `json:"allocatedMemoryMiB"`
	GPUs            *uint64 `json:"gpus"`
	AllocatedGPUs   *uint64 `json:"allocatedGPUs"`
	Load            string  `json:"load,omitempty"`
	// LastBusy is when the node last had a job. It is nil while the node has a job.
	LastBusy *time.Time `json:"lastBusy,omitempty"`
	Version  string     `json:"version,omitempty"`
	Reason   string     `json:"reason,omitempty"`
}

// Nodes returns the table of Slurm nodes. FUTURE nodes are omitted unless which is All.
func Nodes(now time.Time, placed NamespaceColumn, which RowFilter, nodes []view.SlurmNode) *table.Table[Node] {
	var rows []Node
	for i := range nodes {
		n := convert.NodeRecord(&nodes[i])
		if which == All || n.State.Base != slurm.NodeFuture {
			rows = append(rows, nodeRow(&nodes[i], n))
		}
	}
	return nodeTable(now, placed, rows)
}

func nodeTable(now time.Time, placed NamespaceColumn, rows []Node) *table.Table[Node] {
	slices.SortStableFunc(rows, func(a, b Node) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Cluster, b.Cluster))
	})
	t := &table.Table[Node]{Rows: rows, Name: func(r *Node) string { return r.Object }}
	t.Columns = tableColumns(placed, func(r *Node) ClusterName { return r.ClusterName },
		textColumn("NODE", func(r *Node) string { return r.Name }),
		textColumn("STATE", func(r *Node) string { return r.State }),
		table.Column[Node]{Name: "CPUS", Value: func(r *Node) table.Cell { return usedCell(r.AllocatedCPUs, r.CPUs) }},
		table.Column[Node]{Name: "CPU%",
			Value: func(r *Node) table.Cell { return percentCell(r.AllocatedCPUs, r.CPUs) }},
		table.Column[Node]{Name: "MEMORY",
			Value: func(r *Node) table.Cell { return usedMemoryCell(r.AllocatedMemory, r.Memory) }},
		table.Column[Node]{Name: "MEMORY%",
			Value: func(r *Node) table.Cell { return percentCell(r.AllocatedMemory, r.Memory) }},
		table.Column[Node]{Name: "GPUS", Value: func(r *Node) table.Cell { return usedCell(r.AllocatedGPUs, r.GPUs) }},
		shortColumn(60, textColumn("REASON", func(r *Node) string { return r.Reason })),
		wideColumn(textColumn("PARTITIONS", func(r *Node) string { return joinList(r.Partitions) })),
		wideColumn(textColumn("FEATURES", func(r *Node) string { return joinList(r.Features) })),
		wideColumn(textColumn("LOAD", func(r *Node) string { return r.Load })),
		wideColumn(table.Column[Node]{Name: "IDLE",
			Value: func(r *Node) table.Cell { return ageCell(now, r.LastBusy) }}),
		wideColumn(textColumn("VERSION", func(r *Node) string { return r.Version })),
	)
	return t
}

func nodeRow(v *view.SlurmNode, n *slurm.Node) Node {
	cpus, allocated := uint64(cmp.Or(n.EffectiveCPUs, n.CPUs)), uint64(n.AllocCPUs)
	gpus, allocatedGPUs := countGPUs(n.GRES), countGPUs(n.GRESUsed)
	r := Node{
		ClusterName: ClusterName{v.Namespace, v.Spec.Cluster.Name}, Object: "slurmnode.view.slinky.slurm.net/" + v.Name,
		Name: n.Name, State: n.State.Word(), States: n.State.Names(), Partitions: n.Partitions, Features: n.Features,
		CPUs: &cpus, AllocatedCPUs: &allocated, Memory: &n.MemoryMiB, AllocatedMemory: &n.AllocMemoryMiB, GPUs: &gpus,
		AllocatedGPUs: &allocatedGPUs,
		Load:          v.Status.Load, Version: n.Version, Reason: n.Reason,
	}
	if n.AllocCPUs == 0 && n.LastBusy.IsSet() {
		at := n.LastBusy.Time()
		r.LastBusy = &at
	}
	return r
}

func countGPUs(text string) uint64 {
	counts, _ := slurm.ParseGRES(text)
	return slurm.TRES{GRES: counts}.GPUs()
}

// Workers returns the table of Slurm nodes from the conditions of NodeSet pods, for use without the
// view. It has states and reasons but no resources.
func Workers(now time.Time, placed NamespaceColumn, pods []corev1.Pod) *table.Table[Node] {
	var rows []Node
	for i := range pods {
		pod := &pods[i]
		r := Node{
			ClusterName: ClusterName{pod.Namespace, pod.Labels[v1beta1.LabelCluster]}, Object: "pod/" + pod.Name,
			Name:  cmp.Or(pod.Labels[v1beta1.LabelPodHostname], pod.Name),
			State: strings.ToLower(string(pod.Status.Phase)),
		}
		for _, c := range pod.Status.Conditions {
			if state, ok := strings.CutPrefix(string(c.Type), v1beta1.PodConditionPrefix); ok &&
				c.Status == corev1.ConditionTrue {
				r.States = append(r.States, state)
				r.Reason = cmp.Or(r.Reason, c.Message)
			}
		}
		if len(r.States) > 0 {
			slices.Sort(r.States)
			r.State = strings.ToLower(strings.Join(r.States, "+"))
		}
		rows = append(rows, r)
	}
	return nodeTable(now, placed, rows)
}

func usedCell(part, all *uint64) table.Cell {
	if part == nil || all == nil {
		return table.UnknownCell()
	}
	return shareCell(*part, *all)
}

func usedMemoryCell(part, all *uint64) table.Cell {
	if part == nil || all == nil {
		return table.UnknownCell()
	}
	return table.Number(formatMemory(*part)+"/"+formatMemory(*all), float64(*part))
}

func percentCell(part, all *uint64) table.Cell {
	if part == nil || all == nil || *all == 0 {
		return table.UnknownCell()
	}
	p := 100 * float64(*part) / float64(*all)
	return table.Number(fmt.Sprintf("%.0f%%", p), p)
}
