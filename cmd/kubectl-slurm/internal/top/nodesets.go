package top

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	autoscalingv2 "k8s.io/api/autoscaling/v2"

	"github.com/slurmtide/slurmtide/cmd/kubectl-slurm/internal/table"
	"github.com/slurmtide/slurmtide/metricsapi"
	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
	"github.com/slurmtide/slurmtide/operator/scaling"
)

// NodeSet is a row of the table of NodeSets. Metrics that could not be read are nil.
type NodeSet struct {
	ClusterName
	Name string `json:"name"`
	// Replicas is spec.replicas, or the number of desired workers in the scaling mode DaemonSet.
	// Ready counts ready workers.
	Replicas int32 `json:"replicas"`
	Ready    int32 `json:"ready"`
	Draining int32 `json:"draining"`

	Required      *uint64 `json:"required"`
	Busy          *uint64 `json:"busy"`
	Idle          *uint64 `json:"idle"`
	Pending       *uint64 `json:"pending"`
	Booting       *uint64 `json:"booting"`
	Unusable      *uint64 `json:"unusable"`
	Unsatisfiable *uint64 `json:"unsatisfiableJobs"`

	Min        *int32 `json:"min"`
	Max        *int32 `json:"max"`
	Autoscaler string `json:"autoscaler,omitempty"`
}

// Numbers contains the metrics of a NodeSet that could be read, by name.
type Numbers map[string]uint64

// NodeSetMetrics are the metrics that the table of NodeSets shows.
func NodeSetMetrics() []string {
	return []string{"slurm_nodeset_required_nodes", "slurm_nodeset_busy_nodes", "slurm_nodeset_idle_nodes",
		"slurm_nodeset_pending_nodes", "slurm_nodeset_booting_nodes", "slurm_nodeset_unusable_nodes",
		"slurm_nodeset_unsatisfiable_jobs"}
}

// Of returns the value of a metric, or nil if it is unknown.
func (n Numbers) Of(metric string) *uint64 {
	if v, ok := n[metric]; ok {
		return &v
	}
	return nil
}

// NodeSets returns the table of NodeSets. hpas are the HPAs of the same namespaces, numbers the
// metrics by namespace/name.
func NodeSets(
	placed NamespaceColumn, nodeSets []v1beta1.NodeSet, hpas []autoscalingv2.HorizontalPodAutoscaler,
	numbers map[string]Numbers,
) *table.Table[NodeSet] {
	t := &table.Table[NodeSet]{Name: func(r *NodeSet) string { return "nodeset.slinky.slurm.net/" + r.Name }}
	for i := range nodeSets {
		t.Rows = append(t.Rows, nodeSetRow(&nodeSets[i], hpas,
			numbers[metricsapi.PoolName(nodeSets[i].Namespace, nodeSets[i].Name)]))
	}
	slices.SortStableFunc(t.Rows, func(a, b NodeSet) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	t.Columns = tableColumns(placed, func(r *NodeSet) ClusterName { return r.ClusterName },
		textColumn("NODESET", func(r *NodeSet) string { return r.Name }),
		table.Column[NodeSet]{Name: "REPLICAS", Value: func(r *NodeSet) table.Cell { return table.Count(r.Replicas) }},
		table.Column[NodeSet]{Name: "READY", Value: func(r *NodeSet) table.Cell { return table.Count(r.Ready) }},
		countColumn("REQUIRED", func(r *NodeSet) *uint64 { return r.Required }),
		countColumn("BUSY", func(r *NodeSet) *uint64 { return r.Busy }),
		countColumn("IDLE", func(r *NodeSet) *uint64 { return r.Idle }),
		countColumn("PENDING", func(r *NodeSet) *uint64 { return r.Pending }),
		table.Column[NodeSet]{Name: "MIN", Value: func(r *NodeSet) table.Cell { return limitCell(r.Min) }},
		table.Column[NodeSet]{Name: "MAX", Value: func(r *NodeSet) table.Cell { return limitCell(r.Max) }},
		wideColumn(countColumn("BOOTING", func(r *NodeSet) *uint64 { return r.Booting })),
		wideColumn(countColumn("UNUSABLE", func(r *NodeSet) *uint64 { return r.Unusable })),
		wideColumn(table.Column[NodeSet]{Name: "DRAINING",
			Value: func(r *NodeSet) table.Cell { return table.Count(r.Draining) }}),
		wideColumn(countColumn("UNSATISFIABLE", func(r *NodeSet) *uint64 { return r.Unsatisfiable })),
		wideColumn(textColumn("HPA", func(r *NodeSet) string { return r.Autoscaler })),
	)
	return t
}

// limitCell formats a limit. It is <none> for nil.
func limitCell(n *int32) table.Cell {
	if n == nil {
		return table.Text("")
	}
	return table.Number(fmt.Sprint(*n), float64(*n))
}

func nodeSetRow(n *v1beta1.NodeSet, hpas []autoscalingv2.HorizontalPodAutoscaler, numbers Numbers) NodeSet {
	r := NodeSet{
		ClusterName: ClusterName{n.Namespace, ClusterOf(n)}, Name: n.Name,
		Replicas: scaling.DesiredReplicas(n), Ready: n.Status.ReadyReplicas, Draining: n.Status.DrainingReplicas,
		Required: numbers.Of("slurm_nodeset_required_nodes"), Busy: numbers.Of("slurm_nodeset_busy_nodes"),
		Idle: numbers.Of("slurm_nodeset_idle_nodes"), Pending: numbers.Of("slurm_nodeset_pending_nodes"),
		Booting: numbers.Of("slurm_nodeset_booting_nodes"), Unusable: numbers.Of("slurm_nodeset_unusable_nodes"),
		Unsatisfiable: numbers.Of("slurm_nodeset_unsatisfiable_jobs"), Max: n.Spec.MaxReplicas,
	}
	var names []string
	for i, h := range ScalingAutoscalers(n, hpas) {
		names = append(names, h.Name)
		if most := scaling.MaxReplicas(n, h); i == 0 || *most > *r.Max {
			r.Max = most
		}
		r.Min = new(scaling.MinReplicas(h))
	}
	slices.Sort(names)
	r.Autoscaler = strings.Join(names, ",")
	return r
}

// ClusterOf returns the name of the Controller or Cluster that a NodeSet joins.
func ClusterOf(n *v1beta1.NodeSet) string {
	switch {
	case n.Spec.ClusterRef != nil:
		return n.Spec.ClusterRef.Name
	case n.Spec.ControllerRef != nil:
		return n.Spec.ControllerRef.Name
	}
	return ""
}

// ScalingAutoscalers returns the HPAs that scale a NodeSet.
func ScalingAutoscalers(
	n *v1beta1.NodeSet, hpas []autoscalingv2.HorizontalPodAutoscaler,
) []*autoscalingv2.HorizontalPodAutoscaler {
	var out []*autoscalingv2.HorizontalPodAutoscaler
	for i := range hpas {
		h := &hpas[i]
		if scaling.TargetsNodeSet(h) && h.Namespace == n.Namespace && h.Spec.ScaleTargetRef.Name == n.Name {
			out = append(out, h)
		}
	}
	return out
}
