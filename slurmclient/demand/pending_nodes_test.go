package demand_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

func TestPendingNodesOfOnePartition(t *testing.T) {
	exclusive := withChange(func(j *slurm.Job) { j.Shared = "none" })
	memory := func(mib uint64) jobOption {
		return func(j *slurm.Job) { j.MemoryPerNode = slurm.Num(mib) }
	}
	busy := newNode("busy", withState("ALLOCATED"))
	tests := map[string]struct {
		nouns []any
		want  uint64
	}{
		"an empty queue needs nothing":     {[]any{busy}, 0},
		"jobs that fill one node need one": {[]any{busy, newJobs(1, 4)}, 1},
		"one job more needs another":       {[]any{busy, newJobs(1, 5)}, 2},
		"small jobs fit beside large ones": {[]any{busy, newJob(1, withTasks(3)),
			newJob(2, withTasks(3)), newJobs(3, 2)}, 2},
		"an idle node takes the jobs that fit":  {[]any{newNode("n1"), newJobs(1, 4)}, 0},
		"an idle node takes a part of the jobs": {[]any{newNode("n1"), newJobs(1, 9)}, 2},
		"a booting node counts as existing": {[]any{newNode("n1",
			withState("IDLE+POWERING_UP")), newJobs(1, 4)}, 0},
		"a down node does not count": {[]any{newNode("n1", withState("DOWN")),
			newJobs(1, 4)}, 1},
		"a drained node does not count": {[]any{newNode("n1", withState("IDLE+DRAIN")),
			newJobs(1, 4)}, 1},
		"a powered down node only shows its shape": {[]any{newNode("n1",
			withState("IDLE+CLOUD+POWERED_DOWN")), newJobs(1, 8)}, 2},
		"the free part of a mixed node is used": {[]any{newNode("n1", withUsage(2, 0)),
			newJobs(1, 2)}, 0},
		"only the free part is used": {[]any{newNode("n1", withUsage(2, 0)),
			newJobs(1, 3)}, 1},
		"only the free memory is used": {[]any{newNode("n1", withUsage(1, 6000)),
			newJob(1, memory(4000))}, 1},
		"a draining node takes no more jobs": {[]any{newNode("n1", withUsage(1, 0),
			withState("MIXED+DRAIN")), newJob(1)}, 1},
		"a node owned by a user takes no more jobs": {[]any{newNode("n1", withUsage(1, 0),
			func(n *slurm.Node) { n.Owner = "alice" }), newJob(1)}, 1},
		"many mixed nodes take one large queue": {[]any{newNode("n1", withUsage(1, 0)),
			newNode("n2", withUsage(2, 0)), newNode("n3", withUsage(3, 0)), newJobs(1, 6)}, 0},
		"memory limits how many share a node": {[]any{busy, newJobs(1, 4, memory(4000))}, 2},
		"memory per CPU is counted per CPU": {[]any{busy,
			newJobs(1, 2, withTasks(2), withChange(func(j *slurm.Job) { j.MemoryPerCPU = slurm.Num(3000) }))}, 2},
		"exclusive jobs take whole nodes":   {[]any{busy, newJobs(1, 3, exclusive)}, 3},
		"exclusive jobs do not share nodes": {[]any{busy, newJob(1, exclusive), newJob(2)}, 2},
		"an exclusive job does not fit on a mixed node": {[]any{newNode("n1", withUsage(1, 0)),
			newJob(1, exclusive)}, 1},
		"an exclusive job takes a whole idle node": {[]any{newNode("n1"), newJob(1, exclusive),
			newJob(2)}, 1},
		"jobs exclusive to a user share with the same user": {[]any{busy,
			newJobs(1, 2, withChange(func(j *slurm.Job) { j.Shared, j.UserID = "user", 1 })),
			newJob(3, withChange(func(j *slurm.Job) { j.Shared, j.UserID = "user", 2 }))}, 2},
		"-N 4 needs four nodes": {[]any{busy, newJob(1, onNodes(4))}, 4},
		"-N 4 with three idle needs one more": {[]any{newNode("n1"), newNode("n2"),
			newNode("n3"), newJob(1, onNodes(4))}, 1},
		"two -N 4 jobs share their nodes": {[]any{busy, newJobs(1, 2, onNodes(4))}, 4},
		"chunks of one job do not share a node": {[]any{newNode("big", withSize(64, 8000)),
			newJob(1, onNodes(4))}, 3},
		"small jobs fit beside a job of many nodes": {[]any{busy, newJob(1, onNodes(2)),
			newJobs(2, 6)}, 2},
		"tasks spread over as many nodes as they need": {[]any{busy, newJob(1, withTasks(10))}, 3},
		"tasks per node spread them too": {[]any{busy,
			newJob(1, withTasks(8), withChange(func(j *slurm.Job) { j.TasksPerNode = slurm.Num(2) }))}, 4},
		"CPUs per node are a minimum": {[]any{busy,
			newJobs(1, 2, withChange(func(j *slurm.Job) { j.MinCPUsPerNode = slurm.Num(3) }))}, 2},
		"an array requests nodes for all of its tasks": {[]any{busy, newJob(1, withArray(1, "1-100", 0))},
			25},
		"an array requests no more than its throttle": {[]any{busy,
			newJob(1, withArray(1, "1-100%8", 8))}, 2},
		"the throttle counts running tasks": {[]any{busy,
			newJob(1, withArray(1, "3-100%6", 6)), newJob(2, asArrayTask(1, 1), runningOn("busy")),
			newJob(3, asArrayTask(1, 2), runningOn("busy"))}, 1},
		"the throttle applies to split-off tasks too": {[]any{busy,
			newJob(1, withArray(1, "10-100%4", 4)), newJob(2, asArrayTask(1, 1)), newJob(3, asArrayTask(1, 2))}, 1},
		"het components all count": {[]any{busy,
			newJob(1, asComponent(1, 0), withTasks(4)), newJob(2, asComponent(1, 1), withTasks(4))}, 2},
		"a het job with a held component requests nothing": {[]any{busy,
			newJob(1, asComponent(1, 0), withTasks(4)),
			newJob(2, asComponent(1, 1), withTasks(4), withChange(func(j *slurm.Job) { j.Hold = true }))}, 0},
		"a het job with an unsatisfiable component requests nothing": {[]any{busy, newJob(1, asComponent(1, 0)),
			newJob(2, asComponent(1, 1), withConstraint("gold"))}, 0},
		"jobs that no node could run request none": {[]any{busy,
			newJob(1, withTasks(5), withChange(func(j *slurm.Job) { j.MaxNodes = slurm.Num(1) }))}, 0},
		"held, dependent and later jobs request none": {[]any{busy,
			newJob(1, withChange(func(j *slurm.Job) { j.Hold = true })),
			newJob(2, withChange(func(j *slurm.Job) { j.Dependency = "afterok:1(unfulfilled)" })),
			newJob(3, withChange(func(j *slurm.Job) { j.EligibleTime = noon + 60 }))}, 0},
		"running and finished jobs request none": {[]any{busy, newJob(1, runningOn("busy")),
			newJob(2, withChange(func(j *slurm.Job) { j.State.Base = slurm.JobCompleted }))}, 0},
		"an idle node with the feature is used": {[]any{newNode("n1", withFeatures("x86")), busy,
			newJob(1, withConstraint("x86"))}, 0},
		"a node without the feature is not used": {[]any{newNode("n1"),
			newNode("n2", withFeatures("x86"), withState("ALLOCATED")), newJob(1, withConstraint("x86"))}, 1},
		"an excluded node is not used": {[]any{newNode("n1"),
			newJob(1, withChange(func(j *slurm.Job) { j.ExcludedNodes = "n1,n7" }))}, 1},
		"other nodes are used": {[]any{newNode("n1"),
			newJob(1, withChange(func(j *slurm.Job) { j.ExcludedNodes = "n7" }))}, 0},
		"a busy required node needs no other": {[]any{busy,
			newJob(1, withChange(func(j *slurm.Job) { j.RequiredNodes = "busy" }))}, 0},
		"a missing required node is one node": {[]any{busy,
			newJobs(1, 3, withChange(func(j *slurm.Job) { j.RequiredNodes = "n9" }))}, 1},
		"a required node that is down is one node": {[]any{newNode("n1", withState("DOWN")),
			newJob(1, withChange(func(j *slurm.Job) { j.RequiredNodes = "n1" }))}, 1},
		"nodes besides the required ones are added": {[]any{busy,
			newJob(1, onNodes(3), withChange(func(j *slurm.Job) { j.RequiredNodes = "busy" }))}, 2},
		"what a required node provides is not free for others": {[]any{newNode("n1"),
			newJob(1, withTasks(4), withChange(func(j *slurm.Job) { j.RequiredNodes = "n1" })), newJob(2)}, 1},
		"temporary disk counts": {[]any{newNode("n1"),
			newNode("n2", func(n *slurm.Node) { n.TmpDiskMiB = 5000 }, withState("ALLOCATED")),
			newJob(1, withChange(func(j *slurm.Job) { j.MinTmpDiskMiB = slurm.Num(1000) }))}, 1},
		"specialized memory is not available": {[]any{newNode("n1",
			func(n *slurm.Node) { n.SpecializedMemoryMiB = 1000 }), newJob(1, memory(7500))}, 0},
		"at zero nodes each job needs a node": {[]any{newJobs(1, 3)}, 3},
		"at zero nodes -N counts":             {[]any{newJob(1, onNodes(4)), newJob(2)}, 5},
		"FUTURE records are not nodes": {[]any{newNode("f1",
			withState("FUTURE+DYNAMIC_NORM")), newJobs(1, 3, withReason("PartitionConfig"))}, 3},
		"an array at zero nodes requests its throttle": {[]any{newJob(1, withArray(1, "1-1000%50", 50))},
			50},
		"the shape of lowest weight is taken": {[]any{newNode("big", withSize(64, 8000),
			withState("ALLOCATED"), func(n *slurm.Node) { n.Weight = 9 }), busy, newJobs(1, 8)}, 2},
		"of equal weight, the shape that needs the fewest nodes": {[]any{newNode("big", withSize(64, 8000),
			withState("ALLOCATED")), busy, newJobs(1, 8)}, 1},
		"a reserved node is not used": {[]any{newNode("n1", withState("IDLE+RESERVED")),
			newJob(1)}, 1},
		"a mixed node of an active reservation is not used": {[]any{newNode("n1", withUsage(1, 0)),
			&slurm.Reservation{Name: "r", EndTime: slurm.Never, Nodes: "n[1-2]"}, newJob(1)}, 1},
		"a planned node counts as idle": {[]any{newNode("n1", withState("IDLE+PLANNED")),
			newJob(1)}, 0},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			p := demandOn(t, "cpu", append(tt.nouns, newPartition("cpu"))...)
			if p.PendingNodes != tt.want {
				t.Errorf("pending nodes %d, want %d\n%+v", p.PendingNodes, tt.want, p)
			}
		})
	}
}

func TestPendingNodesOfGPUs(t *testing.T) {
	gpuNode := func(name string, options ...nodeOption) *slurm.Node {
		return newNode(name, append([]nodeOption{withSize(16, 64000), withGRES("gpu:h100:4(S:0-1)")}, options...)...)
	}
	busy := gpuNode("busy", withState("ALLOCATED"))
	perNode := func(text string) jobOption { return func(j *slurm.Job) { j.TRESPerNode = text } }
	perJob := func(text string) jobOption { return func(j *slurm.Job) { j.TRESPerJob = text } }
	tests := map[string]struct {
		nouns []any
		want  uint64
	}{
		"GPUs limit how many share a node": {[]any{busy, newJobs(1, 4, perNode("gres/gpu:h100:2"))}, 2},
		"the old spelling is parsed":       {[]any{busy, newJobs(1, 4, perNode("gres:gpu:2"))}, 2},
		"an equals sign is parsed":         {[]any{busy, newJobs(1, 4, perNode("gres/gpu=2"))}, 2},
		"typed and untyped requests take the same GPUs": {[]any{busy, newJob(1, perNode("gres/gpu:h100:3")),
			newJob(2, perNode("gres/gpu:2"))}, 2},
		"GPUs of a job are spread over its nodes": {[]any{busy, newJob(1, withTasks(2), perJob("gres/gpu:8"))},
			2},
		"a job of one task stays on one node": {[]any{busy,
			newJob(1, perJob("gres/gpu:8"), withChange(func(j *slurm.Job) { j.MaxNodes = slurm.Num(1) }))}, 0},
		"GPUs per task are multiplied": {[]any{busy,
			newJob(1, withTasks(8), withChange(func(j *slurm.Job) { j.TRESPerTask = "gres/gpu:1" }))}, 2},
		"slurmctld's total is used": {[]any{busy,
			newJobs(1, 2, withChange(func(j *slurm.Job) { j.TRESRequested = "cpu=1,mem=100M,node=1,gres/gpu=4" }))}, 2},
		"free GPUs are used": {[]any{gpuNode("n1", withUsage(1, 0),
			func(n *slurm.Node) { n.GRESUsed = "gpu:h100:2(IDX:0-1)" }), newJob(1, perNode("gres/gpu:2"))}, 0},
		"allocated TRES count as used GPUs": {[]any{gpuNode("n1", withUsage(1, 0),
			func(n *slurm.Node) { n.GRESUsed, n.TRESUsed = "gpu:h100:1", "cpu=1,gres/gpu=3" }),
			newJob(1, perNode("gres/gpu:2"))}, 1},
		"untyped allocations use GPUs of the only type": {[]any{gpuNode("n1", withUsage(1, 0),
			func(n *slurm.Node) { n.GRESUsed, n.TRESUsed = "gpu:h100:1", "cpu=1,gres/gpu=3" }),
			newJob(1, perNode("gres/gpu:h100:2"))}, 1},
		"allocated GPUs are not used": {[]any{gpuNode("n1", withUsage(1, 0),
			func(n *slurm.Node) { n.GRESUsed = "gpu:h100:3(IDX:0-2)" }), newJob(1, perNode("gres/gpu:2"))}, 1},
		"a GPU type that no node has is not requested": {[]any{busy, newJob(1, perNode("gres/gpu:a100:1"))}, 0},
		"more GPUs than a node has are not requested":  {[]any{busy, newJob(1, perNode("gres/gpu:5"))}, 0},
		"jobs without GPUs fit beside jobs with GPUs": {[]any{busy, newJob(1, perNode("gres/gpu:4")), newJobs(2, 15)},
			1},
		"a node without GPUs is not used for GPU jobs": {[]any{busy, newNode("n1"), newJob(1, perNode("gres/gpu:1"))},
			1},
		"at zero nodes GPUs are assumed to exist": {[]any{newJobs(1, 2, perNode("gres/gpu:8"))}, 2},
		"resources besides GRES are ignored":      {[]any{busy, newJob(1, perNode("license/x:1,gres/gpu:1"))}, 1},
		"malformed GRES request only a node":      {[]any{busy, newJob(1, perNode("gres/gpu:1x"))}, 1},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			p := demandOn(t, "cpu", append(tt.nouns, newPartition("cpu"))...)
			if p.PendingNodes != tt.want {
				t.Errorf("pending nodes %d, want %d\n%+v", p.PendingNodes, tt.want, p)
			}
		})
	}
}

func TestJobsInSeveralPartitions(t *testing.T) {
	type figures struct{ Pending, Eligible, Nodes uint64 }
	small := newNode("a1", inPartitions("a"), withState("ALLOCATED"))
	large := newNode("b1", inPartitions("b"), withSize(16, 64000), withState("ALLOCATED"))
	shared := newNode("ab", inPartitions("a", "b"), withState("ALLOCATED"))
	down := func(p *slurm.Partition) { p.State = slurm.PartitionDown }
	tests := map[string]struct {
		nouns []any
		a, b  figures
	}{
		"a job counts in each partition and requests nodes in the first": {
			[]any{newPartition("a"), newPartition("b"), small, large, newJob(1, inPartition("a,b"))},
			figures{1, 1, 1}, figures{1, 1, 0},
		},
		"the order of the list decides": {
			[]any{newPartition("a"), newPartition("b"), small, large, newJob(1, inPartition("b,a"))},
			figures{1, 1, 0}, figures{1, 1, 1},
		},
		"a partition that could not run it is skipped": {
			[]any{newPartition("a"), newPartition("b"), small, large,
				newJob(1, inPartition("a,b"), onNodes(1), withTasks(8))},
			figures{1, 0, 0}, figures{1, 1, 1},
		},
		"a partition that is down is skipped": {
			[]any{newPartition("a", down), newPartition("b"), small, large, newJob(1, inPartition("a,b"))},
			figures{1, 0, 0}, figures{1, 1, 1},
		},
		"an idle node of the second partition is enough": {
			[]any{newPartition("a"), newPartition("b"), small, newNode("b2", inPartitions("b")),
				newJob(1, inPartition("a,b"))},
			figures{1, 1, 0}, figures{1, 1, 0},
		},
		"the nodes of one job are in one partition": {
			[]any{newPartition("a"), newPartition("b"), small, newNode("b2", inPartitions("b")),
				newJob(1, inPartition("a,b"), onNodes(2))},
			figures{1, 1, 2}, figures{1, 1, 0},
		},
		"jobs of two partitions share the nodes of both": {
			[]any{newPartition("a"), newPartition("b"), shared, newJob(1, inPartition("a")),
				newJob(2, inPartition("b"))},
			figures{1, 1, 1}, figures{1, 1, 0},
		},
		"jobs of two partitions share an idle node of both once": {
			[]any{newPartition("a"), newPartition("b"), newNode("ab1", inPartitions("a", "b")),
				newJob(1, inPartition("a"), withTasks(4)), newJob(2, inPartition("b"), withTasks(4))},
			figures{1, 1, 0}, figures{1, 1, 1},
		},
		"a partition that is not in the snapshot is ignored": {
			[]any{newPartition("a"), newPartition("b"), small, large, newJob(1, inPartition("gone,b"))},
			figures{0, 0, 0}, figures{1, 1, 1},
		},
		"a partition named twice counts once": {
			[]any{newPartition("a"), newPartition("b"), small, large, newJob(1, inPartition("a,a"))},
			figures{1, 1, 1}, figures{0, 0, 0},
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			d := computeDemand(snapshotOf(t, tt.nouns...))
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

func asComponent(leader, offset uint32) jobOption {
	return func(j *slurm.Job) { j.HetJobID, j.HetOffset = leader, offset }
}
