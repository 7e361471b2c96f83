package behaviour

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slurmtide/slurmtide/slurmclient/demand/demandtest"
	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

func TestPendingNodesOfOnePartition(t *testing.T) {
	exclusive := demandtest.WithDetails(func(d *slurm.JobDetails) { d.Shared = "none" })
	memory := func(mib uint64) demandtest.JobOption {
		return func(j *slurm.Job) { j.MemoryPerNode = slurm.Num(mib) }
	}
	busy := demandtest.NewNode("busy", demandtest.WithState("ALLOCATED"))
	tests := map[string]struct {
		nouns []any
		want  uint64
	}{
		"an empty queue needs nothing":     {[]any{busy}, 0},
		"jobs that fill one node need one": {[]any{busy, demandtest.NewJobs(1, 4)}, 1},
		"one job more needs another":       {[]any{busy, demandtest.NewJobs(1, 5)}, 2},
		"small jobs fit beside large ones": {[]any{busy, demandtest.NewJob(1, demandtest.WithTasks(3)),
			demandtest.NewJob(2, demandtest.WithTasks(3)), demandtest.NewJobs(3, 2)}, 2},
		"an idle node takes the jobs that fit":  {[]any{demandtest.NewNode("n1"), demandtest.NewJobs(1, 4)}, 0},
		"an idle node takes a part of the jobs": {[]any{demandtest.NewNode("n1"), demandtest.NewJobs(1, 9)}, 2},
		"a booting node counts as existing": {[]any{demandtest.NewNode("n1",
			demandtest.WithState("IDLE+POWERING_UP")), demandtest.NewJobs(1, 4)}, 0},
		"a down node does not count": {[]any{demandtest.NewNode("n1", demandtest.WithState("DOWN")),
			demandtest.NewJobs(1, 4)}, 1},
		"a drained node does not count": {[]any{demandtest.NewNode("n1", demandtest.WithState("IDLE+DRAIN")),
			demandtest.NewJobs(1, 4)}, 1},
		"a powered down node only shows its shape": {[]any{demandtest.NewNode("n1",
			demandtest.WithState("IDLE+CLOUD+POWERED_DOWN")), demandtest.NewJobs(1, 8)}, 2},
		"the free part of a mixed node is used": {[]any{demandtest.NewNode("n1", demandtest.WithUsage(2, 0)),
			demandtest.NewJobs(1, 2)}, 0},
		"only the free part is used": {[]any{demandtest.NewNode("n1", demandtest.WithUsage(2, 0)),
			demandtest.NewJobs(1, 3)}, 1},
		"only the free memory is used": {[]any{demandtest.NewNode("n1", demandtest.WithUsage(1, 6000)),
			demandtest.NewJob(1, memory(4000))}, 1},
		"a draining node takes no more jobs": {[]any{demandtest.NewNode("n1", demandtest.WithUsage(1, 0),
			demandtest.WithState("MIXED+DRAIN")), demandtest.NewJob(1)}, 1},
		"a node owned by a user takes no more jobs": {[]any{demandtest.NewNode("n1", demandtest.WithUsage(1, 0),
			func(n *slurm.Node) { n.Owner = "alice" }), demandtest.NewJob(1)}, 1},
		"many mixed nodes take one large queue": {[]any{demandtest.NewNode("n1", demandtest.WithUsage(1, 0)),
			demandtest.NewNode("n2", demandtest.WithUsage(2, 0)), demandtest.NewNode("n3", demandtest.WithUsage(3, 0)),
			demandtest.NewJobs(1, 6)}, 0},
		"memory limits how many share a node": {[]any{busy, demandtest.NewJobs(1, 4, memory(4000))}, 2},
		"memory per CPU is counted per CPU": {[]any{busy,
			demandtest.NewJobs(1, 2, demandtest.WithTasks(2),
				demandtest.WithChange(func(j *slurm.Job) { j.MemoryPerCPU = slurm.Num(3000) }))}, 2},
		"exclusive jobs take whole nodes":   {[]any{busy, demandtest.NewJobs(1, 3, exclusive)}, 3},
		"exclusive jobs do not share nodes": {[]any{busy, demandtest.NewJob(1, exclusive), demandtest.NewJob(2)}, 2},
		"an exclusive job does not fit on a mixed node": {[]any{demandtest.NewNode("n1", demandtest.WithUsage(1, 0)),
			demandtest.NewJob(1, exclusive)}, 1},
		"an exclusive job takes a whole idle node": {[]any{demandtest.NewNode("n1"), demandtest.NewJob(1, exclusive),
			demandtest.NewJob(2)}, 1},
		"jobs exclusive to a user share with the same user": {[]any{busy,
			demandtest.NewJobs(1, 2, demandtest.WithChange(func(j *slurm.Job) {
				j.EditDetails(func(d *slurm.JobDetails) { d.Shared = "user" })
				j.EditOwner(func(o *slurm.JobOwner) { o.UserID = 1 })
			})),
			demandtest.NewJob(3, demandtest.WithChange(func(j *slurm.Job) {
				j.EditDetails(func(d *slurm.JobDetails) { d.Shared = "user" })
				j.EditOwner(func(o *slurm.JobOwner) { o.UserID = 2 })
			}))}, 2},
		"-N 4 needs four nodes": {[]any{busy, demandtest.NewJob(1, demandtest.OnNodes(4))}, 4},
		"-N 4 with three idle needs one more": {[]any{demandtest.NewNode("n1"), demandtest.NewNode("n2"),
			demandtest.NewNode("n3"), demandtest.NewJob(1, demandtest.OnNodes(4))}, 1},
		"two -N 4 jobs share their nodes": {[]any{busy, demandtest.NewJobs(1, 2, demandtest.OnNodes(4))}, 4},
		"chunks of one job do not share a node": {[]any{demandtest.NewNode("big", demandtest.WithSize(64, 8000)),
			demandtest.NewJob(1, demandtest.OnNodes(4))}, 3},
		"small jobs fit beside a job of many nodes": {[]any{busy, demandtest.NewJob(1, demandtest.OnNodes(2)),
			demandtest.NewJobs(2, 6)}, 2},
		"tasks spread over as many nodes as they need": {[]any{busy, demandtest.NewJob(1, demandtest.WithTasks(10))},
			3},
		"tasks per node spread them too": {[]any{busy,
			demandtest.NewJob(1, demandtest.WithTasks(8),
				demandtest.WithDetails(func(d *slurm.JobDetails) { d.TasksPerNode = slurm.Num(2) }))}, 4},
		"CPUs per node are a minimum": {[]any{busy,
			demandtest.NewJobs(1, 2, demandtest.WithDetails(func(d *slurm.JobDetails) { d.MinCPUsPerNode = slurm.Num(3) }))},
			2},
		"an array requests nodes for all of its tasks": {[]any{busy,
			demandtest.NewJob(1, demandtest.WithArray(1, "1-100", 0))},
			25},
		"an array requests no more than its throttle": {[]any{busy,
			demandtest.NewJob(1, demandtest.WithArray(1, "1-100%8", 8))}, 2},
		"the throttle counts running tasks": {[]any{busy,
			demandtest.NewJob(1, demandtest.WithArray(1, "3-100%6", 6)),
			demandtest.NewJob(2, demandtest.AsArrayTask(1, 1), demandtest.RunningOn("busy")),
			demandtest.NewJob(3, demandtest.AsArrayTask(1, 2), demandtest.RunningOn("busy"))}, 1},
		"the throttle applies to split-off tasks too": {[]any{busy,
			demandtest.NewJob(1, demandtest.WithArray(1, "10-100%4", 4)),
			demandtest.NewJob(2, demandtest.AsArrayTask(1, 1)), demandtest.NewJob(3, demandtest.AsArrayTask(1, 2))}, 1},
		"het components all count": {[]any{busy,
			demandtest.NewJob(1, demandtest.AsComponent(1, 0), demandtest.WithTasks(4)),
			demandtest.NewJob(2, demandtest.AsComponent(1, 1), demandtest.WithTasks(4))}, 2},
		"a het job with a held component requests nothing": {[]any{busy,
			demandtest.NewJob(1, demandtest.AsComponent(1, 0), demandtest.WithTasks(4)),
			demandtest.NewJob(2, demandtest.AsComponent(1, 1), demandtest.WithTasks(4),
				demandtest.WithChange(func(j *slurm.Job) { j.Hold = true }))}, 0},
		"a het job with an unsatisfiable component requests nothing": {[]any{busy,
			demandtest.NewJob(1, demandtest.AsComponent(1, 0)),
			demandtest.NewJob(2, demandtest.AsComponent(1, 1), demandtest.WithConstraint("gold"))}, 0},
		"jobs that no node could run request none": {[]any{busy,
			demandtest.NewJob(1, demandtest.WithTasks(5),
				demandtest.WithDetails(func(d *slurm.JobDetails) { d.MaxNodes = slurm.Num(1) }))}, 0},
		"held, dependent and later jobs request none": {[]any{busy,
			demandtest.NewJob(1, demandtest.WithChange(func(j *slurm.Job) { j.Hold = true })),
			demandtest.NewJob(2, demandtest.WithChange(func(j *slurm.Job) { j.Dependency = "afterok:1(unfulfilled)" })),
			demandtest.NewJob(3, demandtest.WithChange(func(j *slurm.Job) { j.EligibleTime = demandtest.Noon + 60 }))},
			0},
		"running and finished jobs request none": {[]any{busy, demandtest.NewJob(1, demandtest.RunningOn("busy")),
			demandtest.NewJob(2, demandtest.WithChange(func(j *slurm.Job) { j.State.Base = slurm.JobCompleted }))}, 0},
		"an idle node with the feature is used": {[]any{demandtest.NewNode("n1", demandtest.WithFeatures("x86")), busy,
			demandtest.NewJob(1, demandtest.WithConstraint("x86"))}, 0},
		"a node without the feature is not used": {[]any{demandtest.NewNode("n1"),
			demandtest.NewNode("n2", demandtest.WithFeatures("x86"), demandtest.WithState("ALLOCATED")),
			demandtest.NewJob(1, demandtest.WithConstraint("x86"))}, 1},
		"an excluded node is not used": {[]any{demandtest.NewNode("n1"),
			demandtest.NewJob(1, demandtest.WithDetails(func(d *slurm.JobDetails) { d.ExcludedNodes = "n1,n7" }))}, 1},
		"other nodes are used": {[]any{demandtest.NewNode("n1"),
			demandtest.NewJob(1, demandtest.WithDetails(func(d *slurm.JobDetails) { d.ExcludedNodes = "n7" }))}, 0},
		"a busy required node needs no other": {[]any{busy,
			demandtest.NewJob(1, demandtest.WithDetails(func(d *slurm.JobDetails) { d.RequiredNodes = "busy" }))}, 0},
		"a missing required node is one node": {[]any{busy,
			demandtest.NewJobs(1, 3, demandtest.WithDetails(func(d *slurm.JobDetails) { d.RequiredNodes = "n9" }))}, 1},
		"a required node that is down is one node": {[]any{demandtest.NewNode("n1", demandtest.WithState("DOWN")),
			demandtest.NewJob(1, demandtest.WithDetails(func(d *slurm.JobDetails) { d.RequiredNodes = "n1" }))}, 1},
		"nodes besides the required ones are added": {[]any{busy,
			demandtest.NewJob(1, demandtest.OnNodes(3),
				demandtest.WithDetails(func(d *slurm.JobDetails) { d.RequiredNodes = "busy" }))}, 2},
		"what a required node provides is not free for others": {[]any{demandtest.NewNode("n1"),
			demandtest.NewJob(1, demandtest.WithTasks(4),
				demandtest.WithDetails(func(d *slurm.JobDetails) { d.RequiredNodes = "n1" })),
			demandtest.NewJob(2)}, 1},
		"temporary disk counts": {[]any{demandtest.NewNode("n1"),
			demandtest.NewNode("n2", func(n *slurm.Node) { n.TmpDiskMiB = 5000 }, demandtest.WithState("ALLOCATED")),
			demandtest.NewJob(1, demandtest.WithDetails(func(d *slurm.JobDetails) { d.MinTmpDiskMiB = slurm.Num(1000) }))}, 1},
		"specialized memory is not available": {[]any{demandtest.NewNode("n1",
			func(n *slurm.Node) { n.SpecializedMemoryMiB = 1000 }), demandtest.NewJob(1, memory(7500))}, 0},
		"at zero nodes each job needs a node": {[]any{demandtest.NewJobs(1, 3)}, 3},
		"at zero nodes -N counts": {[]any{demandtest.NewJob(1, demandtest.OnNodes(4)),
			demandtest.NewJob(2)}, 5},
		"FUTURE records are not nodes": {[]any{demandtest.NewNode("f1",
			demandtest.WithState("FUTURE+DYNAMIC_NORM")),
			demandtest.NewJobs(1, 3, demandtest.WithReason("PartitionConfig"))}, 3},
		"an array at zero nodes requests its throttle": {[]any{demandtest.NewJob(1,
			demandtest.WithArray(1, "1-1000%50", 50))},
			50},
		"the shape of lowest weight is taken": {[]any{demandtest.NewNode("big", demandtest.WithSize(64, 8000),
			demandtest.WithState("ALLOCATED"), func(n *slurm.Node) { n.Weight = 9 }), busy, demandtest.NewJobs(1, 8)},
			2},
		"of equal weight, the shape that needs the fewest nodes": {[]any{demandtest.NewNode("big",
			demandtest.WithSize(64, 8000),
			demandtest.WithState("ALLOCATED")), busy, demandtest.NewJobs(1, 8)}, 1},
		"a reserved node is not used": {[]any{demandtest.NewNode("n1", demandtest.WithState("IDLE+RESERVED")),
			demandtest.NewJob(1)}, 1},
		"a mixed node of an active reservation is not used": {[]any{demandtest.NewNode("n1",
			demandtest.WithUsage(1, 0)),
			&slurm.Reservation{Name: "r", EndTime: slurm.Never, Nodes: "n[1-2]"}, demandtest.NewJob(1)}, 1},
		"a planned node counts as idle": {[]any{demandtest.NewNode("n1", demandtest.WithState("IDLE+PLANNED")),
			demandtest.NewJob(1)}, 0},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			p := demandtest.DemandOn(t, "cpu", append(tt.nouns, demandtest.NewPartition("cpu"))...)
			if p.PendingNodes != tt.want {
				t.Errorf("pending nodes %d, want %d\n%+v", p.PendingNodes, tt.want, p)
			}
		})
	}
}

func TestPendingNodesOfGPUs(t *testing.T) {
	gpuNode := func(name string, options ...demandtest.NodeOption) *slurm.Node {
		return demandtest.NewNode(name,
			append([]demandtest.NodeOption{demandtest.WithSize(16, 64000), demandtest.WithGRES("gpu:h100:4(S:0-1)")},
				options...)...)
	}
	busy := gpuNode("busy", demandtest.WithState("ALLOCATED"))
	perNode := func(text string) demandtest.JobOption {
		return func(j *slurm.Job) { j.EditDetails(func(d *slurm.JobDetails) { d.TRESPerNode = text }) }
	}
	perJob := func(text string) demandtest.JobOption {
		return func(j *slurm.Job) { j.EditDetails(func(d *slurm.JobDetails) { d.TRESPerJob = text }) }
	}
	tests := map[string]struct {
		nouns []any
		want  uint64
	}{
		"GPUs limit how many share a node": {[]any{busy, demandtest.NewJobs(1, 4, perNode("gres/gpu:h100:2"))}, 2},
		"the old spelling is parsed":       {[]any{busy, demandtest.NewJobs(1, 4, perNode("gres:gpu:2"))}, 2},
		"an equals sign is parsed":         {[]any{busy, demandtest.NewJobs(1, 4, perNode("gres/gpu=2"))}, 2},
		"typed and untyped requests take the same GPUs": {[]any{busy, demandtest.NewJob(1, perNode("gres/gpu:h100:3")),
			demandtest.NewJob(2, perNode("gres/gpu:2"))}, 2},
		"GPUs of a job are spread over its nodes": {[]any{busy, demandtest.NewJob(1, demandtest.WithTasks(2),
			perJob("gres/gpu:8"))},
			2},
		"a job of one task stays on one node": {[]any{busy,
			demandtest.NewJob(1, perJob("gres/gpu:8"),
				demandtest.WithDetails(func(d *slurm.JobDetails) { d.MaxNodes = slurm.Num(1) }))}, 0},
		"GPUs per task are multiplied": {[]any{busy,
			demandtest.NewJob(1, demandtest.WithTasks(8),
				demandtest.WithDetails(func(d *slurm.JobDetails) { d.TRESPerTask = "gres/gpu:1" }))}, 2},
		"slurmctld's total is used": {[]any{busy,
			demandtest.NewJobs(1, 2,
				demandtest.WithChange(func(j *slurm.Job) { j.TRESRequested = "cpu=1,mem=100M,node=1,gres/gpu=4" }))},
			2},
		"free GPUs are used": {[]any{gpuNode("n1", demandtest.WithUsage(1, 0),
			func(n *slurm.Node) { n.GRESUsed = "gpu:h100:2(IDX:0-1)" }), demandtest.NewJob(1, perNode("gres/gpu:2"))},
			0},
		"allocated TRES count as used GPUs": {[]any{gpuNode("n1", demandtest.WithUsage(1, 0),
			func(n *slurm.Node) { n.GRESUsed, n.TRESUsed = "gpu:h100:1", "cpu=1,gres/gpu=3" }),
			demandtest.NewJob(1, perNode("gres/gpu:2"))}, 1},
		"untyped allocations use GPUs of the only type": {[]any{gpuNode("n1", demandtest.WithUsage(1, 0),
			func(n *slurm.Node) { n.GRESUsed, n.TRESUsed = "gpu:h100:1", "cpu=1,gres/gpu=3" }),
			demandtest.NewJob(1, perNode("gres/gpu:h100:2"))}, 1},
		"allocated GPUs are not used": {[]any{gpuNode("n1", demandtest.WithUsage(1, 0),
			func(n *slurm.Node) { n.GRESUsed = "gpu:h100:3(IDX:0-2)" }), demandtest.NewJob(1, perNode("gres/gpu:2"))},
			1},
		"a GPU type that no node has is not requested": {[]any{busy, demandtest.NewJob(1, perNode("gres/gpu:a100:1"))},
			0},
		"more GPUs than a node has are not requested": {[]any{busy, demandtest.NewJob(1, perNode("gres/gpu:5"))}, 0},
		"jobs without GPUs fit beside jobs with GPUs": {[]any{busy, demandtest.NewJob(1, perNode("gres/gpu:4")),
			demandtest.NewJobs(2, 15)},
			1},
		"a node without GPUs is not used for GPU jobs": {[]any{busy, demandtest.NewNode("n1"),
			demandtest.NewJob(1, perNode("gres/gpu:1"))},
			1},
		"at zero nodes GPUs are assumed to exist": {[]any{demandtest.NewJobs(1, 2, perNode("gres/gpu:8"))}, 2},
		"resources besides GRES are ignored": {[]any{busy,
			demandtest.NewJob(1, perNode("license/x:1,gres/gpu:1"))}, 1},
		"a type that begins with a digit is not a count": {[]any{busy, demandtest.NewJob(1, perNode("gres/gpu:1080ti"))}, 0},
		"nodes of such a type run its jobs": {[]any{demandtest.NewNode("n1", demandtest.WithGRES("gpu:1080ti:1")),
			demandtest.NewJobs(1, 2, perNode("gres/gpu:1080ti"))}, 1},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			p := demandtest.DemandOn(t, "cpu", append(tt.nouns, demandtest.NewPartition("cpu"))...)
			if p.PendingNodes != tt.want {
				t.Errorf("pending nodes %d, want %d\n%+v", p.PendingNodes, tt.want, p)
			}
		})
	}
}

func TestJobsInSeveralPartitions(t *testing.T) {
	type figures struct{ Pending, Eligible, Nodes uint64 }
	small := demandtest.NewNode("a1", demandtest.InPartitions("a"), demandtest.WithState("ALLOCATED"))
	large := demandtest.NewNode("b1", demandtest.InPartitions("b"), demandtest.WithSize(16, 64000),
		demandtest.WithState("ALLOCATED"))
	shared := demandtest.NewNode("ab", demandtest.InPartitions("a", "b"), demandtest.WithState("ALLOCATED"))
	down := func(p *slurm.Partition) { p.State = slurm.PartitionDown }
	tests := map[string]struct {
		nouns []any
		a, b  figures
	}{
		"a job counts in each partition and requests nodes in the first": {
			[]any{demandtest.NewPartition("a"), demandtest.NewPartition("b"), small, large,
				demandtest.NewJob(1, demandtest.InPartition("a,b"))},
			figures{1, 1, 1}, figures{1, 1, 0},
		},
		"the order of the list decides": {
			[]any{demandtest.NewPartition("a"), demandtest.NewPartition("b"), small, large,
				demandtest.NewJob(1, demandtest.InPartition("b,a"))},
			figures{1, 1, 0}, figures{1, 1, 1},
		},
		"a partition that could not run it is skipped": {
			[]any{demandtest.NewPartition("a"), demandtest.NewPartition("b"), small, large,
				demandtest.NewJob(1, demandtest.InPartition("a,b"), demandtest.OnNodes(1), demandtest.WithTasks(8))},
			figures{1, 0, 0}, figures{1, 1, 1},
		},
		"a partition that is down is skipped": {
			[]any{demandtest.NewPartition("a", down), demandtest.NewPartition("b"), small, large,
				demandtest.NewJob(1, demandtest.InPartition("a,b"))},
			figures{1, 0, 0}, figures{1, 1, 1},
		},
		"an idle node of the second partition is enough": {
			[]any{demandtest.NewPartition("a"), demandtest.NewPartition("b"), small,
				demandtest.NewNode("b2", demandtest.InPartitions("b")),
				demandtest.NewJob(1, demandtest.InPartition("a,b"))},
			figures{1, 1, 0}, figures{1, 1, 0},
		},
		"the nodes of one job are in one partition": {
			[]any{demandtest.NewPartition("a"), demandtest.NewPartition("b"), small,
				demandtest.NewNode("b2", demandtest.InPartitions("b")),
				demandtest.NewJob(1, demandtest.InPartition("a,b"), demandtest.OnNodes(2))},
			figures{1, 1, 2}, figures{1, 1, 0},
		},
		"jobs of two partitions share the nodes of both": {
			[]any{demandtest.NewPartition("a"), demandtest.NewPartition("b"), shared,
				demandtest.NewJob(1, demandtest.InPartition("a")),
				demandtest.NewJob(2, demandtest.InPartition("b"))},
			figures{1, 1, 1}, figures{1, 1, 0},
		},
		"jobs of two partitions share an idle node of both once": {
			[]any{demandtest.NewPartition("a"), demandtest.NewPartition("b"),
				demandtest.NewNode("ab1", demandtest.InPartitions("a", "b")),
				demandtest.NewJob(1, demandtest.InPartition("a"), demandtest.WithTasks(4)),
				demandtest.NewJob(2, demandtest.InPartition("b"), demandtest.WithTasks(4))},
			figures{1, 1, 0}, figures{1, 1, 1},
		},
		"a partition that is not in the snapshot is ignored": {
			[]any{demandtest.NewPartition("a"), demandtest.NewPartition("b"), small, large,
				demandtest.NewJob(1, demandtest.InPartition("gone,b"))},
			figures{0, 0, 0}, figures{1, 1, 1},
		},
		"a partition named twice counts once": {
			[]any{demandtest.NewPartition("a"), demandtest.NewPartition("b"), small, large,
				demandtest.NewJob(1, demandtest.InPartition("a,a"))},
			figures{1, 1, 1}, figures{0, 0, 0},
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			d := demandtest.ComputeDemand(demandtest.SnapshotOf(t, tt.nouns...))
			got := map[string]figures{}
			for _, p := range d.Partitions {
				got[p.Name] = figures{p.PendingJobs, p.EligiblePendingJobs, p.PendingNodes}
			}
			if diff := cmp.Diff(map[string]figures{"a": tt.a, "b": tt.b}, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}
