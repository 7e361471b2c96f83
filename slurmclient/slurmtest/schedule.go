package slurmtest

import (
	"slices"
	"strings"

	"github.com/slurmtide/slurmtide/slurmclient/hostlist"
	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

// schedule runs one pass of the scheduler: it starts every pending job that fits, in the queue's
// order, as Slurm's main and backfill schedulers do together.
func (c *Cluster) schedule() {
	c.dirty = false
	c.resolveDependents()
	p := &pass{c: c, free: map[*partition][]*node{}, failed: map[string]verdict{}, waiting: map[*partition]bool{}}
	depth := uint64(0)
	for _, j := range c.queue.order() {
		if depth >= uint64(c.cfg.Depth) {
			break
		}
		if j.view().Hold {
			continue
		}
		depth++
		p.try(j)
	}
	c.noteCycle(depth)
}

func (c *Cluster) noteCycle(depth uint64) {
	s := &c.stats
	s.cycles++
	s.lastDepth = depth
	s.depth += depth
	s.lastCycleMicros = 50 + 10*depth
	s.sumCycle += s.lastCycleMicros
	s.maxCycle = max(s.maxCycle, s.lastCycleMicros)
	s.queueLength = uint64(len(c.queue.jobs))
	s.lastCycle = c.now
}

// pendingReason is why a job does not start.
type verdict struct{ reason, text string }

// schedulerPass is the state of one pass of the scheduler.
type pass struct {
	c *Cluster
	// freeNodes are the nodes of each partition that can start jobs.
	free map[*partition][]*node
	// failedShapes are the shapes that did not fit, so that equal ones are not tried again.
	failed map[string]verdict
	// waitingPartitions are the partitions in which a job waits for resources. Later jobs there
	// have reason Priority.
	waiting map[*partition]bool
}

// tryStart starts the job, or the next tasks of the array, or records why it cannot.
func (p *pass) try(j *job) {
	c := p.c
	if j.het != nil {
		if j.het.leader() == j {
			p.tryHet(j.het)
		}
		return
	}
	for j.pending() {
		if v := c.blocker(j); v.reason != "" {
			c.setReason(j, v)
			return
		}
		partition, allocations, v := p.place(j)
		if allocations == nil {
			c.setReason(j, v)
			return
		}
		one := j
		if j.isBase() {
			one = c.splitTask(j.array, j.array.tasks[0])
		}
		c.start(one, partition, allocations)
	}
}

// blockingReason returns what keeps the job from starting even if nodes are free.
func (c *Cluster) blocker(j *job) verdict {
	v := j.view()
	switch {
	case j.begin > c.now:
		return verdict{reason: "BeginTime"}
	case j.blocked != "":
		return verdict{reason: j.blocked}
	case j.array != nil && j.array.full():
		return verdict{reason: "JobArrayTaskLimit"}
	case !c.licensesFree(j.wish.licenses):
		return verdict{reason: "Licenses"}
	case v.State.Has(slurm.JobCompleting):
		return verdict{reason: "Cleaning"}
	}
	if r := c.reservation(v.Reservation); v.Reservation != "" && (r == nil || !r.active) {
		if r == nil {
			return verdict{reason: "ReservationDeleted"}
		}
		return verdict{reason: "Reservation"}
	}
	for _, q := range c.cfg.QOS {
		if q.Name == v.QOS && q.MaxJobsPerUser > 0 && c.running[usageKey(j)] >= q.MaxJobsPerUser {
			return verdict{reason: "QOSMaxJobsPerUserLimit"}
		}
	}
	return verdict{}
}

func (c *Cluster) setReason(j *job, v verdict) {
	old := j.view()
	if old.Reason == v.reason && old.ReasonText == v.text && old.LastSchedEval != 0 && c.now-old.LastSchedEval < 30 {
		return
	}
	r := c.edit(j)
	r.Reason, r.ReasonText, r.LastSchedEval = v.reason, v.text, c.now
	if v.reason == "BeginTime" {
		r.StartTime, r.EligibleTime = j.begin, j.begin
		return
	}
	r.flags |= flagScheduling
	r.Flags = c.flagText(r.flags)
}

// findNodes searches the job's partitions for nodes, one after the other.
func (p *pass) place(j *job) (*partition, []*grant, verdict) {
	var last verdict
	for _, partition := range j.wish.partitions {
		v := p.c.partitionLimits(j, partition)
		if v.reason == "" {
			key := partition.name() + "/" + j.wish.shape
			if known, ok := p.failed[key]; ok {
				v = p.behind(partition, known)
			} else if allocations := j.wish.fit(p.candidates(j, partition), asItIs); allocations != nil {
				return partition, allocations, verdict{}
			} else {
				v = p.c.whyNot(j, partition)
				p.failed[key] = v
				v = p.behind(partition, v)
			}
		}
		if last.reason == "" || last.reason == "Priority" {
			last = v
		}
	}
	return nil, nil, last
}

// reasonInQueue turns "Resources" into "Priority" for all but the first such job of a partition.
func (p *pass) behind(partition *partition, v verdict) verdict {
	if v.reason != "Resources" || v.text != "" {
		return v
	}
	if p.waiting[partition] {
		return verdict{reason: "Priority"}
	}
	p.waiting[partition] = true
	return v
}

// candidates returns the nodes of the partition that may run the job if enough of them is free.
func (p *pass) candidates(j *job, partition *partition) []*node {
	list, ok := p.free[partition]
	if !ok {
		for _, n := range partition.nodes {
			if n.usable() && n.usedCPUs < n.cpus {
				list = append(list, n)
			}
		}
		p.free[partition] = list
	}
	var out []*node
	for _, n := range list {
		if n.usedCPUs < n.cpus && p.c.mayUse(j, n) && j.wish.accepts(n) {
			out = append(out, n)
		}
	}
	return out
}

// mayUse reports whether reservations allow the job on the node.
func (c *Cluster) mayUse(j *job, n *node) bool {
	if n.resv == nil {
		return j.view().Reservation == ""
	}
	return n.resv.lets(j)
}

func (c *Cluster) partitionLimits(j *job, partition *partition) verdict {
	v := partition.view()
	switch v.State {
	case slurm.PartitionDown, slurm.PartitionInactive:
		return verdict{reason: "Partition" + strings.ToUpper(string(v.State[:1])) + strings.ToLower(string(v.State[1:]))}
	}
	if most, ok := v.MaxNodes.Value(); ok && uint64(j.wish.minNodes()) > most {
		return verdict{reason: "PartitionNodeLimit"}
	}
	if most, ok := v.MaxTime.Value(); ok {
		if minutes, limited := j.wish.minutes.Value(); !limited || minutes > most {
			return verdict{reason: "PartitionTimeLimit"}
		}
	}
	return verdict{}
}

// noFitReason returns why the job did not fit in the partition.
func (c *Cluster) whyNot(j *job, partition *partition) verdict {
	var could, unavailable, reserved []*node
	for _, n := range partition.nodes {
		switch {
		case !j.wish.accepts(n):
		case !n.usable():
			unavailable = append(unavailable, n)
		case !c.mayUse(j, n):
			reserved = append(reserved, n)
		default:
			could = append(could, n)
		}
	}
	if j.wish.fit(could, asIfIdle) != nil {
		return verdict{reason: "Resources"}
	}
	with := append(append([]*node{}, could...), reserved...)
	if j.wish.fit(with, asIfIdle) != nil {
		return c.downOrReserved("May be reserved for other job")
	}
	if j.wish.fit(append(with, unavailable...), asIfIdle) != nil {
		return c.unavailable(j, unavailable)
	}
	if len(partition.nodes) == 0 {
		return verdict{reason: "PartitionConfig"}
	}
	if int(j.wish.minNodes()) > len(partition.nodes) {
		return verdict{reason: "PartitionNodeLimit"}
	}
	return verdict{reason: "BadConstraints"}
}

// unavailableReason returns the reason of a job whose nodes are down, drained or FUTURE.
func (c *Cluster) unavailable(j *job, nodes []*node) verdict {
	var names []string
	for _, n := range nodes {
		if len(j.wish.required) == 0 || slices.Contains(j.wish.required, n.name) {
			names = append(names, n.name)
		}
	}
	text := "UnavailableNodes:" + hostlist.Compress(names)
	if len(j.wish.required) > 0 {
		return verdict{"ReqNodeNotAvail", "ReqNodeNotAvail, " + text}
	}
	return c.downOrReserved(text)
}

func (c *Cluster) downOrReserved(text string) verdict {
	if c.cfg.Release == Release2411 {
		return verdict{"ReqNodeNotAvail", "ReqNodeNotAvail, " + text}
	}
	return verdict{"Resources",
		"Nodes required for job are DOWN, DRAINED or reserved for jobs in higher priority partitions"}
}
