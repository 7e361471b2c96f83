package model

import (
	"cmp"
	"slices"
	"strings"

	"github.com/slurmtide/slurmtide/slurmclient"
	"github.com/slurmtide/slurmtide/slurmclient/demand/internal/saturating"
	"github.com/slurmtide/slurmtide/slurmclient/demand/pending"
	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

// limits are the limits of QOS, associations and licenses. slurmctld reports a limit as a job's reason only if no
// earlier check keeps the job from running. While nodes are missing or jobs of higher priority wait, it reports those
// reasons. So of the jobs that wait for nodes, only as many are eligible as the limits allow beside the running ones,
// in order of priority.
//
// Limits apply if AccountingStorageEnforce enables them (slurmrestd reports it since v0.0.45), and if it is unknown.
type limits struct {
	costIndex
	rules   limitRules
	waiting []waitingJobs
	// FillsNodes is selection.FillsNodes.
	fillsNodes bool
	// SeesLimitReason is whether a job is pending for a limit, which shows that limits are
	// enforced.
	SeesLimitReason bool
	// hetPriority is the highest priority of the components of each heterogeneous job.
	hetPriority map[uint32]uint64
}

// waitingJobs are jobs of one record that a limit could keep from running.
type waitingJobs struct {
	job    *slurm.Job
	jobs   uint64
	cost   []uint64
	limits *jobLimits
	group  *JobGroup
	tier   uint32
	// cpusPerNode is the CPUs per node that count against limits, if they can exceed the CPUs of the job, otherwise 0.
	cpusPerNode uint64
}

func newLimits(s *slurmclient.Snapshot, c *Cluster) *limits {
	l := &limits{costIndex: newCostIndex(), hetPriority: map[uint32]uint64{}, fillsNodes: fillsNodes(s)}
	l.rules = newLimitRules(s, &l.costIndex)
	for _, n := range s.Nodes.Value {
		l.maxCPUs = max(l.maxCPUs, cpusOf(n))
	}
	for i := range c.Pools {
		if of := c.Pools[i].Spec.Shape; of != nil {
			l.maxCPUs = max(l.maxCPUs, of.CPUs)
		}
	}
	return l
}

// chargeRunning charges a running or suspended job to its limits.
func (l *limits) chargeRunning(j *slurm.Job) {
	g := l.rules.limitsOf(j)
	if g == nil || len(g.sharedLimits) == 0 {
		return
	}
	cost := l.costOf(j, cmp.Or(j.TRESAllocated, j.TRESRequested))
	for i := range g.sharedLimits {
		g.sharedLimits[i].chargeRunning(j, cost)
	}
}

// addWaiting records eligible jobs that a limit could keep from running.
func (l *limits) addWaiting(j *slurm.Job, jobs uint64, g *JobGroup) {
	applied := l.rules.limitsOf(j)
	if applied == nil {
		return
	}
	if !applied.isModelled(j) {
		g.Unmodelled += jobs
	}
	if j.HetJobID != 0 {
		l.hetPriority[j.HetJobID] = max(l.hetPriority[j.HetJobID], j.Priority.Or(0))
	}
	w := waitingJobs{job: j, jobs: jobs, cost: l.costOf(j, j.TRESRequested), limits: applied, group: g,
		tier: l.rules.tierOf(j)}
	if l.fillsNodes && j.TasksPerNode().Or(0) > 0 {
		w.cpusPerNode = j.MinCPUsPerNode().Or(0)
	}
	l.waiting = append(l.waiting, w)
}

// NodesAllowed returns the maximum number of nodes that limits allow the job if no other job runs;
// 0 for any.
func (l *limits) nodesAllowed(j *slurm.Job) uint64 {
	g := l.rules.limitsOf(j)
	if g == nil {
		return 0
	}
	most := g.maxPerJob[costNodes]
	for i := range g.sharedLimits {
		if d := &g.sharedLimits[i]; d.limitsNodes() {
			most = min(most, d.milliNodes/1000)
		}
	}
	if most == unlimited {
		return 0
	}
	return max(most, 1)
}

// ApplyLimits lets jobs use the free part of the limits, and withholds the others. Components of a heterogeneous job
// run together or not at all.
func (l *limits) ApplyLimits() {
	l.waiting = slices.DeleteFunc(l.waiting, func(w waitingJobs) bool { return !w.group.CanRun })
	for i := range l.waiting {
		l.raiseCost(&l.waiting[i])
	}
	slices.SortFunc(l.waiting, l.compare)
	for rest := l.waiting; len(rest) > 0; {
		n := 1
		for het := rest[0].job.HetJobID; het != 0 && n < len(rest) && rest[n].job.HetJobID == het; n++ {
		}
		if n == 1 {
			rest[0].charge()
		} else {
			chargeTogether(rest[:n])
		}
		rest = rest[n:]
	}
}

// raiseCost replaces the requested resources by the resources that the job will allocate: CPUs, the memory that belongs
// to them, all generic resources of exclusive nodes, and its part of the nodes. slurmctld compares limits with the
// coming allocation (acct_policy_job_runnable_post_select).
func (l *limits) raiseCost(w *waitingJobs) {
	takes := &w.group.Footprint
	if takes.CPUsOfNode == 0 {
		return
	}
	w.cost = slices.Clone(w.cost)
	raise := func(name string, least uint64) {
		if at, ok := l.positions[name]; ok {
			w.cost[at] = max(w.cost[at], least)
		}
	}
	cpus := max(takes.CPUs, w.job.CPUs.Or(0))
	if cpus > w.job.CPUs.Or(0) {
		raise("cpu", cpus)
		raise("mem", saturating.Mul(w.job.MemoryPerCPU.Or(0), cpus))
	}
	for name, count := range takes.GRES {
		raise("gres/"+name, count)
	}
	milliNodes := saturating.Mul(cpus, 1000) / takes.CPUsOfNode
	if isExclusive(w.job.Shared()) {
		milliNodes = saturating.Mul(takes.Nodes, 1000)
	}
	w.cost[costMilliNodes] = max(w.cost[costMilliNodes], milliNodes)
}

// compare orders jobs as slurmctld evaluates them.
func (l *limits) compare(a, b waitingJobs) int {
	priority := func(w waitingJobs) uint64 {
		if w.job.HetJobID != 0 {
			return l.hetPriority[w.job.HetJobID]
		}
		return w.job.Priority.Or(0)
	}
	return cmp.Or(
		cmp.Compare(b.tier, a.tier), cmp.Compare(priority(b), priority(a)),
		cmp.Compare(cmp.Or(a.job.HetJobID, a.job.ID), cmp.Or(b.job.HetJobID, b.job.ID)),
		cmp.Compare(a.job.ID, b.job.ID),
	)
}

// countAllowed returns how many of the jobs their limits allow, and the class of the limit that holds the others back.
func (w *waitingJobs) countAllowed() (jobs uint64, class pending.Class) {
	if !w.limits.admits(w.job, w.cost) || w.cpusPerNode > w.limits.maxCPUsPerNode {
		return 0, pending.ClassLimit
	}
	jobs = w.jobs
	for i := range w.limits.sharedLimits {
		d := &w.limits.sharedLimits[i]
		if !d.fitsNodes(w.group.Footprint.Nodes) {
			return 0, d.class
		}
		if n := d.countAllowed(w.cost, jobs); n < jobs {
			jobs, class = n, d.class
		}
	}
	return jobs, class
}

// charge charges the jobs that the limits allow, and withholds the others. Jobs that start only after other jobs end
// use no part of a limit now: slurmctld counts only running jobs.
func (w *waitingJobs) charge() {
	jobs, class := w.countAllowed()
	w.group.withhold(class, w.jobs-jobs)
	if w.group.WaitsForBusyNodes {
		return
	}
	for i := range w.limits.sharedLimits {
		w.limits.sharedLimits[i].charge(w.cost, jobs)
	}
}

// chargeTogether charges one job of each record, or none.
func chargeTogether(all []waitingJobs) {
	var undo []func()
	for i := range all {
		w := &all[i]
		jobs, class := w.countAllowed()
		if jobs < w.jobs {
			for _, f := range undo {
				f()
			}
			for k := range all {
				all[k].group.withhold(class, all[k].jobs)
			}
			return
		}
		for k := range w.limits.sharedLimits {
			d := &w.limits.sharedLimits[k]
			left := slices.Clone(d.remaining)
			undo = slices.Insert(undo, 0, func() { copy(d.remaining, left) })
			d.charge(w.cost, w.jobs)
		}
	}
}

// withhold records that a limit keeps jobs of the group from running.
func (g *JobGroup) withhold(class pending.Class, jobs uint64) {
	switch {
	case jobs == 0:
	case class == pending.ClassLicense:
		g.unlicensed += jobs
	default:
		g.Limited += jobs
	}
}

// CountAllowed returns how many of the group's jobs no limit keeps from running.
func (g *JobGroup) CountAllowed() uint64 { return g.Jobs - g.Limited - g.unlicensed }

// IsEnforcementKnown reports whether the snapshot shows if slurmctld enforces limits.
func IsEnforcementKnown(s *slurmclient.Snapshot) bool { return s.Conf.Known && s.Conf.Value != nil }

// areLimitsEnforced reports whether slurmctld enforces limits. It is true if that is unknown.
func areLimitsEnforced(s *slurmclient.Snapshot) bool {
	if !IsEnforcementKnown(s) {
		return true
	}
	return slices.ContainsFunc(s.Conf.Value.AccountingEnforce, func(word string) bool {
		return strings.EqualFold(word, "limits") || strings.EqualFold(word, "safe") || strings.EqualFold(word, "all")
	})
}
