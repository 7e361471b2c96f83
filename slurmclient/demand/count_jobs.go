package demand

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/slurmtide/slurmtide/slurmclient/demand/pending"
)

// countJobs assigns every pending job to one class in each of its partitions and pools.
func (p *planner) countJobs() {
	next := 0 // requests and groups of ClassCapacity have the same order
	var a listTotals
	for _, g := range p.groups {
		if a.byClass == nil || a.list != g.partition {
			p.addTotals(&a)
			a = p.newListTotals(g.partition)
		}
		for _, at := range a.pools {
			p.pools[at].result.addUnmodelled(g.deviations, g.jobs)
			p.pools[at].result.addUnmodelled(isLimited, g.unmodelled)
			p.pools[at].result.addUnmodelled(overlapsReservation, g.overlapsReservation)
			if p.enforcementUnknown {
				p.pools[at].result.addUnmodelled(mayBeUnenforced, g.limited)
			}
		}
		if g.class != pending.ClassCapacity {
			a.addJobs(g, g.class, g.jobs)
			p.countIneligible(g, a.pools)
			continue
		}
		r := &p.requests[next]
		next++
		for k, at := range r.partitions {
			p.partitions[at].addRequest(r, r.misfits[k])
		}
		if r.target >= 0 {
			for _, count := range r.splitByClass() {
				a.addJobs(g, count.class, count.jobs)
			}
			continue
		}
		for _, at := range a.pools {
			p.refuseInPool(at, r)
		}
	}
	p.addTotals(&a)
}

// countIneligible counts jobs that more nodes would not help. For unsatisfiable jobs it also
// records the reason in the pools.
func (p *planner) countIneligible(g *jobGroup, pools []int) {
	for _, at := range p.partitionsOf(g.partition) {
		p.partitions[at].addJobs(g, g.class, g.jobs)
		if g.class == pending.ClassUnsatisfiable {
			addUnsatisfiable(p.partitions[at].unsatisfiable, g, g.jobs, misfitGivenUp)
		}
	}
	if g.class != pending.ClassUnsatisfiable {
		return
	}
	for _, at := range pools {
		addUnsatisfiable(p.pools[at].unsatisfiable, g, g.jobs, misfitGivenUp)
	}
}

func (pt *partition) addRequest(r *request, f misfit) {
	switch f {
	case misfitNone:
		for _, count := range r.splitByClass() {
			pt.addJobs(r.jobGroup, count.class, count.jobs)
		}
		if r.jobs > 0 {
			pt.OldestEligible = earlierTime(pt.OldestEligible, r.eligible)
		}
	case misfitClosed:
		pt.addJobs(r.jobGroup, pending.ClassPartitionLimit, r.jobGroup.jobs)
	default:
		pt.addJobs(r.jobGroup, pending.ClassUnsatisfiable, r.jobGroup.jobs)
		addUnsatisfiable(pt.unsatisfiable, r.jobGroup, r.jobGroup.jobs, f)
	}
}

// classCount is how many jobs of a group are in a class.
type classCount struct {
	class pending.Class
	jobs  uint64
}

// splitByClass splits the jobs of a group that could run by what limits allow.
func (g *jobGroup) splitByClass() [3]classCount {
	return [...]classCount{{pending.ClassCapacity, g.countAllowed()}, {pending.ClassLimit, g.limited}, {pending.ClassLicense, g.unlicensed}}
}

// addUnsatisfiable counts jobs of the group as unsatisfiable.
func addUnsatisfiable(in map[string]Unsatisfiable, g *jobGroup, jobs uint64, f misfit) {
	u := in[f.text()]
	if u.Jobs == 0 || g.lowestID < u.JobID {
		u.JobID = g.lowestID
	}
	u.Reason, u.Jobs = f.text(), u.Jobs+jobs
	in[u.Reason] = u
}

func sortUnsatisfiable(in map[string]Unsatisfiable) []Unsatisfiable {
	return slices.SortedFunc(maps.Values(in),
		func(a, b Unsatisfiable) int { return strings.Compare(a.Reason, b.Reason) })
}

func (pt *partition) addJobs(g *jobGroup, class pending.Class, jobs uint64) {
	if jobs == 0 {
		return
	}
	pt.PendingJobs += jobs
	if class == pending.ClassCapacity {
		pt.EligiblePendingJobs += jobs
	}
	pt.byReason[ReasonCount{Reason: g.reason, Class: class}] += jobs
	pt.Inexact = pt.Inexact || g.inexact
	pt.OldestPending = earlierTime(pt.OldestPending, g.submitted)
}

// listTotals adds up the pending jobs with one list of partitions, for the pools that serve any of
// these partitions.
type listTotals struct {
	list     string
	pools    []int
	byClass  map[pending.Class]uint64
	jobGroup // inexact and submitted are the totals
}

func (p *planner) newListTotals(list string) listTotals {
	a := listTotals{list: list, byClass: map[pending.Class]uint64{}}
	for at := range p.pools {
		if slices.ContainsFunc(p.partitionsOf(list),
			func(part int) bool { return slices.Contains(p.pools[at].partitions, part) }) {
			a.pools = append(a.pools, at)
		}
	}
	return a
}

func (a *listTotals) addJobs(g *jobGroup, class pending.Class, jobs uint64) {
	if jobs == 0 {
		return
	}
	a.byClass[class] += jobs
	a.inexact = a.inexact || g.inexact
	a.submitted = earlierTime(a.submitted, g.submitted)
}

// addTotals adds the totals to the result of each of their pools.
func (p *planner) addTotals(a *listTotals) {
	for _, at := range a.pools {
		d := &p.pools[at].result
		for class, jobs := range a.byClass {
			d.addJobs(class, jobs)
		}
		d.Inexact = d.Inexact || a.inexact
		d.OldestPending = earlierTime(d.OldestPending, a.submitted)
	}
}

func (d *PoolDemand) addJobs(class pending.Class, jobs uint64) {
	if d.ByClass == nil {
		d.ByClass = map[pending.Class]uint64{}
	}
	d.ByClass[class] += jobs
	d.PendingJobs += jobs
}

// refuseInPool counts a request that can run nowhere in a pool that serves its partitions, with the
// reason why it cannot run there.
func (p *planner) refuseInPool(at int, r *request) {
	worst := misfitNone
	for _, i := range r.partitions {
		for k := range p.partitions[i].sources {
			if from := &p.partitions[i].sources[k]; from.pool == at {
				_, f := p.trySource(r, i, from)
				worst = max(worst, cmp.Or(f, r.hetMisfit))
			}
		}
	}
	pl := &p.pools[at]
	pl.result.Inexact = pl.result.Inexact || r.inexact
	pl.result.OldestPending = earlierTime(pl.result.OldestPending, r.submitted)
	if worst == misfitClosed {
		pl.result.addJobs(pending.ClassPartitionLimit, r.jobs)
		return
	}
	pl.result.addJobs(pending.ClassUnsatisfiable, r.jobs)
	addUnsatisfiable(pl.unsatisfiable, r.jobGroup, r.jobs, worst)
}
