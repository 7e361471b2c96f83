package demand_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slurmtide/slurmtide/slurmclient/demand"
	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

// askedOfPools returns the pending nodes and eligible jobs of each pool that has any.
func asked(d demand.Demand) map[string][2]uint64 {
	out := map[string][2]uint64{}
	for _, p := range d.Pools {
		if p.Pending > 0 || p.EligiblePendingJobs > 0 {
			out[p.Name] = [2]uint64{p.Pending, p.EligiblePendingJobs}
		}
	}
	return out
}

func TestAJobAsksInOnePool(t *testing.T) {
	weighing := func(w uint32) poolOption {
		return func(p *demand.Pool) { p.Shape = &demand.Shape{CPUs: 4, MemoryMiB: 8000, Weight: w} }
	}
	gpu := shaped(&demand.Shape{CPUs: 16, MemoryMiB: 64000, GRES: "gpu:h100:4"})
	unknown := shaped(nil)
	type figures = map[string][2]uint64
	tests := map[string]struct {
		nouns []any
		want  figures
	}{
		"the first by name":                                    {[]any{newPool("b"), newPool("a"), jobs(1, 4)}, figures{"a": {1, 4}}},
		"the lowest weight":                                    {[]any{newPool("a", weighing(5)), newPool("b", weighing(2)), jobs(1, 4)}, figures{"b": {1, 4}}},
		"an unset weight is Slurm's default":                   {[]any{newPool("b", weighing(0)), newPool("a", weighing(1)), jobs(1, 4)}, figures{"a": {1, 4}}},
		"the first whose shape could run it":                   {[]any{newPool("a"), newPool("g", gpu), job(1, with(func(j *slurm.Job) { j.TRESPerNode = "gres/gpu:2" })), job(2)}, figures{"a": {0, 1}, "g": {1, 1}}},
		"the first whose maximum is enough":                    {[]any{newPool("a", bounds(0, 2)), newPool("b"), job(1, nodes(3))}, figures{"b": {3, 1}}},
		"the first partition of its list":                      {[]any{newPool("a", serving("x")), newPool("b", serving("y")), job(1, in("y,x"))}, figures{"b": {1, 1}}},
		"the next partition when the first cannot run it":      {[]any{newPool("a", serving("x"), bounds(0, 2)), newPool("b", serving("y")), job(1, in("x,y"), nodes(3))}, figures{"b": {3, 1}}},
		"a pool in two partitions is used once":                {[]any{newPool("a", serving("x", "y")), job(1, in("x,y"), exclusive), job(2, in("y"), exclusive)}, figures{"a": {2, 2}}},
		"jobs of two partitions share its new workers":         {[]any{newPool("a", serving("x", "y")), job(1, in("x")), job(2, in("y"))}, figures{"a": {1, 2}}},
		"jobs beyond the maximum go to the next pool":          {[]any{newPool("a", bounds(0, 2)), newPool("b"), jobs(1, 20)}, figures{"a": {2, 8}, "b": {3, 12}}},
		"jobs beyond the maximum go to another partition":      {[]any{newPool("a", serving("x"), bounds(0, 2)), newPool("b", serving("y")), jobs(1, 20, in("x,y"))}, figures{"a": {2, 8}, "b": {3, 12}}},
		"jobs beyond the maximum go to the third pool":         {[]any{newPool("a", bounds(0, 2)), newPool("b", bounds(0, 1)), newPool("c"), jobs(1, 20)}, figures{"a": {2, 8}, "b": {1, 4}, "c": {2, 8}}},
		"a pool that cannot run the job is skipped":            {[]any{newPool("a", bounds(0, 2)), newPool("b", shaped(&demand.Shape{CPUs: 1, MemoryMiB: 100})), newPool("c"), jobs(1, 3, with(func(j *slurm.Job) { j.MemoryPerNode = slurm.Num(5000) }))}, figures{"a": {2, 2}, "c": {1, 1}}},
		"a job is never split between pools":                   {[]any{newPool("a", bounds(0, 4)), newPool("b"), jobs(1, 2, nodes(3), exclusive)}, figures{"a": {3, 1}, "b": {3, 1}}},
		"smaller jobs take the room that is left":              {[]any{newPool("a", bounds(0, 4)), newPool("b"), jobs(1, 2, nodes(3), exclusive), job(9)}, figures{"a": {4, 2}, "b": {3, 1}}},
		"smaller jobs go where there is room":                  {[]any{newPool("a", bounds(0, 1)), newPool("b"), job(1, tasks(3), nodes(1)), jobs(2, 3)}, figures{"a": {1, 2}, "b": {1, 2}}},
		"smaller jobs use a pool that larger ones skipped":     {[]any{newPool("a", bounds(0, 1)), newPool("b", bounds(0, 1)), newPool("c"), job(1, nodes(1), tasks(4)), job(2, nodes(1), tasks(3)), job(3, nodes(1), tasks(3), with(func(j *slurm.Job) { j.MemoryPerNode = slurm.Num(1) })), job(9)}, figures{"a": {1, 1}, "b": {1, 2}, "c": {1, 1}}},
		"busy nodes count towards the maximum":                 {[]any{newPool("a", bounds(0, 2)), newPool("b"), node("a1", having("a"), state("ALLOCATED")), jobs(1, 8)}, figures{"a": {1, 4}, "b": {1, 4}}},
		"unusable workers count towards the maximum":           {[]any{newPool("a", bounds(0, 2), replicas(1)), newPool("b"), node("a1", having("a"), state("DOWN")), jobs(1, 8)}, figures{"a": {1, 4}, "b": {1, 4}}},
		"when all pools are full, the first one gets the rest": {[]any{newPool("a", bounds(0, 1)), newPool("b", bounds(0, 1)), jobs(1, 16)}, figures{"a": {3, 12}, "b": {1, 4}}},
		"the number of nodes outside pools is fixed":           {[]any{newPool("a", bounds(0, 1)), node("n1", state("ALLOCATED")), jobs(1, 16)}, figures{"a": {4, 16}}},
		"an idle node of another pool is enough":               {[]any{newPool("a"), newPool("b"), node("b1", having("b")), jobs(1, 4)}, figures{"a": {0, 4}}},
		"a pool of unknown shape is selected by its feature":   {[]any{newPool("a", unknown), newPool("b", unknown), jobs(1, 3, withConstraint("b"))}, figures{"b": {3, 3}}},
		"a feature that no pool has is assumed":                {[]any{newPool("a", unknown), newPool("b", unknown), jobs(1, 3, withConstraint("gold"))}, figures{"a": {3, 3}}},
		"generic resources of unknown shapes are assumed":      {[]any{newPool("a", unknown), jobs(1, 3, with(func(j *slurm.Job) { j.TRESPerNode = "gres/gpu:8" }))}, figures{"a": {3, 3}}},
		"nodes outside the pools come last":                    {[]any{newPool("a"), node("n1", state("ALLOCATED"), size(64, 64000)), job(1), job(2, nodes(1), tasks(40), with(func(j *slurm.Job) { j.MemoryPerNode = slurm.Num(9000) }))}, figures{"a": {1, 1}}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			d := demandsOf(t, append(tt.nouns, partition("cpu"), partition("x"), partition("y"))...)
			if diff := cmp.Diff(tt.want, asked(d)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestThePartitionsOfAPool(t *testing.T) {
	nowhere := newPool("w", serving())
	nodeSet := func(text string) partitionOption {
		return func(p *slurm.Partition) { p.NodeSets = text }
	}
	tests := map[string]struct {
		nouns []any
		serve bool
	}{
		"no partitions in the spec, no nodes":     {[]any{nowhere, partition("cpu")}, false},
		"the partitions of the spec":              {[]any{newPool("w"), partition("cpu")}, true},
		"partitions that do not exist":            {[]any{newPool("w", serving("gone")), partition("cpu")}, false},
		"the partitions of its nodes":             {[]any{nowhere, partition("cpu"), worker("w1", state("DOWN"))}, true},
		"the partitions of its FUTURE records":    {[]any{nowhere, partition("cpu"), worker("w1", state("FUTURE"))}, true},
		"the partitions of other nodes":           {[]any{nowhere, partition("cpu"), node("n1", state("ALLOCATED"))}, false},
		"the partitions of its node set":          {[]any{nowhere, partition("cpu", nodeSet("n[1-9],w"))}, true},
		"the partitions of another node set":      {[]any{nowhere, partition("cpu", nodeSet("ww,v"))}, false},
		"the partitions of all nodes":             {[]any{nowhere, partition("cpu", nodeSet("ALL"))}, true},
		"a partition without nodes in slurm.conf": {[]any{nowhere, partition("cpu", nodeSet(""))}, false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			p, _ := demandsOf(t, append(tt.nouns, job(1))...).Pool("w")
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
	future := worker("w9", size(8, 16000), state("FUTURE"))
	tests := map[string]struct {
		nouns []any
		want  uint64 // pending nodes for 16 jobs of one CPU
	}{
		"from the spec":                    {[]any{newPool("w"), future}, 4},
		"from its FUTURE records":          {[]any{newPool("w", shaped(nil)), future}, 2},
		"from its nodes":                   {[]any{newPool("w", shaped(nil)), worker("w1", size(2, 8000), state("DOWN"))}, 8},
		"unknown: one job per worker":      {[]any{newPool("w", shaped(nil), bounds(0, 50))}, 16},
		"unknown CPUs: one job per worker": {[]any{newPool("w", shaped(&demand.Shape{MemoryMiB: 8000}), bounds(0, 50))}, 16},
		"unknown memory is enough":         {[]any{newPool("w", shaped(&demand.Shape{CPUs: 8}))}, 2},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			p, _ := demandsOf(t, append(tt.nouns, partition("cpu"),
				jobs(1, 16, with(func(j *slurm.Job) { j.MemoryPerCPU = slurm.Num(100) })))...).Pool("w")
			if p.Pending != tt.want || p.EligiblePendingJobs != 16 {
				t.Errorf("%d pending nodes, want %d\n%+v", p.Pending, tt.want, p)
			}
		})
	}
}

func TestAPoolCountsTheJobsOfItsPartitions(t *testing.T) {
	d := demandsOf(t, newPool("w"), newPool("v", serving("b", "cpu")),
		newPool("z", serving("down")),
		partition("cpu"), partition("b"),
		partition("down", func(p *slurm.Partition) { p.State = slurm.PartitionDown }),
		job(1, with(func(j *slurm.Job) { j.SubmitTime, j.EligibleTime = noon-50, noon-40 })),
		job(2, in("cpu,b"), held, with(func(j *slurm.Job) { j.SubmitTime = noon - 500 })),
		job(3, withArray(3, "1-20%3", 3),
			with(func(j *slurm.Job) { j.SubmitTime, j.EligibleTime = noon-30, noon-30 })),
		job(4, in("b"), withConstraint("gold"),
			with(func(j *slurm.Job) { j.SubmitTime = noon - 900 })),
		job(5, in("down")), job(6, reason("Licenses"), withArray(6, "1,2,...", 0)),
		job(7, running("n1")),
	)
	ignore := cmp.FilterPath(func(p cmp.Path) bool {
		return p.String() == "Required" || p.String() == "Partitions" || p.String() == "Pending"
	}, cmp.Ignore())
	want := []demand.PoolDemand{
		{
			// All jobs that v could run are assigned to w, the first by name.
			Name: "w", PendingJobs: 24, Inexact: true, OldestPending: noon - 500,
			ByClass: map[demand.Class]uint64{demand.ClassCapacity: 4, demand.ClassHeld: 1,
				demand.ClassArrayThrottle: 17, demand.ClassLicense: 2},
		}, {
			Name: "v", PendingJobs: 25, EligiblePendingJobs: 4, Inexact: true, OldestPending: noon - 900,
			OldestEligible: noon - 40,
			ByClass: map[demand.Class]uint64{demand.ClassCapacity: 4, demand.ClassHeld: 1,
				demand.ClassArrayThrottle: 17, demand.ClassLicense: 2, demand.ClassUnsatisfiable: 1},
			Unsatisfiable: []demand.Unsatisfiable{{Reason: "no node has the features or the disk", Jobs: 1, JobID: 4}},
		}, {
			Name: "z", PendingJobs: 1, OldestPending: noon - 100,
			ByClass: map[demand.Class]uint64{demand.ClassPartitionLimit: 1},
		},
	}
	if diff := cmp.Diff(want, d.Pools, ignore); diff != "" {
		t.Error(diff)
	}
}

func TestNothingIsKnownOfPoolsBeforeNodesJobsAndPartitionsHaveBeenRead(t *testing.T) {
	s := snapshotOf(t, partition("cpu"), job(1))
	s.Jobs.Known = false
	if diff := cmp.Diff(demand.Demand{}, demand.Compute(noon.Time(), s, newPool("w", bounds(3, 9)))); diff != "" {
		t.Error(diff)
	}
}
