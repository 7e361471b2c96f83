package demand

import (
	"cmp"
	"slices"
	"strings"

	"github.com/slurmtide/slurmtide/slurmclient"
	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

// limits are what QOS, associations and licences let run. slurmctld tells of a limit by
// a job's reason only when nothing that it looks at before keeps the job from running:
// while nodes are missing or jobs of higher priority wait, it tells of those. So of the
// jobs that wait for nodes no more are eligible than the limits let run beside those
// that do, the jobs of the highest priority first.
//
// Limits hold where AccountingStorageEnforce says so (slurmrestd tells from v0.0.45 on),
// and where that is not known.
type limits struct {
	scale
	gates   gates
	waiting []waiting
	// fillsNodes is dims.fillsNodes.
	fillsNodes bool
	// told is whether a job waits for a limit's reason: then limits are enforced.
	told bool
	// priority has the highest of the components of heterogeneous jobs.
	priority map[uint32]uint64
}

// waiting are jobs of one record that a limit may keep from running.
type waiting struct {
	job   *slurm.Job
	jobs  uint64
	cost  []uint64
	gate  *gate
	group *group
	tier  uint32
	// cpusPerNode is how many CPUs of each node it counts with, where that may be more than
	// it has of all of them.
	cpusPerNode uint64
}

func newLimits(s *slurmclient.Snapshot, c *cluster) *limits {
	l := &limits{scale: newScale(), priority: map[uint32]uint64{}, fillsNodes: fillsNodes(s)}
	l.gates = newGates(s, &l.scale)
	for _, n := range s.Nodes.Value {
		l.maxCPUs = max(l.maxCPUs, cpusOf(n))
	}
	for i := range c.pools {
		if of := c.pools[i].offer.Shape; of != nil {
			l.maxCPUs = max(l.maxCPUs, of.CPUs)
		}
	}
	return l
}

// ran counts a job that runs or is suspended.
func (l *limits) ran(j *slurm.Job) {
	g := l.gates.of(j)
	if g == nil || len(g.draws) == 0 {
		return
	}
	cost := l.costOf(j, cmp.Or(j.TRESAllocated, j.TRESRequested))
	for i := range g.draws {
		g.draws[i].use(j, cost)
	}
}

// hold notes eligible jobs that a limit may keep from running.
func (l *limits) hold(j *slurm.Job, jobs uint64, g *group) {
	gate := l.gates.of(j)
	if gate == nil {
		return
	}
	if !gate.followsLimits(j) {
		g.unfollowed += jobs
	}
	if j.HetJobID != 0 {
		l.priority[j.HetJobID] = max(l.priority[j.HetJobID], j.Priority.Or(0))
	}
	w := waiting{job: j, jobs: jobs, cost: l.costOf(j, j.TRESRequested), gate: gate, group: g, tier: l.gates.tierOf(j)}
	if l.fillsNodes && j.TasksPerNode.Or(0) > 0 {
		w.cpusPerNode = j.MinCPUsPerNode.Or(0)
	}
	l.waiting = append(l.waiting, w)
}

// nodesAllowed is the most nodes that limits let the job have, were it alone; 0 for any.
func (l *limits) nodesAllowed(j *slurm.Job) uint64 {
	g := l.gates.of(j)
	if g == nil {
		return 0
	}
	most := g.most[costNodes]
	for i := range g.draws {
		if d := &g.draws[i]; d.limitsNodes() {
			most = min(most, d.nodeParts/1000)
		}
	}
	if most == unlimited {
		return 0
	}
	return max(most, 1)
}

// deal gives what the limits leave to the jobs that could run, and withholds the rest.
// Components of a heterogeneous job run together or not at all.
func (l *limits) deal() {
	l.waiting = slices.DeleteFunc(l.waiting, func(w waiting) bool { return !w.group.fits })
	for i := range l.waiting {
		l.raiseCost(&l.waiting[i])
	}
	slices.SortFunc(l.waiting, l.compare)
	for rest := l.waiting; len(rest) > 0; {
		n := 1
		for het := rest[0].job.HetJobID; het != 0 && n < len(rest) && rest[n].job.HetJobID == het; n++ {
		}
		if n == 1 {
			rest[0].take()
		} else {
			takeTogether(rest[:n])
		}
		rest = rest[n:]
	}
}

// raiseCost counts what the job will have rather than what it asks for: CPUs, the memory that goes
// with them, all generic resources of nodes that it has to itself, and the part of its nodes that
// it takes. slurmctld holds limits against what it is about to give
// (acct_policy_job_runnable_post_select).
func (l *limits) raiseCost(w *waiting) {
	takes := &w.group.takes
	if takes.ofNode == 0 {
		return
	}
	w.cost = slices.Clone(w.cost)
	raise := func(name string, least uint64) {
		if at, ok := l.places[name]; ok {
			w.cost[at] = max(w.cost[at], least)
		}
	}
	cpus := max(takes.cpus, w.job.CPUs.Or(0))
	if cpus > w.job.CPUs.Or(0) {
		raise("cpu", cpus)
		raise("mem", times(w.job.MemoryPerCPU.Or(0), cpus))
	}
	for name, count := range takes.gres {
		raise("gres/"+name, count)
	}
	parts := times(cpus, 1000) / takes.ofNode
	if wholeNodes(w.job.Shared) {
		parts = times(takes.nodes, 1000)
	}
	w.cost[costNodeParts] = max(w.cost[costNodeParts], parts)
}

// compare orders jobs as slurmctld looks at them.
func (l *limits) compare(a, b waiting) int {
	priority := func(w waiting) uint64 {
		if w.job.HetJobID != 0 {
			return l.priority[w.job.HetJobID]
		}
		return w.job.Priority.Or(0)
	}
	return cmp.Or(
		cmp.Compare(b.tier, a.tier), cmp.Compare(priority(b), priority(a)),
		cmp.Compare(cmp.Or(a.job.HetJobID, a.job.ID), cmp.Or(b.job.HetJobID, b.job.ID)), cmp.Compare(a.job.ID, b.job.ID),
	)
}

// allowed is how many of the jobs the gate lets run, and the class of what holds the
// others back.
func (w *waiting) allowed() (jobs uint64, class Class) {
	if !w.gate.admits(w.job, w.cost) || w.cpusPerNode > w.gate.cpusPerNode {
		return 0, ClassLimit
	}
	jobs = w.jobs
	for i := range w.gate.draws {
		d := &w.gate.draws[i]
		if !d.holdsNodes(w.group.takes.nodes) {
			return 0, d.class
		}
		if n := d.allows(w.cost, jobs); n < jobs {
			jobs, class = n, d.class
		}
	}
	return jobs, class
}

func (w *waiting) take() {
	jobs, class := w.allowed()
	for i := range w.gate.draws {
		w.gate.draws[i].take(w.cost, jobs)
	}
	w.group.withhold(class, w.jobs-jobs)
}

// takeTogether takes one job of each record, or none.
func takeTogether(all []waiting) {
	var undo []func()
	for i := range all {
		w := &all[i]
		jobs, class := w.allowed()
		if jobs < w.jobs {
			for _, f := range undo {
				f()
			}
			for k := range all {
				all[k].group.withhold(class, all[k].jobs)
			}
			return
		}
		for k := range w.gate.draws {
			d := &w.gate.draws[k]
			left := slices.Clone(d.left)
			undo = slices.Insert(undo, 0, func() { copy(d.left, left) })
			d.take(w.cost, w.jobs)
		}
	}
}

// withhold notes that a limit keeps so many of the group's jobs from running.
func (g *group) withhold(class Class, jobs uint64) {
	switch {
	case jobs == 0:
	case class == ClassLicense:
		g.unlicensed += jobs
	default:
		g.limited += jobs
	}
}

// allowed is how many of the group's jobs no limit keeps from running.
func (g *group) allowed() uint64 { return g.jobs - g.limited - g.unlicensed }

// knowsEnforcement reports whether slurmctld's configuration tells whether limits hold jobs back.
func knowsEnforcement(s *slurmclient.Snapshot) bool { return s.Conf.Known && s.Conf.Value != nil }

// enforced reports whether limits hold jobs back, as far as that is known.
func enforced(s *slurmclient.Snapshot) bool {
	if !knowsEnforcement(s) {
		return true
	}
	return slices.ContainsFunc(s.Conf.Value.AccountingEnforce, func(word string) bool {
		return strings.EqualFold(word, "limits") || strings.EqualFold(word, "safe") || strings.EqualFold(word, "all")
	})
}
