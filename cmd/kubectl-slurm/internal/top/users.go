package top

import (
	"cmp"
	"maps"
	"slices"

	"github.com/slurmtide/slurmtide/cmd/kubectl-slurm/internal/table"
	"github.com/slurmtide/slurmtide/metricsapi/view/convert"
	view "github.com/slurmtide/slurmtide/metricsapi/view/v1alpha1"
	"github.com/slurmtide/slurmtide/slurmclient/demand/pending"
	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

// User is a row of the table of users.
type User struct {
	ClusterName
	Name     string   `json:"name"`
	Accounts []string `json:"accounts,omitempty"`
	// Running and Pending count jobs. Each array task counts as one job.
	Running uint64 `json:"running"`
	Pending uint64 `json:"pending"`
	// Nodes, CPUs, Memory (MiB) and GPUs are allocated to running jobs. A node with two jobs counts
	// twice.
	Nodes  uint64 `json:"nodes"`
	CPUs   uint64 `json:"cpus"`
	Memory uint64 `json:"memoryMiB"`
	// GPUs is null if the number of a job's GPUs is not known.
	GPUs *uint64 `json:"gpus"`
}

// Users returns the table of users with jobs in the view, sorted by CPUs in descending order.
func Users(placed NamespaceColumn, jobs []view.SlurmJob) *table.Table[User] {
	type key struct {
		ClusterName
		user string
	}
	rows := map[key]*User{}
	for i := range jobs {
		v := &jobs[i]
		j := convert.JobRecord(v)
		if j.State.Base.Finished() {
			continue
		}
		k := key{ClusterName{v.Namespace, v.Spec.Cluster.Name},
			cmp.Or(j.UserName(), slurm.Num(uint64(j.UserID())).String())}
		if rows[k] == nil {
			rows[k] = &User{ClusterName: k.ClusterName, Name: k.user, GPUs: new(uint64)}
		}
		rows[k].addJob(j)
	}
	t := &table.Table[User]{Name: func(r *User) string { return "user/" + r.Name }}
	for _, r := range slices.SortedFunc(maps.Values(rows), compareUsers) {
		slices.Sort(r.Accounts)
		t.Rows = append(t.Rows, *r)
	}
	t.Columns = tableColumns(placed, func(r *User) ClusterName { return r.ClusterName },
		textColumn("USER", func(r *User) string { return r.Name }),
		table.Column[User]{Name: "RUNNING", Value: func(r *User) table.Cell { return table.Count(r.Running) }},
		table.Column[User]{Name: "PENDING", Value: func(r *User) table.Cell { return table.Count(r.Pending) }},
		table.Column[User]{Name: "NODES", Value: func(r *User) table.Cell { return table.Count(r.Nodes) }},
		table.Column[User]{Name: "CPUS", Value: func(r *User) table.Cell { return table.Count(r.CPUs) }},
		table.Column[User]{Name: "MEMORY",
			Value: func(r *User) table.Cell { return table.Number(formatMemory(r.Memory), float64(r.Memory)) }},
		countColumn("GPUS", func(r *User) *uint64 { return r.GPUs }),
		wideColumn(textColumn("ACCOUNTS", func(r *User) string { return joinList(r.Accounts) })),
	)
	return t
}

func compareUsers(a, b *User) int {
	return cmp.Or(
		cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Cluster, b.Cluster),
		cmp.Compare(b.CPUs, a.CPUs), cmp.Compare(b.Pending, a.Pending), cmp.Compare(a.Name, b.Name),
	)
}

func (r *User) addJob(j *slurm.Job) {
	if j.Account() != "" && !slices.Contains(r.Accounts, j.Account()) {
		r.Accounts = append(r.Accounts, j.Account())
	}
	if j.State.Base == slurm.JobPending {
		tasks, _ := pending.CountTasks(j)
		r.Pending += tasks
		return
	}
	has, gpus := jobTRES(j)
	if j.State.Base == slurm.JobRunning {
		r.Running++
	}
	r.Nodes += j.NodeCount.Or(0)
	r.CPUs += j.CPUs.Or(0)
	r.Memory += has.MemoryMiB
	if gpus == nil || r.GPUs == nil {
		r.GPUs = nil
		return
	}
	*r.GPUs += *gpus
}
