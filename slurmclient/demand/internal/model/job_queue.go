package model

import (
	"cmp"
	"maps"
	"slices"

	"github.com/slurmtide/slurmtide/slurmclient"
	"github.com/slurmtide/slurmtide/slurmclient/demand/pending"
	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

// queue is the job table with alike pending jobs grouped.
type queue struct {
	cluster    *Cluster
	now        slurm.Time
	index      map[groupKey]*JobGroup
	Groups     []*JobGroup // sorted by key once all jobs are read
	lastGroup  *JobGroup   // adjacent jobs are often alike
	unknownSet map[string]bool
	// arrays are the arrays with a throttle. hetBlockers are the heterogeneous jobs that a
	// component keeps from running.
	arrays      map[uint32]*throttledArray
	hetBlockers map[uint32]hetBlocker
	// holdingNodes are the hostlists of jobs on nodes that can look idle. nodesReadAt is
	// slurmctld's clock when the nodes were read, 0 if unknown.
	holdingNodes []string
	nodesReadAt  slurm.Time
	// startedNodes are the hostlists of jobs that can have started since the nodes of
	// Snapshot.BusySinceJobs were read without their work. That was at busySinceAt of slurmctld's
	// clock or later; 0 if there are no such nodes.
	startedNodes []string
	busySinceAt  slurm.Time
	// AnyNodes are the QOS whose jobs are exempt from a partition's node limit.
	anyNodes map[string]bool
	Limits   *limits
}

// throttledArray is a job array with a throttle.
type throttledArray struct {
	limit, running uint64
	pending        []*slurm.Job
}

// hetBlocker is why a component of a heterogeneous job cannot run.
type hetBlocker struct {
	offset uint32
	class  pending.Class
}

// JobGroup is a number of pending jobs that are alike in everything that matters for demand.
type JobGroup struct {
	groupKey
	Jobs     uint64
	Records  []JobRecord // of the jobs of ClassCapacity
	LowestID uint32
	// Priority is the highest priority of the jobs.
	Priority uint64
	Inexact  bool
	// Submitted and eligible are the earliest times, 0 for none.
	Submitted, Eligible slurm.Time
	// CanRun is whether some nodes could run the jobs. limited is how many of them a limit of a QOS
	// or an association keeps from running, unlicensed how many lack a license.
	CanRun              bool
	Limited, unlicensed uint64
	// WaitsForBusyNodes is whether the jobs require nodes by name that have no room for them, so
	// that they do not start until other jobs end.
	WaitsForBusyNodes bool
	Footprint         Footprint
	// Unmodelled is how many jobs are under a limit that demand does not follow.
	Unmodelled uint64
	// OverlapsReservation is how many jobs could still run, by their time limits, when a
	// reservation starts.
	OverlapsReservation uint64
}

// Footprint is the minimum of CPUs and nodes that a job allocates, and the CPUs of the largest node
// that could run it; 0 if unknown. A job with exclusive nodes also gets at least gres of their
// generic resources, requested or not.
type Footprint struct {
	CPUs, Nodes, CPUsOfNode uint64
	GRES                    map[string]uint64
}

// jobsPerCheck is how many jobs are read before ReadQueue asks again whether it stops.
const jobsPerCheck = 1024

// ReadQueue reads every job, after a first pass over the jobs on which others depend. It returns an incomplete queue once stops returns
// true.
func ReadQueue(now slurm.Time, s *slurmclient.Snapshot, c *Cluster, stops func() bool) *queue {
	q := &queue{
		cluster: c, now: now, index: map[groupKey]*JobGroup{}, unknownSet: map[string]bool{},
		arrays: map[uint32]*throttledArray{}, hetBlockers: map[uint32]hetBlocker{}, anyNodes: qosOfAnyNodes(s),
		Limits: newLimits(s, c),
	}
	if !s.Nodes.ReadAt.IsZero() {
		q.nodesReadAt = ServerTime(s.Nodes.ReadAt, s)
	}
	for _, e := range s.BusySinceJobs {
		q.busySinceAt = EarlierTime(q.busySinceAt, ServerTime(e.BeforeReadAt, s))
	}
	q.surveyJobs(s.Jobs.Value)
	for i, j := range s.Jobs.Value {
		if i%jobsPerCheck == 0 && stops() {
			return q
		}
		if j.State.Has(slurm.JobRevoked) {
			continue // another cluster of the federation runs it
		}
		switch j.State.Base {
		case slurm.JobPending:
			q.addPending(j)
		case slurm.JobRunning, slurm.JobSuspended:
			q.addActive(j)
		}
	}
	q.addThrottled()
	slices.SortFunc(q.Groups, func(a, b *JobGroup) int { return a.compare(&b.groupKey) })
	return q
}

// surveyJobs finds the throttled arrays and what blocks heterogeneous jobs.
func (q *queue) surveyJobs(jobs []*slurm.Job) {
	for _, j := range jobs {
		if j.ArrayJobID != 0 {
			if limit := pending.ArrayThrottle(j); limit > 0 {
				a := q.arrays[j.ArrayJobID]
				if a == nil {
					a = &throttledArray{}
					q.arrays[j.ArrayJobID] = a
				}
				a.limit = max(a.limit, limit)
			}
		}
		if j.HetJobID != 0 && j.State.Base == slurm.JobPending {
			q.recordHetBlocker(j)
		}
	}
}

// recordHetBlocker records the first component that does not wait for capacity. A component that no
// scheduler has evaluated only blocks the job as long as none has been evaluated: slurmctld sets
// reasons on some components and not on others.
func (q *queue) recordHetBlocker(j *slurm.Job) {
	class := pending.Classify(q.now, j)
	b := hetBlocker{j.HetOffset, class}
	old, seen := q.hetBlockers[j.HetJobID]
	if !seen || b.compare(old) < 0 {
		q.hetBlockers[j.HetJobID] = b
	}
}

func (b hetBlocker) compare(c hetBlocker) int {
	return cmp.Or(
		cmp.Compare(c.rank(), b.rank()), cmp.Compare(b.offset, c.offset), cmp.Compare(b.class, c.class),
	)
}

func (b hetBlocker) rank() int {
	switch b.class {
	case pending.ClassUnevaluated:
		return 0
	case pending.ClassCapacity:
		return 1
	}
	return 2
}

// addActive counts a running or suspended job.
func (q *queue) addActive(j *slurm.Job) {
	suspended := j.State.Base == slurm.JobSuspended
	q.Limits.chargeRunning(j)
	q.cluster.addRunningCPUs(j)
	for _, i := range q.cluster.PartitionsOf(j.Partition) {
		if suspended {
			q.cluster.Partitions[i].SuspendedJobs++
		} else {
			q.cluster.Partitions[i].RunningJobs++
		}
	}
	if j.Nodes != "" && (suspended || j.State.Has(slurm.JobConfiguring) || q.startedSinceNodes(j)) {
		q.holdingNodes = append(q.holdingNodes, j.Nodes)
	}
	if q.busySinceAt > 0 && j.Nodes != "" && !(j.StartTime.IsSet() && j.StartTime+clockTolerance < q.busySinceAt) {
		q.startedNodes = append(q.startedNodes, j.Nodes)
	}
	if a := q.arrays[j.ArrayJobID]; a != nil {
		a.running++
	}
}

// clockTolerance is the difference in seconds that is possible between slurmctld's clock, which has
// whole seconds, and our estimate of it.
const clockTolerance = 2

// startedSinceNodes reports whether a job started while the nodes were being read or later, so the node list may predate the job. Without
// this check the demand would drop and rise again whenever jobs are read in between.
func (q *queue) startedSinceNodes(j *slurm.Job) bool {
	return q.nodesReadAt > 0 && j.StartTime.IsSet() && j.StartTime+clockTolerance >= q.nodesReadAt
}

func (q *queue) addPending(j *slurm.Job) {
	class := q.classOf(j)
	q.Limits.SeesLimitReason = q.Limits.SeesLimitReason || class == pending.ClassLimit
	if _, known := pending.ClassOf(j.Reason); !known {
		q.unknownSet[j.Reason] = true
	}
	if j.HetJobID != 0 {
		class = q.hetBlockers[j.HetJobID].class
	}
	if a := q.arrays[j.ArrayJobID]; a != nil &&
		(class == pending.ClassCapacity || class == pending.ClassArrayThrottle) {
		a.pending = append(a.pending, j)
		return
	}
	tasks, exact := pending.CountTasks(j)
	q.addToLimits(j, class, tasks, exact)
}

// classOf is Classify with regard to the partitions. PartitionNodeLimit becomes capacity if the partition has too few nodes for the job,
// since more nodes would help. If a job lists several partitions, the reason may belong to another one.
func (q *queue) classOf(j *slurm.Job) pending.Class {
	class := pending.Classify(q.now, j)
	if class != pending.ClassPartitionLimit || j.Reason != "PartitionNodeLimit" {
		return class
	}
	need, known := j.NodeCount.Value()
	list := q.cluster.PartitionsOf(j.Partition)
	for _, at := range list {
		p := &q.cluster.Partitions[at]
		if known && (need > p.totalNodes || len(list) > 1) && (p.MaxNodes == 0 || need <= p.MaxNodes) {
			return pending.ClassCapacity
		}
	}
	return class
}

// addToLimits is addToGroup for jobs that limits can hold back.
func (q *queue) addToLimits(j *slurm.Job, class pending.Class, jobs uint64, exact bool) {
	if g := q.addToGroup(j, class, jobs, exact); g != nil && class == pending.ClassCapacity {
		q.Limits.addWaiting(j, jobs, g)
		if q.cluster.overlapsReservation(j, q.now) {
			g.OverlapsReservation += jobs
		}
	}
}

// addThrottled distributes the free part of each array's throttle to its records, in the order of their IDs.
func (q *queue) addThrottled() {
	for _, a := range q.arrays {
		slices.SortFunc(a.pending, func(x, y *slurm.Job) int { return cmp.Compare(x.ID, y.ID) })
		left := a.limit - min(a.limit, a.running)
		for _, j := range a.pending {
			tasks, exact := pending.CountTasks(j)
			run := min(tasks, left)
			left -= run
			q.addToLimits(j, pending.ClassCapacity, run, exact)
			q.addToGroup(j, pending.ClassArrayThrottle, tasks-run, exact)
		}
	}
}

// addToGroup counts jobs of one record in the group of alike jobs, and returns the group; nil when
// there are no jobs.
func (q *queue) addToGroup(j *slurm.Job, class pending.Class, jobs uint64, exact bool) *JobGroup {
	if jobs == 0 {
		return nil
	}
	k := groupKeyOf(j, class, q.anyNodes)
	if class == pending.ClassCapacity {
		k.NodesAllowed = q.Limits.nodesAllowed(j)
	}
	g := q.lastGroup
	if g == nil || g.groupKey != k {
		if g = q.index[k]; g == nil {
			g = &JobGroup{groupKey: k, LowestID: j.ID}
			q.index[k], q.Groups = g, append(q.Groups, g)
		}
		q.lastGroup = g
	}
	g.Jobs += jobs
	if class == pending.ClassCapacity && len(q.cluster.Pools) > 0 {
		record := JobRecord{ID: j.ID, Priority: j.Priority.Or(0), Jobs: jobs}
		if j.RequiredNodes() != "" {
			record.PlannedNodes = j.ScheduledNodes()
		}
		g.Records = append(g.Records, record)
	}
	g.LowestID = min(g.LowestID, j.ID)
	g.Priority = max(g.Priority, j.Priority.Or(0))
	g.Inexact = g.Inexact || !exact
	g.Submitted = EarlierTime(g.Submitted, j.SubmitTime)
	if j.EligibleTime.IsSet() {
		g.Eligible = EarlierTime(g.Eligible, j.EligibleTime)
	} else {
		g.Eligible = EarlierTime(g.Eligible, j.SubmitTime)
	}
	return g
}

func (q *queue) UnknownReasons() []string { return slices.Sorted(maps.Keys(q.unknownSet)) }

// EarlierTime returns the earlier of two times; 0 is unset.
func EarlierTime(a, b slurm.Time) slurm.Time {
	if !a.IsSet() || (b.IsSet() && b < a) {
		return max(b, 0)
	}
	return a
}

// qosOfAnyNodes returns the QOS with the flag PartitionMaxNodes, which lifts the partition's node
// limit (sacctmgr(1)).
func qosOfAnyNodes(s *slurmclient.Snapshot) map[string]bool {
	out := map[string]bool{}
	for _, q := range s.QOS.Value {
		if slices.Contains(q.Flags, "PARTITION_MAXIMUM_NODE") {
			out[q.Name] = true
		}
	}
	return out
}

// JobRecord is one job record: a job, or the tasks of an array.
type JobRecord struct {
	ID             uint32
	Priority, Jobs uint64
	// PlannedNodes is the hostlist on which backfill plans to start the record's next job, if the
	// job requires nodes by name.
	PlannedNodes string
}

// RecordsInOrder returns copies of the group's records in the order in which they start.
func (g *JobGroup) RecordsInOrder() []*JobRecord {
	out := make([]*JobRecord, len(g.Records))
	for i := range g.Records {
		rec := g.Records[i]
		out[i] = &rec
	}
	slices.SortFunc(out, func(a, b *JobRecord) int {
		return cmp.Or(cmp.Compare(b.Priority, a.Priority), cmp.Compare(a.ID, b.ID))
	})
	return out
}
