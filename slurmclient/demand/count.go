package demand

import (
	"cmp"
	"maps"
	"slices"
	"strings"
)

// countJobs assigns every pending job to one class in each of its partitions and pools.
func (p *plan) count() {
	next := 0 // requests and groups of ClassCapacity have the same order
	var a audience
	for _, g := range p.groups {
		if a.byClass == nil || a.list != g.partition {
			p.tell(&a)
			a = p.audienceOf(g.partition)
		}
		for _, at := range a.pools {
			p.pools[at].result.addUnmodelled(g.deviations, g.jobs)
			p.pools[at].result.addUnmodelled(isLimited, g.unfollowed)
			p.pools[at].result.addUnmodelled(meetsReservation, g.reserved)
			if p.doubtsLimits {
				p.pools[at].result.addUnmodelled(mayBeUnenforced, g.limited)
			}
		}
		if g.class != ClassCapacity {
			a.add(g, g.class, g.jobs)
			p.countOther(g, a.pools)
			continue
		}
		r := &p.requests[next]
		next++
		for k, at := range r.parts {
			p.parts[at].addRequest(r, r.faults[k])
		}
		if r.target >= 0 {
			for _, count := range r.portions() {
				a.add(g, count.class, count.jobs)
			}
			continue
		}
		for _, at := range a.pools {
			p.refuse(at, r)
		}
	}
	p.tell(&a)
}

// countIneligible counts jobs that more nodes would not help. For unsatisfiable jobs it also
// records the reason in the pools.
func (p *plan) countOther(g *group, pools []int) {
	for _, at := range p.partitionsOf(g.partition) {
		p.parts[at].add(g, g.class, g.jobs)
		if g.class == ClassUnsatisfiable {
			refuse(p.parts[at].unsatisfiable, g, g.jobs, faultGivenUp)
		}
	}
	if g.class != ClassUnsatisfiable {
		return
	}
	for _, at := range pools {
		refuse(p.pools[at].unsatisfiable, g, g.jobs, faultGivenUp)
	}
}

func (pt *part) addRequest(r *request, f fault) {
	switch f {
	case faultNone:
		for _, count := range r.portions() {
			pt.add(r.group, count.class, count.jobs)
		}
		if r.jobs > 0 {
			pt.OldestEligible = earliest(pt.OldestEligible, r.eligible)
		}
	case faultClosed:
		pt.add(r.group, ClassPartitionLimit, r.group.jobs)
	default:
		pt.add(r.group, ClassUnsatisfiable, r.group.jobs)
		refuse(pt.unsatisfiable, r.group, r.group.jobs, f)
	}
}

// classCount is how many jobs of a group are in a class.
type portion struct {
	class Class
	jobs  uint64
}

// splitByClass splits the jobs of a group that could run by what limits allow.
func (g *group) portions() [3]portion {
	return [...]portion{{ClassCapacity, g.allowed()}, {ClassLimit, g.limited}, {ClassLicense, g.unlicensed}}
}

// addUnsatisfiable counts jobs of the group as unsatisfiable.
func refuse(in map[string]Unsatisfiable, g *group, jobs uint64, f fault) {
	u := in[f.text()]
	if u.Jobs == 0 || g.example < u.JobID {
		u.JobID = g.example
	}
	u.Reason, u.Jobs = f.text(), u.Jobs+jobs
	in[u.Reason] = u
}

func sorted(in map[string]Unsatisfiable) []Unsatisfiable {
	return slices.SortedFunc(maps.Values(in),
		func(a, b Unsatisfiable) int { return strings.Compare(a.Reason, b.Reason) })
}

func (pt *part) add(g *group, class Class, jobs uint64) {
	if jobs == 0 {
		return
	}
	pt.PendingJobs += jobs
	if class == ClassCapacity {
		pt.EligiblePendingJobs += jobs
	}
	pt.byReason[ReasonCount{Reason: g.reason, Class: class}] += jobs
	pt.Inexact = pt.Inexact || g.inexact
	pt.OldestPending = earliest(pt.OldestPending, g.submitted)
}

// listTotals adds up the pending jobs with one list of partitions, for the pools that serve any of
// these partitions.
type audience struct {
	list    string
	pools   []int
	byClass map[Class]uint64
	group   // inexact and submitted are the totals
}

func (p *plan) audienceOf(list string) audience {
	a := audience{list: list, byClass: map[Class]uint64{}}
	for at := range p.pools {
		if slices.ContainsFunc(p.partitionsOf(list),
			func(part int) bool { return slices.Contains(p.pools[at].parts, part) }) {
			a.pools = append(a.pools, at)
		}
	}
	return a
}

func (a *audience) add(g *group, class Class, jobs uint64) {
	if jobs == 0 {
		return
	}
	a.byClass[class] += jobs
	a.inexact = a.inexact || g.inexact
	a.submitted = earliest(a.submitted, g.submitted)
}

// addTotals adds the totals to the result of each of their pools.
func (p *plan) tell(a *audience) {
	for _, at := range a.pools {
		d := &p.pools[at].result
		for class, jobs := range a.byClass {
			d.add(class, jobs)
		}
		d.Inexact = d.Inexact || a.inexact
		d.OldestPending = earliest(d.OldestPending, a.submitted)
	}
}

func (d *PoolDemand) add(class Class, jobs uint64) {
	if d.ByClass == nil {
		d.ByClass = map[Class]uint64{}
	}
	d.ByClass[class] += jobs
	d.PendingJobs += jobs
}

// refuseInPool counts a request that can run nowhere in a pool that serves its partitions, with the
// reason why it cannot run there.
func (p *plan) refuse(at int, r *request) {
	worst := faultNone
	for _, i := range r.parts {
		for k := range p.parts[i].sources {
			if from := &p.parts[i].sources[k]; from.pool == at {
				_, f := p.trySource(r, i, from)
				worst = max(worst, cmp.Or(f, r.broken))
			}
		}
	}
	pl := &p.pools[at]
	pl.result.Inexact = pl.result.Inexact || r.inexact
	pl.result.OldestPending = earliest(pl.result.OldestPending, r.submitted)
	if worst == faultClosed {
		pl.result.add(ClassPartitionLimit, r.jobs)
		return
	}
	pl.result.add(ClassUnsatisfiable, r.jobs)
	refuse(pl.unsatisfiable, r.group, r.jobs, worst)
}
