package top

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/slurmtide/slurmtide/cmd/kubectl-slurm/internal/records"
	"github.com/slurmtide/slurmtide/cmd/kubectl-slurm/internal/table"
	"github.com/slurmtide/slurmtide/metricsapi/view/convert"
	view "github.com/slurmtide/slurmtide/metricsapi/view/v1alpha1"
	"github.com/slurmtide/slurmtide/slurmclient/demand/pending"
	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

// Job is a row of the table of jobs.
type Job struct {
	ClusterName
	// Object is the name of the object in the view.
	Object     string   `json:"object"`
	ID         string   `json:"id"`
	Name       string   `json:"name"`
	User       string   `json:"user,omitempty"`
	Account    string   `json:"account,omitempty"`
	QOS        string   `json:"qos,omitempty"`
	Partitions []string `json:"partitions,omitempty"`
	State      string   `json:"state"`
	// Time is how long the job has run or waited, in seconds.
	Time  uint64  `json:"seconds"`
	Nodes *uint64 `json:"nodes"`
	CPUs  *uint64 `json:"cpus"`
	GPUs  *uint64 `json:"gpus"`
	// Memory is in MiB.
	Memory   *uint64 `json:"memoryMiB"`
	Tasks    uint64  `json:"tasks"`
	Priority *uint64 `json:"priority,omitempty"`
	NodeList string  `json:"nodeList,omitempty"`
	Reason   string  `json:"reason,omitempty"`
	// ExitCode and ExitSignal are how a finished job ended.
	ExitCode   *uint64 `json:"exitCode,omitempty"`
	ExitSignal uint64  `json:"exitSignal,omitempty"`
}

// Jobs returns the table of jobs. Finished jobs are omitted unless which is All.
func Jobs(now time.Time, placed NamespaceColumn, which RowFilter, jobs []view.SlurmJob) *table.Table[Job] {
	t := &table.Table[Job]{Name: func(r *Job) string { return "slurmjob.view.slinky.slurm.net/" + r.Object }}
	for i := range jobs {
		j := convert.JobRecord(&jobs[i])
		if which == All || !j.State.Base.Finished() || j.State.Has(slurm.JobCompleting) {
			t.Rows = append(t.Rows, jobRow(now, &jobs[i], j))
		}
	}
	slices.SortStableFunc(t.Rows, func(a, b Job) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Cluster, b.Cluster))
	})
	t.Columns = tableColumns(placed, func(r *Job) ClusterName { return r.ClusterName },
		textColumn("JOBID", func(r *Job) string { return r.ID }),
		shortColumn(32, textColumn("NAME", func(r *Job) string { return r.Name })),
		textColumn("USER", func(r *Job) string { return r.User }),
		shortColumn(32, textColumn("PARTITION", func(r *Job) string { return joinList(r.Partitions) })),
		textColumn("STATE", func(r *Job) string { return r.State }),
		table.Column[Job]{Name: "TIME", Value: func(r *Job) table.Cell {
			return table.Number(duration.HumanDuration(time.Duration(r.Time)*time.Second), float64(r.Time))
		}},
		table.Column[Job]{Name: "NODES", Value: func(r *Job) table.Cell { return table.CountOf(r.Nodes) }},
		table.Column[Job]{Name: "CPUS", Value: func(r *Job) table.Cell { return table.CountOf(r.CPUs) }},
		table.Column[Job]{Name: "MEMORY", Value: func(r *Job) table.Cell {
			if r.Memory == nil {
				return table.UnknownCell()
			}
			return table.Number(formatMemory(*r.Memory), float64(*r.Memory))
		}},
		countColumn("GPUS", func(r *Job) *uint64 { return r.GPUs }),
		shortColumn(60, textColumn("WHERE/WHY", func(r *Job) string { return cmp.Or(r.NodeList, r.Reason) })),
		wideColumn(textColumn("ACCOUNT", func(r *Job) string { return r.Account })),
		wideColumn(textColumn("QOS", func(r *Job) string { return r.QOS })),
		wideColumn(table.Column[Job]{Name: "PRIORITY",
			Value: func(r *Job) table.Cell { return table.CountOf(r.Priority) }}),
		wideColumn(table.Column[Job]{Name: "EXIT", Value: exitCell}),
		wideColumn(table.Column[Job]{Name: "TASKS", Value: func(r *Job) table.Cell { return table.Count(r.Tasks) }}),
	)
	return t
}

// exitCell formats how a finished job ended as sacct does: exit code and signal. It is <none> for other jobs.
func exitCell(r *Job) table.Cell {
	if r.ExitCode == nil {
		return table.Text("")
	}
	return table.Number(fmt.Sprintf("%d:%d", *r.ExitCode, r.ExitSignal), float64(*r.ExitCode))
}

// RowFilter says whether finished jobs and FUTURE nodes are shown.
type RowFilter string

// The row filters.
const (
	// Present: unfinished jobs, and nodes that are not FUTURE.
	Present RowFilter = "present"
	// All: also finished jobs and FUTURE nodes.
	All RowFilter = "all"
)

func jobRow(now time.Time, v *view.SlurmJob, j *slurm.Job) Job {
	tasks := uint64(1)
	if n, _ := pending.CountTasks(j); j.IsArrayBase() && n > 0 {
		tasks = n
	}
	r := Job{
		ClusterName: ClusterName{v.Namespace, v.Spec.Cluster.Name}, Object: v.Name,
		ID: records.JobID(j), Name: j.Name, User: j.UserName(), Account: j.Account(), QOS: j.QOS(),
		Partitions: v.Spec.Partitions,
		State:      j.State.String(), Nodes: numberValue(j.NodeCount), CPUs: numberValue(j.CPUs),
		Tasks: tasks, Priority: numberValue(j.Priority), NodeList: j.Nodes,
	}
	if cmp.Or(j.TRESAllocated, j.TRESRequested) != "" {
		has, gpus := jobTRES(j)
		r.Memory, r.GPUs = &has.MemoryMiB, gpus
	}
	r.Time = shownSeconds(j, slurm.At(now))
	if j.State.Base.Finished() {
		r.ExitSignal = uint64(j.ExitSignal())
		if code, isKnown := j.ExitCode().Value(); isKnown {
			r.ExitCode = &code
		}
	}
	if j.State.Base == slurm.JobPending || j.State.Base.Finished() {
		r.Reason = records.Reason(j)
	}
	return r
}

// jobTRES returns the allocated or requested TRES of a job, and its GPUs, nil if their number is not known. It ignores what it
// cannot parse.
func jobTRES(j *slurm.Job) (tres slurm.TRES, gpus *uint64) {
	text, hasGPUs := j.RequestedTRES()
	if j.TRESAllocated != "" {
		text, hasGPUs = j.AllocatedTRES()
	}
	tres, _ = slurm.ParseTRES(text)
	if !hasGPUs {
		return tres, nil
	}
	return tres, new(tres.GPUs())
}

func numberValue(n slurm.Number) *uint64 {
	if v, ok := n.Value(); ok {
		return &v
	}
	return nil
}

// shownSeconds returns how long the job has run, or how long it waits or waited if it has not started.
func shownSeconds(j *slurm.Job, now slurm.Time) uint64 {
	if j.State.Base != slurm.JobPending && j.StartTime.IsSet() {
		return uint64(j.RunTime(now) / time.Second)
	}
	end := now
	if j.State.Base.Finished() && j.EndTime.IsSet() && j.EndTime != slurm.Never {
		end = j.EndTime
	}
	if !j.SubmitTime.IsSet() {
		return 0
	}
	return uint64(max(0, end-j.SubmitTime))
}
