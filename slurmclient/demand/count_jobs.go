package demand

import (
	"cmp"
	"slices"

	"github.com/slurmtide/slurmtide/slurmclient/demand/internal/model"
	"github.com/slurmtide/slurmtide/slurmclient/demand/pending"
)

// countJobs assigns every pending job to one class in each of its partitions and pools.
func (p *planner) countJobs() {
	next := 0 // requests and groups of ClassCapacity have the same order
	var a listTotals
	for _, g := range p.groups {
		if a.byClass == nil || a.list != g.Partition {
			p.addTotals(&a)
			a = p.newListTotals(g.Partition)
		}
		if g.Class != pending.ClassCapacity {
			a.addJobs(g, g.Class, g.Jobs)
			p.countIneligible(g, a.pools)
			continue
		}
		r := &p.requests[next]
		next++
		for k, at := range r.partitions {
			addRequest(&p.Partitions[at], r, r.misfits[k])
		}
		if r.target >= 0 {
			for _, count := range r.SplitByClass() {
				a.addJobs(g, count.Class, count.Jobs)
			}
			continue
		}
		if p.work.isSpent() && len(r.misfits) > 0 {
			r.Deviations |= model.ExceedsBudget
			a.addRefused(r)
			continue
		}
		for _, at := range a.pools {
			if p.work.isCanceled() {
				return
			}
			p.refuseInPool(at, r)
		}
	}
	p.addTotals(&a)
}

// countIneligible counts jobs that more nodes would not help. For unsatisfiable jobs it also
// records the reason in the pools.
func (p *planner) countIneligible(g *model.JobGroup, pools []int) {
	for _, at := range p.PartitionsOf(g.Partition) {
		p.Partitions[at].AddJobs(g, g.Class, g.Jobs)
		if g.Class == pending.ClassUnsatisfiable {
			model.AddUnsatisfiable(p.Partitions[at].UnsatisfiableByReason, g, g.Jobs, model.MisfitGivenUp)
		}
	}
	if g.Class != pending.ClassUnsatisfiable {
		return
	}
	for _, at := range pools {
		model.AddUnsatisfiable(p.Pools[at].UnsatisfiableByReason, g, g.Jobs, model.MisfitGivenUp)
	}
}

// listTotals adds up the pending jobs with one list of partitions, for the pools that serve any of
// these partitions.
type listTotals struct {
	list           string
	pools          []int
	byClass        map[pending.Class]uint64
	model.JobGroup // inexact and submitted are the totals
	// refused are the jobs that can run nowhere and are beyond the budget, by reason.
	refused map[model.Misfit]model.JobGroup
}

func (p *planner) newListTotals(list string) listTotals {
	a := listTotals{list: list, byClass: map[pending.Class]uint64{}}
	a.pools = p.poolsOf(list)
	return a
}

// addRefused counts a request that can run nowhere in all pools that serve its partitions, with one reason for all of them.
func (a *listTotals) addRefused(r *request) {
	worst := slices.Max(r.misfits)
	if worst == model.MisfitClosed {
		a.addJobs(r.JobGroup, pending.ClassPartitionLimit, r.jobs)
		return
	}
	a.addJobs(r.JobGroup, pending.ClassUnsatisfiable, r.jobs)
	if a.refused == nil {
		a.refused = map[model.Misfit]model.JobGroup{}
	}
	g, seen := a.refused[worst]
	if !seen || r.LowestID < g.LowestID {
		g.LowestID = r.LowestID
	}
	g.Jobs += r.jobs
	a.refused[worst] = g
}

func (a *listTotals) addJobs(g *model.JobGroup, class pending.Class, jobs uint64) {
	if jobs == 0 {
		return
	}
	a.byClass[class] += jobs
	a.Inexact = a.Inexact || g.Inexact
	a.Submitted = model.EarlierTime(a.Submitted, g.Submitted)
}

// addTotals adds the totals to the result of each of their pools.
func (p *planner) addTotals(a *listTotals) {
	for _, at := range a.pools {
		d := &p.Pools[at].Result
		for class, jobs := range a.byClass {
			d.AddJobs(class, jobs)
		}
		d.Inexact = d.Inexact || a.Inexact
		d.OldestPending = model.EarlierTime(d.OldestPending, a.Submitted)
		for f, g := range a.refused {
			model.AddUnsatisfiable(p.Pools[at].UnsatisfiableByReason, &g, g.Jobs, f)
		}
	}
}

// refuseInPool counts a request that can run nowhere in a pool that serves its partitions, with the pool's reason.
func (p *planner) refuseInPool(at int, r *request) {
	worst := model.MisfitNone
	for _, i := range r.partitions {
		for _, k := range p.sourcesOfPool(i, at) {
			_, f := p.trySource(r, i, &p.Partitions[i].Sources[k])
			worst = max(worst, cmp.Or(f, r.hetMisfit))
		}
	}
	pl := &p.Pools[at]
	pl.Result.Inexact = pl.Result.Inexact || r.Inexact
	pl.Result.OldestPending = model.EarlierTime(pl.Result.OldestPending, r.Submitted)
	if worst == model.MisfitClosed {
		pl.Result.AddJobs(pending.ClassPartitionLimit, r.jobs)
		return
	}
	pl.Result.AddJobs(pending.ClassUnsatisfiable, r.jobs)
	model.AddUnsatisfiable(pl.UnsatisfiableByReason, r.JobGroup, r.jobs, worst)
}

// sourcesOfPool returns the indexes of a pool's sources in a partition.
func (p *planner) sourcesOfPool(partition, pool int) []int {
	if p.poolSources == nil {
		p.poolSources = make([]map[int][]int, len(p.Partitions))
	}
	if p.poolSources[partition] == nil {
		p.poolSources[partition] = map[int][]int{}
		for k := range p.Partitions[partition].Sources {
			of := p.Partitions[partition].Sources[k].Pool
			p.poolSources[partition][of] = append(p.poolSources[partition][of], k)
		}
	}
	return p.poolSources[partition][pool]
}

// addRequest counts the jobs of a request in a partition, by the reason why they cannot run there.
func addRequest(pt *model.PartitionState, r *request, f model.Misfit) {
	switch f {
	case model.MisfitNone:
		for _, count := range r.SplitByClass() {
			pt.AddJobs(r.JobGroup, count.Class, count.Jobs)
		}
		if r.jobs > 0 {
			pt.OldestEligible = model.EarlierTime(pt.OldestEligible, r.Eligible)
		}
	case model.MisfitClosed:
		pt.AddJobs(r.JobGroup, pending.ClassPartitionLimit, r.JobGroup.Jobs)
	default:
		pt.AddJobs(r.JobGroup, pending.ClassUnsatisfiable, r.JobGroup.Jobs)
		model.AddUnsatisfiable(pt.UnsatisfiableByReason, r.JobGroup, r.JobGroup.Jobs, f)
	}
}
