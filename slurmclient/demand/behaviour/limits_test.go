package behaviour

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slurmtide/slurmtide/slurmclient/demand"
	"github.com/slurmtide/slurmtide/slurmclient/demand/demandtest"
	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

// ownedBy sets the user, the account and the QOS of a job.
func ownedBy(user, account, qos string) demandtest.JobOption {
	return func(j *slurm.Job) {
		j.EditOwner(func(o *slurm.JobOwner) { o.UserName, o.Account, o.QOS = user, account, qos })
	}
}

// withTRES sets the requested TRES, and the allocated TRES of a running job.
func withTRES(tres string) demandtest.JobOption {
	return func(j *slurm.Job) {
		j.TRESRequested = tres
		if j.State.Base == slurm.JobRunning {
			j.TRESAllocated = tres
		}
	}
}

// TestNoMoreJobsAreEligibleThanLimitsLetRun expects the jobs that slurmctld 24.11 and 26.05 started with enough nodes.
func TestNoMoreJobsAreEligibleThanLimitsLetRun(t *testing.T) {
	tres := func(name string, n uint64) map[string]uint64 { return map[string]uint64{name: n} }
	ml := func(change func(*slurm.Association)) slurm.Association {
		a := slurm.Association{Account: "ml", ParentAccount: "root"}
		change(&a)
		return a
	}
	alice := slurm.Association{Account: "ml", User: "alice"}
	mine := ownedBy("alice", "ml", "q")
	runs := func(id uint32, more ...demandtest.JobOption) *slurm.Job {
		return demandtest.NewJob(id, append([]demandtest.JobOption{mine, demandtest.RunningOn("n9")}, more...)...)
	}
	jobsOf := func(n int, more ...demandtest.JobOption) []*slurm.Job {
		return demandtest.NewJobs(1, n, append([]demandtest.JobOption{mine}, more...)...)
	}
	threaded := func(n *slurm.Node) { n.Sockets, n.CoresPerSocket, n.ThreadsPerCore = 1, 4, 2 }
	busyNode := func(cpus uint32) any {
		return demandtest.NewNode("n9", demandtest.WithSize(4, 8000), demandtest.WithUsage(cpus, 0))
	}
	requiringFirst := func(more ...demandtest.JobOption) *slurm.Job {
		first := demandtest.WithChange(func(j *slurm.Job) {
			j.Priority = slurm.Num(99)
			j.EditDetails(func(d *slurm.JobDetails) { d.RequiredNodes = "n9" })
		})
		return demandtest.NewJob(60, append([]demandtest.JobOption{mine, first}, more...)...)
	}
	exclusive := demandtest.WithDetails(func(d *slurm.JobDetails) { d.Shared = "none" })
	partQOS := func(qos string) any { return demandtest.NewPartition("cpu", func(p *slurm.Partition) { p.QOS = qos }) }
	for name, tc := range map[string]struct {
		limits []any
		queue  []any
		want   uint64
	}{
		"fifty jobs, two of a user": {[]any{slurm.QOS{Name: "q", MaxJobsPerUser: slurm.Num(2)}},
			[]any{jobsOf(50)}, 2},
		"two of a user, whatever the reason": {[]any{slurm.QOS{Name: "q", MaxJobsPerUser: slurm.Num(2)}},
			[]any{jobsOf(50, demandtest.WithReason("ReqNodeNotAvail"))}, 2},
		"two users, two each": {[]any{slurm.QOS{Name: "q", MaxJobsPerUser: slurm.Num(2)}},
			[]any{jobsOf(5), demandtest.NewJobs(60, 5, ownedBy("bob", "ml", "q"))}, 4},
		"a QOS that allows no job": {[]any{slurm.QOS{Name: "q", MaxJobs: slurm.Num(0)}},
			[]any{jobsOf(3)}, 0},
		"running jobs count": {[]any{slurm.QOS{Name: "q", MaxJobs: slurm.Num(3)}},
			[]any{runs(70), jobsOf(9)}, 2},
		"more jobs run than the QOS allows": {[]any{slurm.QOS{Name: "q", MaxJobs: slurm.Num(1)}},
			[]any{runs(70), runs(71), jobsOf(9)}, 0},
		"a limit per account": {[]any{slurm.QOS{Name: "q",
			MaxJobsPerAccount: slurm.Num(1)}},
			[]any{jobsOf(5), demandtest.NewJobs(60, 5, ownedBy("alice", "hpc", "q"))}, 2},
		"tasks of an array count": {[]any{slurm.QOS{Name: "q", MaxJobs: slurm.Num(3)}},
			[]any{demandtest.NewJob(1, mine, demandtest.WithArray(1, "1-20", 0))}, 3},
		"tasks of an array with a throttle": {[]any{slurm.QOS{Name: "q", MaxJobs: slurm.Num(3)}},
			[]any{demandtest.NewJob(1, mine, demandtest.WithArray(1, "1-20", 2))}, 2},
		"a job that waits for a full node counts, but uses nothing": {[]any{slurm.QOS{Name: "q", MaxJobs: slurm.Num(2)}},
			[]any{busyNode(4), requiringFirst(), jobsOf(9)}, 3},
		"an exclusive job that waits for a busy node": {[]any{slurm.QOS{Name: "q", MaxJobs: slurm.Num(2)}},
			[]any{busyNode(1), requiringFirst(exclusive), jobsOf(9)}, 3},
		"a job with room on the node that it requires": {[]any{slurm.QOS{Name: "q", MaxJobs: slurm.Num(2)}},
			[]any{busyNode(1), requiringFirst(), jobsOf(9)}, 2},
		"another QOS": {[]any{slurm.QOS{Name: "other", MaxJobs: slurm.Num(0)}},
			[]any{jobsOf(9)}, 9},
		"GPUs of a user": {[]any{slurm.QOS{Name: "q",
			MaxTRESPerUser: tres("gres/gpu", 8)}}, []any{jobsOf(50, withTRES("cpu=1,gres/gpu=8"))}, 1},
		"GPUs of a user, some in use": {[]any{slurm.QOS{Name: "q",
			MaxTRESPerUser: tres("gres/gpu", 8)}},
			[]any{runs(70, withTRES("cpu=1,gres/gpu=6")), jobsOf(50, withTRES("cpu=1,gres/gpu=2"))}, 1},
		"GPUs of an account": {[]any{slurm.QOS{Name: "q",
			MaxTRESPerAccount: tres("gres/gpu", 8)}}, []any{jobsOf(50, withTRES("cpu=1,gres/gpu=2"))}, 4},
		"GPUs of a QOS": {[]any{slurm.QOS{Name: "q", GrpTRES: tres("gres/gpu", 8)}},
			[]any{jobsOf(50, withTRES("cpu=1,gres/gpu=4"))}, 2},
		"memory of a QOS": {[]any{slurm.QOS{Name: "q", GrpTRES: tres("mem", 4096)}},
			[]any{jobsOf(50, withTRES("cpu=1,mem=1G"))}, 4},
		"too many GPUs for one job": {[]any{slurm.QOS{Name: "q",
			MaxTRESPerJob: tres("gres/gpu", 4)}},
			[]any{jobsOf(1, withTRES("cpu=1,gres/gpu=8")), demandtest.NewJob(60, mine, withTRES("gres/gpu=4"))}, 1},
		"too many GPUs on a node": {[]any{slurm.QOS{Name: "q",
			MaxTRESPerNode: tres("gres/gpu", 4)}},
			[]any{jobsOf(1, withTRES("cpu=1,gres/gpu=8")),
				demandtest.NewJob(60, mine, demandtest.OnNodes(2), withTRES("cpu=2,node=2,gres/gpu=8"))}, 1},
		"too many GPUs on a user's node": {[]any{ml(func(*slurm.Association) {}),
			slurm.Association{Account: "ml", User: "alice", MaxTRESPerNode: tres("gres/gpu", 4)}},
			[]any{jobsOf(1, withTRES("cpu=1,gres/gpu=8")), demandtest.NewJob(60, mine, withTRES("gres/gpu=4"))}, 1},
		"CPUs of whole nodes": {[]any{slurm.QOS{Name: "q", MaxTRESPerUser: tres("cpu", 8)}},
			[]any{demandtest.NewNode("n0", demandtest.WithSize(4, 8000)),
				jobsOf(9, demandtest.WithDetails(func(d *slurm.JobDetails) { d.Shared = "none" }))},
			2},
		"CPUs of the smallest whole node": {[]any{slurm.QOS{Name: "q", MaxTRESPerUser: tres("cpu", 8)}},
			[]any{demandtest.NewNode("n0", demandtest.WithSize(8, 8000)),
				demandtest.NewNode("n1", demandtest.WithSize(2, 8000), func(n *slurm.Node) { n.Weight = 9 }),
				jobsOf(9, demandtest.WithDetails(func(d *slurm.JobDetails) { d.Shared = "none" }))}, 4},
		"memory of whole nodes' CPUs": {[]any{slurm.QOS{Name: "q",
			MaxTRESPerUser: tres("mem", 1000)}},
			[]any{demandtest.NewNode("n0", demandtest.WithSize(4, 8000)),
				jobsOf(9, demandtest.WithChange(func(j *slurm.Job) {
					j.MemoryPerCPU = slurm.Num(100)
					j.EditDetails(func(d *slurm.JobDetails) { d.Shared = "none" })
				}))}, 2},
		"CPUs of whole cores": {[]any{slurm.QOS{Name: "q", MaxTRESPerJob: tres("cpu", 4)}},
			[]any{demandtest.NewNode("n0", demandtest.WithSize(8, 8000), threaded),
				demandtest.NewNode("n1", demandtest.WithSize(8, 8000), threaded),
				demandtest.NewNode("n2", demandtest.WithSize(8, 8000), threaded), jobsOf(1, demandtest.OnNodes(3)),
				demandtest.NewJob(60, mine, demandtest.OnNodes(2))}, 1},
		"too few CPUs for one job": {[]any{slurm.QOS{Name: "q", MinTRESPerJob: tres("cpu", 4)}},
			[]any{jobsOf(3), demandtest.NewJob(60, mine, demandtest.WithTasks(4))}, 1},
		"too long for the QOS": {[]any{slurm.QOS{Name: "q",
			MaxWallMinutesPerJob: slurm.Num(60)}},
			[]any{jobsOf(3, demandtest.WithChange(func(j *slurm.Job) { j.TimeLimit = slurm.Num(61) })),
				demandtest.NewJob(60, mine, demandtest.WithChange(func(j *slurm.Job) { j.TimeLimit = slurm.Num(60) }))},
			1},
		"an account's jobs": {[]any{alice,
			ml(func(a *slurm.Association) { a.GrpJobs = slurm.Num(2) })}, []any{jobsOf(9)}, 2},
		"a user's jobs": {[]any{ml(func(*slurm.Association) {}),
			slurm.Association{Account: "ml", User: "alice", MaxJobs: slurm.Num(3)}}, []any{jobsOf(9)}, 3},
		"jobs of a user without a name": {[]any{ml(func(*slurm.Association) {}),
			slurm.Association{ID: 5, Account: "ml", User: "alice", MaxJobs: slurm.Num(3)}},
			[]any{jobsOf(9, demandtest.WithOwner(func(o *slurm.JobOwner) { o.UserName, o.UserID, o.AssociationID = "3001", 3001, 5 }))}, 3},
		"users without names": {[]any{slurm.QOS{Name: "q", MaxJobsPerUser: slurm.Num(1)}},
			[]any{jobsOf(2, demandtest.WithOwner(func(o *slurm.JobOwner) { o.UserName, o.UserID = "3001", 3001 })),
				demandtest.NewJobs(60, 2, ownedBy("3002", "ml", "q"))}, 2},
		"an account's CPUs": {[]any{alice,
			ml(func(a *slurm.Association) { a.GrpTRES = tres("cpu", 4) })}, []any{jobsOf(9, demandtest.WithTasks(2))},
			2},
		"limits of the root account": {[]any{alice,
			ml(func(a *slurm.Association) { a.GrpJobs = slurm.Num(4) }),
			slurm.Association{Account: "root", GrpJobs: slurm.Num(2)}}, []any{jobsOf(9)}, 2},
		"jobs of other accounts count for the root": {[]any{alice, ml(func(*slurm.Association) {}),
			slurm.Association{Account: "hpc", ParentAccount: "root"}, slurm.Association{Account: "hpc", User: "bob"},
			slurm.Association{Account: "root", GrpJobs: slurm.Num(3)}},
			[]any{demandtest.NewJob(70, ownedBy("bob", "hpc", "q"), demandtest.RunningOn("n9")), jobsOf(9)}, 2},
		"an association of another cluster": {[]any{alice,
			ml(func(a *slurm.Association) { a.GrpJobs, a.Cluster = slurm.Num(2), "other" })}, []any{jobsOf(9)}, 9},
		"a QOS overrides an account": {[]any{alice,
			ml(func(a *slurm.Association) { a.GrpJobs = slurm.Num(1) }), slurm.QOS{Name: "q", MaxJobs: slurm.Num(3)}},
			[]any{jobsOf(9)}, 3},
		"a QOS overrides an account's CPUs": {[]any{alice,
			ml(func(a *slurm.Association) { a.GrpTRES = tres("cpu", 2) }),
			slurm.QOS{Name: "q", GrpTRES: tres("cpu", 4)}}, []any{jobsOf(9)}, 4},
		"a QOS's limit for users overrides the user's": {[]any{ml(func(*slurm.Association) {}),
			slurm.Association{Account: "ml", User: "alice", MaxJobs: slurm.Num(1)},
			slurm.QOS{Name: "q", MaxJobsPerUser: slurm.Num(3)}}, []any{jobsOf(9)}, 3},
		"a QOS's limit for accounts overrides the user's": {[]any{ml(func(*slurm.Association) {}),
			slurm.Association{Account: "ml", User: "alice", MaxJobs: slurm.Num(1)},
			slurm.QOS{Name: "q", MaxJobsPerAccount: slurm.Num(3)}}, []any{jobsOf(9)}, 3},
		"limits of a user and of an account": {[]any{alice,
			ml(func(a *slurm.Association) { a.GrpTRES = tres("cpu", 2) }),
			slurm.QOS{Name: "q", MaxTRESPerUser: tres("cpu", 4)}}, []any{jobsOf(9)}, 2},
		"the partition's QOS overrides the job's": {[]any{slurm.QOS{Name: "p", MaxJobsPerUser: slurm.Num(3)},
			slurm.QOS{Name: "q", MaxJobsPerUser: slurm.Num(1)}}, []any{partQOS("p"), jobsOf(9)}, 3},
		"the job's QOS with OverPartQOS": {[]any{slurm.QOS{Name: "p", MaxJobsPerUser: slurm.Num(1)},
			slurm.QOS{Name: "q", MaxJobsPerUser: slurm.Num(3), Flags: []string{"OVERRIDE_PARTITION_QOS"}}},
			[]any{partQOS("p"), jobsOf(9)}, 3},
		"licenses": {[]any{slurm.License{Name: "ansys", Total: 5}},
			[]any{jobsOf(9, demandtest.WithDetails(func(d *slurm.JobDetails) { d.Licenses = "ansys:2" }))}, 2},
		"licenses of two layers, of which one is in the other": {[]any{slurm.License{Name: "hot", Total: 3, Nodes: "n[1-2]"},
			slurm.License{Name: "hot", Total: 5, Nodes: "n[1-9]"}},
			[]any{jobsOf(9, demandtest.WithDetails(func(d *slurm.JobDetails) { d.Licenses = "hot:2" }))}, 2},
		"licenses of two layers side by side": {[]any{slurm.License{Name: "hot", Total: 5, Nodes: "n[3-9]"},
			slurm.License{Name: "hot", Total: 3, Nodes: "n[1-2]"}},
			[]any{jobsOf(9, demandtest.WithDetails(func(d *slurm.JobDetails) { d.Licenses = "hot:2" }))}, 4},
		"licenses in use": {[]any{slurm.License{Name: "ansys", Total: 5, Used: 2}},
			[]any{runs(70, demandtest.WithDetails(func(d *slurm.JobDetails) { d.Licenses = "ansys:2" })),
				jobsOf(9, demandtest.WithDetails(func(d *slurm.JobDetails) { d.Licenses = "ansys:2" }))}, 1},
		"licenses of jobs of whole nodes": {[]any{slurm.License{Name: "ansys", Total: 5}},
			[]any{demandtest.NewNode("n0", demandtest.WithSize(4, 8000)),
				jobsOf(9, demandtest.WithDetails(func(d *slurm.JobDetails) { d.Licenses, d.Shared = "ansys:2", "none" }))}, 2},
		"licenses that others reserved": {[]any{slurm.License{Name: "ansys", Total: 5, Reserved: 2,
			Deficit: 1}}, []any{jobsOf(9, demandtest.WithDetails(func(d *slurm.JobDetails) { d.Licenses = "ansys:2" }))}, 1},
		"jobs that share the only allowed node": {[]any{slurm.QOS{Name: "q", GrpTRES: tres("node", 1)}},
			[]any{demandtest.NewNode("n0", demandtest.WithSize(4, 8000)), jobsOf(9)}, 4},
		"jobs larger than a node": {[]any{slurm.QOS{Name: "q", GrpTRES: tres("node", 3)}},
			[]any{demandtest.NewNode("n0", demandtest.WithSize(4, 8000)), jobsOf(9, demandtest.WithTasks(8))}, 1},
		"jobs larger than a node of their partition": {[]any{slurm.QOS{Name: "q", GrpTRES: tres("node", 3)}},
			[]any{demandtest.NewNode("n0", demandtest.WithSize(4, 8000)),
				demandtest.NewNode("big", demandtest.WithSize(32, 8000), demandtest.InPartitions("other")),
				jobsOf(9, demandtest.WithTasks(8))}, 1},
		"a job that would need more nodes": {[]any{slurm.QOS{Name: "q", GrpTRES: tres("node", 3)}},
			[]any{demandtest.NewNode("n0", demandtest.WithSize(4, 8000)),
				jobsOf(1, demandtest.WithTasks(4), demandtest.WithChange(func(j *slurm.Job) {
					j.CPUs = slurm.Num(12)
					j.EditDetails(func(d *slurm.JobDetails) { d.CPUsPerTask = slurm.Num(3) })
				})), demandtest.NewJob(60, mine)}, 1},
		"CPUs of tasks per node": {[]any{slurm.QOS{Name: "q", MaxTRESPerNode: tres("cpu", 2)}},
			[]any{demandtest.NewNode("n0", demandtest.WithSize(4, 8000)),
				jobsOf(3, demandtest.WithTasks(2), demandtest.WithDetails(func(d *slurm.JobDetails) {
					d.TasksPerNode, d.MinCPUsPerNode = slurm.Num(3), slurm.Num(3)
				})), demandtest.NewJob(60, mine, demandtest.WithTasks(2))}, 1},
		"exclusive jobs": {[]any{slurm.QOS{Name: "q", GrpTRES: tres("node", 2)}},
			[]any{jobsOf(9, demandtest.WithDetails(func(d *slurm.JobDetails) { d.Shared = "none" }))}, 2},
		"all GPUs of exclusive nodes": {[]any{slurm.QOS{Name: "q",
			MaxTRESPerUser: tres("gres/gpu", 9)}},
			[]any{demandtest.NewNode("n0", demandtest.WithSize(4, 8000), func(n *slurm.Node) { n.GRES = "gpu:h100:4" }),
				jobsOf(9, demandtest.WithDetails(func(d *slurm.JobDetails) { d.Shared = "none" }))}, 2},
		"all GPUs of the nodes with the fewest": {[]any{slurm.QOS{Name: "q",
			MaxTRESPerJob: tres("gres/gpu", 2)}},
			[]any{demandtest.NewNode("n0", demandtest.WithSize(4, 8000), func(n *slurm.Node) { n.GRES = "gpu:4" }),
				demandtest.NewNode("n1", demandtest.WithSize(4, 8000)),
				jobsOf(9, demandtest.WithDetails(func(d *slurm.JobDetails) { d.Shared = "none" }))}, 9},
		"more GPUs than a job is allowed": {[]any{slurm.QOS{Name: "q",
			MaxTRESPerJob: tres("gres/gpu", 2)}},
			[]any{demandtest.NewNode("n0", demandtest.WithSize(4, 8000), func(n *slurm.Node) { n.GRES = "gpu:4" }),
				jobsOf(9, demandtest.WithDetails(func(d *slurm.JobDetails) { d.Shared = "none" }))}, 0},
		"limits without enforcement": {[]any{slurm.QOS{Name: "q", MaxJobs: slurm.Num(1)},
			slurm.Conf{AccountingEnforce: []string{"associations"}}}, []any{jobsOf(9)}, 9},
		"enforced limits": {[]any{slurm.QOS{Name: "q", MaxJobs: slurm.Num(1)},
			slurm.Conf{AccountingEnforce: []string{"associations", "limits"}}}, []any{jobsOf(9)}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			queue := tc.queue
			if _, given := queue[0].(*slurm.Partition); !given {
				queue = append([]any{demandtest.NewPartition("cpu")}, queue...)
			}
			s := demandtest.SnapshotOf(t, queue...)
			s.Server.Cluster = "here"
			demandtest.SetLimits(s, tc.limits...)
			p := demandtest.ComputeDemand(s).Partitions[0]
			if p.EligiblePendingJobs != tc.want {
				t.Errorf("%d jobs are eligible, want %d: %v", p.EligiblePendingJobs, tc.want, p.PendingByReason)
			}
		})
	}
}

// TestTasksForEachNodeUnderALimit: 24.11 counts the CPUs of a job's tasks, and 26.05 counts the CPUs of all tasks that
// each node could have (oracle, seed 6826).
func TestTasksForEachNodeUnderALimit(t *testing.T) {
	for _, nodes := range []map[string]uint64{nil, {"node": 9}} {
		for release, want := range map[string]uint64{"24.11.5": 2, "26.05.0": 1} {
			perNode := demandtest.WithDetails(func(d *slurm.JobDetails) { d.TasksPerNode, d.MinCPUsPerNode = slurm.Num(3), slurm.Num(3) })
			s := demandtest.SnapshotOf(t, demandtest.NewPartition("cpu"),
				demandtest.NewNode("n0", demandtest.WithSize(4, 8000)),
				demandtest.NewJobs(1, 3, ownedBy("alice", "ml", "q"), demandtest.WithTasks(2), perNode))
			s.Server.Release = release
			demandtest.SetLimits(s, slurm.QOS{Name: "q", MaxTRESPerUser: map[string]uint64{"cpu": 4}, GrpTRES: nodes},
				slurm.Conf{AccountingEnforce: []string{"limits"}, SelectTypeParameters: []string{"CR_CORE"}})
			if got := demandtest.ComputeDemand(s).Partitions[0].EligiblePendingJobs; got != want {
				t.Errorf("on %s, with a limit of nodes %v, %d jobs are eligible, want %d", release, nodes, got, want)
			}
		}
	}
}

// TestUnevenTasksUnderALimit: 24.11 spreads three tasks over two nodes as two and one, and five over three as two, two
// and one. Both jobs therefore fit a limit of eight CPUs (oracle, seed 9425).
func TestUnevenTasksUnderALimit(t *testing.T) {
	spread := func(tasks, nodes uint64) demandtest.JobOption {
		return demandtest.WithChange(func(j *slurm.Job) {
			j.CPUs, j.Tasks = slurm.Num(tasks), slurm.Num(tasks)
			j.EditDetails(func(d *slurm.JobDetails) { d.TasksPerNode, d.MinCPUsPerNode = slurm.Num(2), slurm.Num(2) })
			j.NodeCount = slurm.Num(nodes)
			j.TRESRequested = fmt.Sprintf("cpu=%d,node=%d", tasks, nodes)
		})
	}
	mine := ownedBy("alice", "ml", "q")
	for _, nodes := range []map[string]uint64{nil, {"node": 9}} {
		for release, want := range map[string]uint64{"24.11.5": 2, "26.05.0": 1} {
			s := demandtest.SnapshotOf(t, demandtest.NewPartition("cpu"),
				demandtest.NewNode("n0", demandtest.WithSize(4, 8000)), demandtest.NewJob(1, mine, spread(3, 2)),
				demandtest.NewJob(2, mine, spread(5, 3)))
			s.Server.Release = release
			demandtest.SetLimits(s, slurm.QOS{Name: "q", MaxTRESPerUser: map[string]uint64{"cpu": 8}, GrpTRES: nodes},
				slurm.Conf{AccountingEnforce: []string{"limits"}, SelectTypeParameters: []string{"CR_CORE"}})
			if got := demandtest.ComputeDemand(s).Partitions[0].EligiblePendingJobs; got != want {
				t.Errorf("on %s, with a limit of nodes %v, %d jobs are eligible, want %d", release, nodes, got, want)
			}
		}
	}
}

// TestJobsThatCannotRunUseNoLimit: slurmctld never starts them either.
func TestJobsThatCannotRunUseNoLimit(t *testing.T) {
	mine := ownedBy("alice", "ml", "q")
	s := demandtest.SnapshotOf(t, demandtest.NewPartition("cpu"), demandtest.NewNode("n0"),
		demandtest.NewJob(1, mine, demandtest.WithTasks(1), demandtest.WithConstraint("gold"),
			demandtest.WithChange(func(j *slurm.Job) { j.Priority = slurm.Num(9) })), demandtest.NewJobs(2, 3, mine))
	demandtest.SetLimits(s, slurm.QOS{Name: "q", MaxJobs: slurm.Num(1)})
	if p := demandtest.ComputeDemand(s).Partitions[0]; p.EligiblePendingJobs != 1 {
		t.Errorf("%d jobs are eligible, want the one that can run: %v", p.EligiblePendingJobs, p.PendingByReason)
	}
}

// TestHetComponentsRunTogetherOrNotAtAll: each component counts as a job.
func TestHetComponentsRunTogetherOrNotAtAll(t *testing.T) {
	component := func(id, offset uint32) *slurm.Job {
		return demandtest.NewJob(id, ownedBy("alice", "ml", "q"),
			demandtest.WithChange(func(j *slurm.Job) { j.HetJobID, j.HetOffset = 1, offset }))
	}
	for limit, want := range map[uint64]uint64{1: 0, 2: 2} {
		s := demandtest.SnapshotOf(t, demandtest.NewPartition("cpu"), component(1, 0), component(2, 1))
		demandtest.SetLimits(s, slurm.QOS{Name: "q", MaxJobs: slurm.Num(limit)})
		if p := demandtest.ComputeDemand(s).Partitions[0]; p.EligiblePendingJobs != want {
			t.Errorf("with %d jobs allowed, %d components are eligible, want %d", limit, p.EligiblePendingJobs, want)
		}
	}
}

func TestJobsOfHighestPriorityGetWhatALimitLeaves(t *testing.T) {
	wide := func(id uint32, priority uint64, n uint64) *slurm.Job {
		return demandtest.NewJob(id, demandtest.OnNodes(n), demandtest.WithChange(func(j *slurm.Job) {
			j.Reason, j.Priority = "PartitionConfig", slurm.Num(priority)
			j.EditOwner(func(o *slurm.JobOwner) { o.QOS = "one" })
		}))
	}
	s := demandtest.SnapshotOf(t, demandtest.NewPartition("cpu"), wide(1, 5, 2), wide(2, 9, 4), wide(3, 7, 8))
	s.QOS.Known, s.QOS.Value = true, []slurm.QOS{{Name: "one", MaxJobs: slurm.Num(1)}}
	if p := demandtest.ComputeDemand(s).Partitions[0]; p.PendingNodes != 4 {
		t.Errorf("%d nodes are requested, want the four of the job with the highest priority", p.PendingNodes)
	}
}

func TestNodeLimitOfAPartitionWithTooFewNodes(t *testing.T) {
	for name, tc := range map[string]struct {
		total uint32
		limit slurm.Number
		want  uint64
	}{
		"the partition has fewer nodes":                    {2, slurm.Infinite(), 1},
		"the partition has no nodes":                       {0, slurm.Infinite(), 1},
		"the partition has enough nodes":                   {4, slurm.Infinite(), 0},
		"the partition has fewer nodes and allows no more": {2, slurm.Num(2), 0},
		"the partition has fewer nodes and allows more":    {2, slurm.Num(4), 1},
	} {
		t.Run(name, func(t *testing.T) {
			cpu := demandtest.NewPartition("cpu", func(p *slurm.Partition) {
				p.TotalNodes, p.MaxNodes = tc.total,
					tc.limit
			})
			p := demandtest.ComputeDemand(demandtest.SnapshotOf(t, cpu,
				demandtest.NewJob(1, demandtest.OnNodes(4), demandtest.WithReason("PartitionNodeLimit")))).Partitions[0]
			if p.EligiblePendingJobs != tc.want {
				t.Errorf("%d jobs are eligible, want %d", p.EligiblePendingJobs, tc.want)
			}
		})
	}
}

// TestLimitsThatMayNotBeEnforcedAreReported: slurmrestd before v0.0.45 does not report whether
// slurmctld enforces limits. A job that is pending for a limit shows it.
func TestLimitsThatMayNotBeEnforcedAreReported(t *testing.T) {
	mine := ownedBy("alice", "ml", "q")
	limit := slurm.QOS{Name: "q", MaxJobsPerUser: slurm.Num(1)}
	heldBack := demandtest.NewJob(9, ownedBy("bob", "ml", "q"),
		demandtest.WithChange(func(j *slurm.Job) { j.Reason = "QOSMaxJobsPerUserLimit" }))
	enforcing := slurm.Conf{AccountingEnforce: []string{"associations", "limits"}}
	for name, tc := range map[string]struct {
		limits, nouns []any
		want          map[demand.Deviation]uint64
	}{
		"enforcement is unknown": {[]any{limit}, nil,
			map[demand.Deviation]uint64{demand.DeviationEnforcement: 2}},
		"the configuration enforces limits": {[]any{limit, enforcing}, nil, nil},
		"a job is pending for a limit":      {[]any{limit}, []any{heldBack}, nil},
		"limits hold no job back":           {[]any{slurm.QOS{Name: "q", MaxJobsPerUser: slurm.Num(3)}}, nil, nil},
		"licenses are always enforced": {[]any{slurm.License{Name: "ansys", Total: 1, Used: 1}},
			[]any{demandtest.NewJob(8, demandtest.WithDetails(func(d *slurm.JobDetails) { d.Licenses = "ansys:1" }))}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			s := demandtest.SnapshotOf(t, append(tc.nouns, demandtest.NewPartition("cpu"),
				demandtest.NewJobs(1, 3, mine))...)
			demandtest.SetLimits(s, tc.limits...)
			pool := demand.Pool{Name: "w", Feature: "w", Partitions: []string{"cpu"}, Max: 9}
			got := demand.Compute(demandtest.Noon.Time(), s, pool).Pools[0].Unmodelled
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}
