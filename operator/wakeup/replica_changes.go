package wakeup

import (
	"slices"
	"time"
)

// maxPolicyPeriod is the longest period of an HPA's policy (periodSeconds of HPAScalingPolicy).
const maxPolicyPeriod = 30 * time.Minute

// replicaChanges are the changes of spec.replicas that this process has seen, by whomever.
type replicaChanges struct {
	// since is when the NodeSet was first seen, and last its last replicas.
	since time.Time
	last  int32
	// all are in the order of their times.
	all []replicaChange
}

type replicaChange struct {
	at time.Time
	by int32
}

// withReplicas returns the changes after the replicas were seen. It does not change the receiver's.
func (c replicaChanges) withReplicas(now time.Time, replicas int32) replicaChanges {
	switch {
	case c.since.IsZero():
		return replicaChanges{since: now, last: replicas}
	case replicas == c.last:
		return c
	}
	c.all = append(slices.Clone(c.all), replicaChange{now, replicas - c.last})
	c.all = slices.DeleteFunc(c.all, func(r replicaChange) bool { return now.Sub(r.at) > maxPolicyPeriod })
	c.last = replicas
	return c
}

// replicasBefore returns the number of replicas a period ago, computed from the present number. isKnown is false if the
// NodeSet was not seen then.
func (c replicaChanges) replicasBefore(now time.Time, current int32, period time.Duration) (n float64, isKnown bool) {
	n = float64(current)
	for _, r := range c.all {
		if now.Sub(r.at) < period {
			n -= float64(r.by)
		}
	}
	return max(0, n), !c.since.IsZero() && now.Sub(c.since) >= period
}
