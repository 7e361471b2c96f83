package top

import (
	"time"

	"github.com/slurmtide/slurmtide/cmd/kubectl-slurm/internal/table"
)

// Partition is a row of the table of partitions. Fields of the view are empty without it. Metrics
// that could not be read are nil.
type Partition struct {
	ClusterName
	// Name is empty in the row for all partitions of the cluster.
	Name    string  `json:"name,omitempty"`
	State   string  `json:"state,omitempty"`
	Default bool    `json:"default,omitempty"`
	Nodes   *uint64 `json:"nodes"`
	CPUs    *uint64 `json:"cpus"`

	Busy     *uint64 `json:"busy"`
	Idle     *uint64 `json:"idle"`
	Required *uint64 `json:"required"`
	Running  *uint64 `json:"running"`
	Pending  *uint64 `json:"pending"`
	Eligible *uint64 `json:"eligible"`
	// Oldest is the wait time of the longest waiting job in seconds.
	Oldest *uint64 `json:"oldestPendingSeconds"`
}

// PartitionMetrics returns the names of the metrics in a row.
func PartitionMetrics() []string {
	return []string{
		"slurm_partition_busy_nodes", "slurm_partition_idle_nodes", "slurm_partition_required_nodes",
		"slurm_partition_running_jobs",
		"slurm_partition_pending_jobs", "slurm_partition_eligible_pending_jobs",
		"slurm_partition_oldest_pending_seconds",
	}
}

// Fill sets the fields that come from metrics.
func (p *Partition) Fill(n Numbers) {
	p.Busy, p.Idle = n.Of("slurm_partition_busy_nodes"), n.Of("slurm_partition_idle_nodes")
	p.Required, p.Running = n.Of("slurm_partition_required_nodes"), n.Of("slurm_partition_running_jobs")
	p.Pending, p.Eligible = n.Of("slurm_partition_pending_jobs"), n.Of("slurm_partition_eligible_pending_jobs")
	p.Oldest = n.Of("slurm_partition_oldest_pending_seconds")
}

// Partitions returns the table of partitions.
func Partitions(placed NamespaceColumn, rows []Partition) *table.Table[Partition] {
	t := &table.Table[Partition]{Rows: rows, Name: func(r *Partition) string {
		if r.Name == "" {
			return "cluster/" + r.Cluster
		}
		return "slurmpartition.view.slinky.slurm.net/" + r.Cluster + "." + r.Name
	}}
	t.Columns = tableColumns(placed, func(r *Partition) ClusterName { return r.ClusterName },
		textColumn("PARTITION", partitionName),
		textColumn("STATE", func(r *Partition) string { return r.State }),
		countColumn("NODES", func(r *Partition) *uint64 { return r.Nodes }),
		countColumn("BUSY", func(r *Partition) *uint64 { return r.Busy }),
		countColumn("IDLE", func(r *Partition) *uint64 { return r.Idle }),
		countColumn("REQUIRED", func(r *Partition) *uint64 { return r.Required }),
		countColumn("RUNNING", func(r *Partition) *uint64 { return r.Running }),
		countColumn("PENDING", func(r *Partition) *uint64 { return r.Pending }),
		countColumn("ELIGIBLE", func(r *Partition) *uint64 { return r.Eligible }),
		table.Column[Partition]{Name: "OLDEST", Value: func(r *Partition) table.Cell {
			switch {
			case r.Oldest == nil:
				return table.UnknownCell()
			case r.Pending != nil && *r.Pending == 0:
				return table.Text("") // nothing waits
			}
			return durationCell(time.Duration(*r.Oldest) * time.Second)
		}},
		wideColumn(countColumn("CPUS", func(r *Partition) *uint64 { return r.CPUs })),
	)
	return t
}

// partitionName marks the default partition with an asterisk, as sinfo does.
func partitionName(p *Partition) string {
	switch {
	case p.Name == "":
		return "(all)"
	case p.Default:
		return p.Name + "*"
	}
	return p.Name
}
