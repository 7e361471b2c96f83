package model

import (
	"maps"
	"slices"
	"strings"

	"github.com/slurmtide/slurmtide/slurmclient/demand/pending"
)

// classCount is how many jobs of a group are in a class.
type classCount struct {
	Class pending.Class
	Jobs  uint64
}

// SplitByClass splits the jobs of a group that could run by whether limits allow them.
func (g *JobGroup) SplitByClass() [3]classCount {
	return [...]classCount{{pending.ClassCapacity, g.CountAllowed()}, {pending.ClassLimit, g.Limited},
		{pending.ClassLicense, g.unlicensed}}
}

// AddUnsatisfiable counts jobs of the group as unsatisfiable.
func AddUnsatisfiable(in map[string]Unsatisfiable, g *JobGroup, jobs uint64, f Misfit) {
	u := in[f.text()]
	if u.Jobs == 0 || g.LowestID < u.JobID {
		u.JobID = g.LowestID
	}
	u.Reason, u.Jobs = f.text(), u.Jobs+jobs
	in[u.Reason] = u
}

func sortUnsatisfiable(in map[string]Unsatisfiable) []Unsatisfiable {
	return slices.SortedFunc(maps.Values(in),
		func(a, b Unsatisfiable) int { return strings.Compare(a.Reason, b.Reason) })
}

// AddJobs counts pending jobs of a group in the partition.
func (pt *PartitionState) AddJobs(g *JobGroup, class pending.Class, jobs uint64) {
	if jobs == 0 {
		return
	}
	pt.PendingJobs += jobs
	if class == pending.ClassCapacity {
		pt.EligiblePendingJobs += jobs
	}
	pt.byReason[ReasonCount{Reason: g.reason, Class: class}] += jobs
	pt.Inexact = pt.Inexact || g.Inexact
	pt.OldestPending = EarlierTime(pt.OldestPending, g.Submitted)
}

// AddJobs adds jobs of a class to the demand on the pool.
func (d *PoolDemand) AddJobs(class pending.Class, jobs uint64) {
	if d.ByClass == nil {
		d.ByClass = map[pending.Class]uint64{}
	}
	d.ByClass[class] += jobs
	d.PendingJobs += jobs
}
