package behaviour

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slurmtide/slurmtide/slurmclient/demand"
	"github.com/slurmtide/slurmtide/slurmclient/demand/demandtest"
	"github.com/slurmtide/slurmtide/slurmclient/demand/pending"
	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

// askedOfPools returns the pending nodes and eligible jobs of each pool that has any.
func askedOfPools(d demand.Demand) map[string][2]uint64 {
	out := map[string][2]uint64{}
	for _, p := range d.Pools {
		if p.Pending > 0 || p.EligiblePendingJobs > 0 {
			out[p.Name] = [2]uint64{p.Pending, p.EligiblePendingJobs}
		}
	}
	return out
}

func TestAJobRequestsNodesInOnePool(t *testing.T) {
	weighing := func(w uint32) demandtest.PoolOption {
		return func(p *demand.Pool) { p.Shape = &demand.Shape{CPUs: 4, MemoryMiB: 8000, Weight: w} }
	}
	gpu := demandtest.WithShape(&demand.Shape{CPUs: 16, MemoryMiB: 64000, GRES: "gpu:h100:4"})
	unknown := demandtest.WithShape(nil)
	type figures = map[string][2]uint64
	tests := map[string]struct {
		nouns []any
		want  figures
	}{
		"the first by name": {[]any{demandtest.NewPool("b"), demandtest.NewPool("a"), demandtest.NewJobs(1, 4)},
			figures{"a": {1, 4}}},
		"the lowest weight": {[]any{demandtest.NewPool("a", weighing(5)),
			demandtest.NewPool("b", weighing(2)), demandtest.NewJobs(1, 4)}, figures{"b": {1, 4}}},
		"an unset weight is Slurm's default": {[]any{demandtest.NewPool("b", weighing(0)),
			demandtest.NewPool("a", weighing(1)), demandtest.NewJobs(1, 4)}, figures{"a": {1, 4}}},
		"the first whose shape could run it": {[]any{demandtest.NewPool("a"), demandtest.NewPool("g", gpu),
			demandtest.NewJob(1, demandtest.WithDetails(func(d *slurm.JobDetails) { d.TRESPerNode = "gres/gpu:2" })),
			demandtest.NewJob(2)},
			figures{"a": {0, 1}, "g": {1, 1}}},
		"the first whose maximum is enough": {[]any{demandtest.NewPool("a", demandtest.WithBounds(0, 2)),
			demandtest.NewPool("b"),
			demandtest.NewJob(1, demandtest.OnNodes(3))}, figures{"b": {3, 1}}},
		"the first partition of its list": {[]any{demandtest.NewPool("a", demandtest.ServingPartitions("x")),
			demandtest.NewPool("b", demandtest.ServingPartitions("y")),
			demandtest.NewJob(1, demandtest.InPartition("y,x"))}, figures{"b": {1, 1}}},
		"the next partition when the first cannot run it": {[]any{demandtest.NewPool("a",
			demandtest.ServingPartitions("x"),
			demandtest.WithBounds(0, 2)), demandtest.NewPool("b", demandtest.ServingPartitions("y")),
			demandtest.NewJob(1, demandtest.InPartition("x,y"), demandtest.OnNodes(3))},
			figures{"b": {3, 1}}},
		"a pool in two partitions is used once": {[]any{demandtest.NewPool("a", demandtest.ServingPartitions("x", "y")),
			demandtest.NewJob(1, demandtest.InPartition("x,y"), demandtest.AsExclusive),
			demandtest.NewJob(2, demandtest.InPartition("y"), demandtest.AsExclusive)},
			figures{"a": {2, 2}}},
		"jobs of two partitions share its new workers": {[]any{demandtest.NewPool("a",
			demandtest.ServingPartitions("x", "y")),
			demandtest.NewJob(1, demandtest.InPartition("x")), demandtest.NewJob(2, demandtest.InPartition("y"))},
			figures{"a": {1, 2}}},
		"jobs beyond the maximum go to the next pool": {[]any{demandtest.NewPool("a", demandtest.WithBounds(0, 2)),
			demandtest.NewPool("b"),
			demandtest.NewJobs(1, 20)}, figures{"a": {2, 8}, "b": {3, 12}}},
		"jobs beyond the maximum go to another partition": {[]any{demandtest.NewPool("a",
			demandtest.ServingPartitions("x"),
			demandtest.WithBounds(0, 2)), demandtest.NewPool("b", demandtest.ServingPartitions("y")),
			demandtest.NewJobs(1, 20, demandtest.InPartition("x,y"))},
			figures{"a": {2, 8}, "b": {3, 12}}},
		"jobs beyond the maximum go to the third pool": {[]any{demandtest.NewPool("a", demandtest.WithBounds(0, 2)),
			demandtest.NewPool("b", demandtest.WithBounds(0, 1)), demandtest.NewPool("c"), demandtest.NewJobs(1, 20)},
			figures{"a": {2, 8}, "b": {1, 4}, "c": {2, 8}}},
		"a pool that cannot run the job is skipped": {[]any{demandtest.NewPool("a", demandtest.WithBounds(0, 2)),
			demandtest.NewPool("b", demandtest.WithShape(&demand.Shape{CPUs: 1, MemoryMiB: 100})),
			demandtest.NewPool("c"),
			demandtest.NewJobs(1, 3, demandtest.WithChange(func(j *slurm.Job) { j.MemoryPerNode = slurm.Num(5000) }))},
			figures{"a": {2, 2}, "c": {1, 1}}},
		"a job is never split between pools": {[]any{demandtest.NewPool("a", demandtest.WithBounds(0, 4)),
			demandtest.NewPool("b"),
			demandtest.NewJobs(1, 2, demandtest.OnNodes(3), demandtest.AsExclusive)},
			figures{"a": {3, 1}, "b": {3, 1}}},
		"smaller jobs take the room that is left": {[]any{demandtest.NewPool("a", demandtest.WithBounds(0, 4)),
			demandtest.NewPool("b"),
			demandtest.NewJobs(1, 2, demandtest.OnNodes(3), demandtest.AsExclusive), demandtest.NewJob(9)},
			figures{"a": {4, 2}, "b": {3, 1}}},
		"smaller jobs go where there is room": {[]any{demandtest.NewPool("a", demandtest.WithBounds(0, 1)),
			demandtest.NewPool("b"),
			demandtest.NewJob(1, demandtest.WithTasks(3), demandtest.OnNodes(1)), demandtest.NewJobs(2, 3)},
			figures{"a": {1, 2}, "b": {1, 2}}},
		"smaller jobs use a pool that larger ones skipped": {[]any{demandtest.NewPool("a", demandtest.WithBounds(0, 1)),
			demandtest.NewPool("b", demandtest.WithBounds(0, 1)), demandtest.NewPool("c"),
			demandtest.NewJob(1, demandtest.OnNodes(1), demandtest.WithTasks(4)),
			demandtest.NewJob(2, demandtest.OnNodes(1), demandtest.WithTasks(3)),
			demandtest.NewJob(3, demandtest.OnNodes(1), demandtest.WithTasks(3),
				demandtest.WithChange(func(j *slurm.Job) { j.MemoryPerNode = slurm.Num(1) })),
			demandtest.NewJob(9)}, figures{"a": {1, 1}, "b": {1, 2}, "c": {1, 1}}},
		"busy nodes count towards the maximum": {[]any{demandtest.NewPool("a", demandtest.WithBounds(0, 2)),
			demandtest.NewPool("b"),
			demandtest.NewNode("a1", demandtest.WithFeatures("a"), demandtest.WithState("ALLOCATED")),
			demandtest.NewJobs(1, 8)},
			figures{"a": {1, 4}, "b": {1, 4}}},
		"unusable workers count towards the maximum": {[]any{demandtest.NewPool("a", demandtest.WithBounds(0, 2),
			demandtest.WithReplicas(1)),
			demandtest.NewPool("b"),
			demandtest.NewNode("a1", demandtest.WithFeatures("a"), demandtest.WithState("DOWN")),
			demandtest.NewJobs(1, 8)},
			figures{"a": {1, 4}, "b": {1, 4}}},
		"when all pools are full, the first one gets the rest": {[]any{demandtest.NewPool("a",
			demandtest.WithBounds(0, 1)),
			demandtest.NewPool("b", demandtest.WithBounds(0, 1)), demandtest.NewJobs(1, 16)},
			figures{"a": {3, 12}, "b": {1, 4}}},
		"the number of nodes outside pools is fixed": {[]any{demandtest.NewPool("a", demandtest.WithBounds(0, 1)),
			demandtest.NewNode("n1", demandtest.WithState("ALLOCATED")), demandtest.NewJobs(1, 16)},
			figures{"a": {4, 16}}},
		"an idle node of another pool is enough": {[]any{demandtest.NewPool("a"), demandtest.NewPool("b"),
			demandtest.NewNode("b1", demandtest.WithFeatures("b")), demandtest.NewJobs(1, 4)}, figures{"a": {0, 4}}},
		"a pool of unknown shape is selected by its feature": {[]any{demandtest.NewPool("a", unknown),
			demandtest.NewPool("b", unknown),
			demandtest.NewJobs(1, 3, demandtest.WithConstraint("b"))}, figures{"b": {3, 3}}},
		"a feature that no pool has is assumed": {[]any{demandtest.NewPool("a", unknown),
			demandtest.NewPool("b", unknown),
			demandtest.NewJobs(1, 3, demandtest.WithConstraint("gold"))}, figures{"a": {3, 3}}},
		"generic resources of unknown shapes are assumed": {[]any{demandtest.NewPool("a", unknown),
			demandtest.NewJobs(1, 3, demandtest.WithDetails(func(d *slurm.JobDetails) { d.TRESPerNode = "gres/gpu:8" }))},
			figures{"a": {3, 3}}},
		"nodes outside the pools come last": {[]any{demandtest.NewPool("a"),
			demandtest.NewNode("n1", demandtest.WithState("ALLOCATED"), demandtest.WithSize(64, 64000)),
			demandtest.NewJob(1),
			demandtest.NewJob(2, demandtest.OnNodes(1), demandtest.WithTasks(40),
				demandtest.WithChange(func(j *slurm.Job) { j.MemoryPerNode = slurm.Num(9000) }))},
			figures{"a": {1, 1}}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			d := demandtest.DemandsOf(t, append(tt.nouns, demandtest.NewPartition("cpu"), demandtest.NewPartition("x"),
				demandtest.NewPartition("y"))...)
			if diff := cmp.Diff(tt.want, askedOfPools(d)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestThePartitionsOfAPool(t *testing.T) {
	nowhere := demandtest.NewPool("w", demandtest.ServingPartitions())
	nodeSet := func(text string) demandtest.PartitionOption {
		return func(p *slurm.Partition) { p.NodeSets = text }
	}
	tests := map[string]struct {
		nouns []any
		serve bool
	}{
		"no partitions in the spec, no nodes": {[]any{nowhere, demandtest.NewPartition("cpu")}, false},
		"the partitions of the spec":          {[]any{demandtest.NewPool("w"), demandtest.NewPartition("cpu")}, true},
		"partitions that do not exist": {[]any{demandtest.NewPool("w", demandtest.ServingPartitions("gone")),
			demandtest.NewPartition("cpu")},
			false},
		"the partitions of its nodes": {[]any{nowhere, demandtest.NewPartition("cpu"),
			demandtest.NewWorker("w1", demandtest.WithState("DOWN"))}, true},
		"the partitions of its FUTURE records": {[]any{nowhere, demandtest.NewPartition("cpu"),
			demandtest.NewWorker("w1", demandtest.WithState("FUTURE"))}, true},
		"the partitions of other nodes": {[]any{nowhere, demandtest.NewPartition("cpu"),
			demandtest.NewNode("n1", demandtest.WithState("ALLOCATED"))}, false},
		"the partitions of its node set": {[]any{nowhere, demandtest.NewPartition("cpu", nodeSet("n[1-9],w"))},
			true},
		"the partitions of another node set": {[]any{nowhere, demandtest.NewPartition("cpu", nodeSet("ww,v"))},
			false},
		"the partitions of all nodes": {[]any{nowhere, demandtest.NewPartition("cpu", nodeSet("ALL"))},
			true},
		"a partition without nodes in slurm.conf": {[]any{nowhere, demandtest.NewPartition("cpu", nodeSet(""))}, false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			p, _ := demandtest.DemandsOf(t, append(tt.nouns, demandtest.NewJob(1))...).Pool("w")
			if got := p.PendingJobs == 1; got != tt.serve {
				t.Errorf("serves the partition: %v, want %v\n%+v", got, tt.serve, p)
			}
			if got := slices.Equal(p.Partitions, []string{"cpu"}); got != tt.serve {
				t.Errorf("serves %v", p.Partitions)
			}
			if got := p.Pending == 1; got != tt.serve {
				t.Errorf("requests a node: %v, want %v\n%+v", got, tt.serve, p)
			}
		})
	}
}

func TestTheShapeOfAPool(t *testing.T) {
	future := demandtest.NewWorker("w9", demandtest.WithSize(8, 16000), demandtest.WithState("FUTURE"))
	tests := map[string]struct {
		nouns []any
		want  uint64 // pending nodes for 16 jobs of one CPU
	}{
		"from the spec":           {[]any{demandtest.NewPool("w"), future}, 4},
		"from its FUTURE records": {[]any{demandtest.NewPool("w", demandtest.WithShape(nil)), future}, 2},
		"from its nodes": {[]any{demandtest.NewPool("w", demandtest.WithShape(nil)),
			demandtest.NewWorker("w1", demandtest.WithSize(2, 8000), demandtest.WithState("DOWN"))}, 8},
		"unknown: one job per worker": {[]any{demandtest.NewPool("w", demandtest.WithShape(nil),
			demandtest.WithBounds(0, 50))}, 16},
		"unknown CPUs: one job per worker": {[]any{demandtest.NewPool("w",
			demandtest.WithShape(&demand.Shape{MemoryMiB: 8000}),
			demandtest.WithBounds(0, 50))}, 16},
		"unknown memory is enough": {[]any{demandtest.NewPool("w", demandtest.WithShape(&demand.Shape{CPUs: 8}))}, 2},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			p, _ := demandtest.DemandsOf(t, append(tt.nouns, demandtest.NewPartition("cpu"),
				demandtest.NewJobs(1, 16,
					demandtest.WithChange(func(j *slurm.Job) { j.MemoryPerCPU = slurm.Num(100) })))...).Pool("w")
			if p.Pending != tt.want || p.EligiblePendingJobs != 16 {
				t.Errorf("%d pending nodes, want %d\n%+v", p.Pending, tt.want, p)
			}
		})
	}
}

func TestAPoolCountsTheJobsOfItsPartitions(t *testing.T) {
	d := demandtest.DemandsOf(t, demandtest.NewPool("w"),
		demandtest.NewPool("v", demandtest.ServingPartitions("b", "cpu")),
		demandtest.NewPool("z", demandtest.ServingPartitions("down")),
		demandtest.NewPartition("cpu"), demandtest.NewPartition("b"),
		demandtest.NewPartition("down", func(p *slurm.Partition) { p.State = slurm.PartitionDown }),
		demandtest.NewJob(1, demandtest.WithChange(
			func(j *slurm.Job) { j.SubmitTime, j.EligibleTime = demandtest.Noon-50, demandtest.Noon-40 })),
		demandtest.NewJob(2, demandtest.InPartition("cpu,b"), demandtest.AsHeld,
			demandtest.WithChange(func(j *slurm.Job) { j.SubmitTime = demandtest.Noon - 500 })),
		demandtest.NewJob(3, demandtest.WithArray(3, "1-20%3", 3),
			demandtest.WithChange(func(j *slurm.Job) {
				j.SubmitTime, j.EligibleTime = demandtest.Noon-30,
					demandtest.Noon-30
			})),
		demandtest.NewJob(4, demandtest.InPartition("b"), demandtest.WithConstraint("gold"),
			demandtest.WithChange(func(j *slurm.Job) { j.SubmitTime = demandtest.Noon - 900 })),
		demandtest.NewJob(5, demandtest.InPartition("down")),
		demandtest.NewJob(6, demandtest.WithReason("Licenses"), demandtest.WithArray(6, "1,2,...", 0)),
		demandtest.NewJob(7, demandtest.RunningOn("n1")),
	)
	ignore := cmp.FilterPath(func(p cmp.Path) bool {
		return p.String() == "Required" || p.String() == "Partitions" || p.String() == "Pending"
	}, cmp.Ignore())
	want := []demand.PoolDemand{
		{
			// All jobs that v could run are assigned to w, the first by name.
			Name: "w", PendingJobs: 24, Inexact: true, OldestPending: demandtest.Noon - 500,
			ByClass: map[pending.Class]uint64{pending.ClassCapacity: 4, pending.ClassHeld: 1,
				pending.ClassArrayThrottle: 17, pending.ClassLicense: 2},
		}, {
			Name: "v", PendingJobs: 25, EligiblePendingJobs: 4, Inexact: true, OldestPending: demandtest.Noon - 900,
			OldestEligible: demandtest.Noon - 40,
			ByClass: map[pending.Class]uint64{pending.ClassCapacity: 4, pending.ClassHeld: 1,
				pending.ClassArrayThrottle: 17, pending.ClassLicense: 2, pending.ClassUnsatisfiable: 1},
			Unsatisfiable: []demand.Unsatisfiable{{Reason: "no node has the features or the disk", Jobs: 1, JobID: 4}},
		}, {
			Name: "z", PendingJobs: 1, OldestPending: demandtest.Noon - 100,
			ByClass: map[pending.Class]uint64{pending.ClassPartitionLimit: 1},
		},
	}
	if diff := cmp.Diff(want, d.Pools, ignore); diff != "" {
		t.Error(diff)
	}
}

func TestNothingIsKnownOfPoolsBeforeNodesJobsAndPartitionsHaveBeenRead(t *testing.T) {
	s := demandtest.SnapshotOf(t, demandtest.NewPartition("cpu"), demandtest.NewJob(1))
	s.Jobs.Known = false
	if diff := cmp.Diff(demand.Demand{},
		demand.Compute(demandtest.Noon.Time(), s, demandtest.NewPool("w", demandtest.WithBounds(3, 9)))); diff != "" {
		t.Error(diff)
	}
}
