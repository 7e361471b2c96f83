package slurmctld

import (
	"slices"
	"strings"

	"github.com/slurmtide/slurmtide/slurmclient/hostlist"
	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

// schedule runs one pass of the scheduler: it starts every pending job that fits, in the queue's
// order, as Slurm's main and backfill schedulers do together.
func (c *Cluster) schedule() {
	c.needsScheduling = false
	c.resolveDependents()
	p := &schedulerPass{c: c, freeNodes: map[*partition][]*node{}, failedShapes: map[string]pendingReason{},
		waitingPartitions: map[*partition]bool{}}
	depth := uint64(0)
	for _, j := range c.queue.sortPending() {
		if depth >= uint64(c.cfg.SchedulerDepth) {
			break
		}
		if j.View().Hold {
			continue
		}
		depth++
		p.tryStart(j)
	}
	c.recordCycle(depth)
}

func (c *Cluster) recordCycle(depth uint64) {
	s := &c.stats
	s.Cycles++
	s.LastDepth = depth
	s.Depth += depth
	s.LastCycleMicros = 50 + 10*depth
	s.SumCycleMicros += s.LastCycleMicros
	s.MaxCycleMicros = max(s.MaxCycleMicros, s.LastCycleMicros)
	s.QueueLength = uint64(len(c.queue.jobs))
	s.LastCycle = c.now
}

// pendingReason is why a job does not start.
type pendingReason struct{ reason, text string }

// schedulerPass is the state of one pass of the scheduler.
type schedulerPass struct {
	c *Cluster
	// freeNodes are the nodes of each partition that can start jobs.
	freeNodes map[*partition][]*node
	// failedShapes are the shapes that did not fit, so that equal ones are not tried again.
	failedShapes map[string]pendingReason
	// waitingPartitions are the partitions in which a job waits for resources. Later jobs there
	// have reason Priority.
	waitingPartitions map[*partition]bool
}

// tryStart starts the job, or the next tasks of the array, or records why it cannot.
func (p *schedulerPass) tryStart(j *job) {
	c := p.c
	if j.het != nil {
		if j.het.leader() == j {
			p.tryStartHet(j.het)
		}
		return
	}
	for j.pending() {
		if v := c.blockingReason(j); v.reason != "" {
			c.setReason(j, v)
			return
		}
		partition, allocations, v := p.findNodes(j)
		if allocations == nil {
			c.setReason(j, v)
			return
		}
		one := j
		if j.isBase() {
			one = c.splitTask(j.array, j.array.tasks[0])
		}
		c.startJob(one, partition, allocations)
	}
}

// blockingReason returns what keeps the job from starting even if nodes are free.
func (c *Cluster) blockingReason(j *job) pendingReason {
	v := j.View()
	switch {
	case j.beginTime > c.now:
		return pendingReason{reason: "BeginTime"}
	case j.blockedReason != "":
		return pendingReason{reason: j.blockedReason}
	case j.array != nil && j.array.atLimit():
		return pendingReason{reason: "JobArrayTaskLimit"}
	case !c.licensesFree(j.requirements.licenses):
		return pendingReason{reason: "Licenses"}
	case v.State.Has(slurm.JobCompleting):
		return pendingReason{reason: "Cleaning"}
	}
	if r := c.reservation(v.Reservation); v.Reservation != "" && (r == nil || !r.active) {
		if r == nil {
			return pendingReason{reason: "ReservationDeleted"}
		}
		return pendingReason{reason: "Reservation"}
	}
	for _, q := range c.cfg.QOS {
		if q.Name == v.QOS && q.MaxJobsPerUser > 0 && c.running[runningKey(j)] >= q.MaxJobsPerUser {
			return pendingReason{reason: "QOSMaxJobsPerUserLimit"}
		}
	}
	return pendingReason{}
}

func (c *Cluster) setReason(j *job, v pendingReason) {
	old := j.View()
	if old.Reason == v.reason && old.ReasonText == v.text && old.LastSchedEval != 0 && c.now-old.LastSchedEval < 30 {
		return
	}
	r := c.edit(j)
	r.Reason, r.ReasonText, r.LastSchedEval = v.reason, v.text, c.now
	if v.reason == "BeginTime" {
		r.StartTime, r.EligibleTime = j.beginTime, j.beginTime
		return
	}
	r.flags |= flagScheduling
	r.Flags = c.flagText(r.flags)
}

// findNodes searches the job's partitions for nodes, one after the other.
func (p *schedulerPass) findNodes(j *job) (*partition, []*NodeAllocation, pendingReason) {
	var last pendingReason
	for _, partition := range j.requirements.partitions {
		v := p.c.partitionLimitReason(j, partition)
		if v.reason == "" {
			key := partition.name() + "/" + j.requirements.shape
			if known, ok := p.failedShapes[key]; ok {
				v = p.reasonInQueue(partition, known)
			} else if allocations := j.requirements.fit(p.candidates(j, partition), asOccupied); allocations != nil {
				return partition, allocations, pendingReason{}
			} else {
				v = p.c.noFitReason(j, partition)
				p.failedShapes[key] = v
				v = p.reasonInQueue(partition, v)
			}
		}
		if last.reason == "" || last.reason == "Priority" {
			last = v
		}
	}
	return nil, nil, last
}

// reasonInQueue turns "Resources" into "Priority" for all but the first such job of a partition.
func (p *schedulerPass) reasonInQueue(partition *partition, v pendingReason) pendingReason {
	if v.reason != "Resources" || v.text != "" {
		return v
	}
	if p.waitingPartitions[partition] {
		return pendingReason{reason: "Priority"}
	}
	p.waitingPartitions[partition] = true
	return v
}

// candidates returns the nodes of the partition that may run the job if enough of them is free.
func (p *schedulerPass) candidates(j *job, partition *partition) []*node {
	list, ok := p.freeNodes[partition]
	if !ok {
		for _, n := range partition.nodes {
			if n.usable() && n.usedCPUs < n.CPUs {
				list = append(list, n)
			}
		}
		p.freeNodes[partition] = list
	}
	var out []*node
	for _, n := range list {
		if n.usedCPUs < n.CPUs && p.c.mayUse(j, n) && j.requirements.accepts(n) {
			out = append(out, n)
		}
	}
	return out
}

// mayUse reports whether reservations allow the job on the node.
func (c *Cluster) mayUse(j *job, n *node) bool {
	if n.reservation == nil {
		return j.View().Reservation == ""
	}
	return n.reservation.allows(j)
}

func (c *Cluster) partitionLimitReason(j *job, partition *partition) pendingReason {
	v := partition.View()
	switch v.State {
	case slurm.PartitionDown, slurm.PartitionInactive:
		return pendingReason{reason: "Partition" + strings.ToUpper(string(v.State[:1])) + strings.ToLower(
			string(v.State[1:]))}
	}
	if most, ok := v.MaxNodes.Value(); ok && uint64(j.requirements.minNodes()) > most {
		return pendingReason{reason: "PartitionNodeLimit"}
	}
	if most, ok := v.MaxTime.Value(); ok {
		if minutes, limited := j.requirements.minutes.Value(); !limited || minutes > most {
			return pendingReason{reason: "PartitionTimeLimit"}
		}
	}
	return pendingReason{}
}

// noFitReason returns why the job did not fit in the partition.
func (c *Cluster) noFitReason(j *job, partition *partition) pendingReason {
	var could, unavailable, reserved []*node
	for _, n := range partition.nodes {
		switch {
		case !j.requirements.accepts(n):
		case !n.usable():
			unavailable = append(unavailable, n)
		case !c.mayUse(j, n):
			reserved = append(reserved, n)
		default:
			could = append(could, n)
		}
	}
	if j.requirements.fit(could, asIfIdle) != nil {
		return pendingReason{reason: "Resources"}
	}
	with := append(append([]*node{}, could...), reserved...)
	if j.requirements.fit(with, asIfIdle) != nil {
		return c.downOrReservedReason("May be reserved for other job")
	}
	if j.requirements.fit(append(with, unavailable...), asIfIdle) != nil {
		return c.unavailableReason(j, unavailable)
	}
	if len(partition.nodes) == 0 {
		return pendingReason{reason: "PartitionConfig"}
	}
	if int(j.requirements.minNodes()) > len(partition.nodes) {
		return pendingReason{reason: "PartitionNodeLimit"}
	}
	return pendingReason{reason: "BadConstraints"}
}

// unavailableReason returns the reason of a job whose nodes are down, drained or FUTURE.
func (c *Cluster) unavailableReason(j *job, nodes []*node) pendingReason {
	var names []string
	for _, n := range nodes {
		if len(j.requirements.required) == 0 || slices.Contains(j.requirements.required, n.name) {
			names = append(names, n.name)
		}
	}
	text := "UnavailableNodes:" + hostlist.Compress(names)
	if len(j.requirements.required) > 0 {
		return pendingReason{"ReqNodeNotAvail", "ReqNodeNotAvail, " + text}
	}
	return c.downOrReservedReason(text)
}

func (c *Cluster) downOrReservedReason(text string) pendingReason {
	if c.cfg.Release == Release2411 {
		return pendingReason{"ReqNodeNotAvail", "ReqNodeNotAvail, " + text}
	}
	return pendingReason{"Resources",
		"Nodes required for job are DOWN, DRAINED or reserved for jobs in higher priority partitions"}
}
