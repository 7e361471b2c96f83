package slurmctld

import "slices"

// queue contains the pending jobs in the order in which the scheduler tries them: by partition
// tier, priority and age.
type queue struct {
	jobs   []*job
	sorted bool
}

func (q *queue) add(j *job) {
	if j.queued {
		return
	}
	j.queued = true
	q.jobs = append(q.jobs, j)
	q.sorted = false
}

// sortPending drops the jobs that are no longer pending and returns the others in order.
func (q *queue) sortPending() []*job {
	q.jobs = slices.DeleteFunc(q.jobs, func(j *job) bool {
		if j.purged || !j.pending() {
			j.queued = false
			return true
		}
		return false
	})
	if !q.sorted {
		slices.SortStableFunc(q.jobs, compareQueueOrder)
		q.sorted = true
	}
	return q.jobs
}

func compareQueueOrder(a, b *job) int {
	if d := b.tier() - a.tier(); d != 0 {
		return d
	}
	pa, pb := a.View().Priority.Or(0), b.View().Priority.Or(0)
	switch {
	case pa > pb:
		return -1
	case pa < pb:
		return 1
	}
	return int(a.id) - int(b.id)
}

func (j *job) tier() int {
	tier := 0
	for _, p := range j.requirements.partitions {
		tier = max(tier, int(p.View().PriorityTier))
	}
	return tier
}
