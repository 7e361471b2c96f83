package mirror

import (
	"time"

	"github.com/slurmtide/slurmtide/operator/nodeset/plan"
)

const (
	// ParallelWrites is the number of pods and Slurm nodes that are updated concurrently, maxWrites the
	// maximum in one reconciliation. These writes can wait, the kubelets of new workers cannot.
	ParallelWrites = 8
	maxWrites      = 100
	// While at least manyStarting workers younger than startingWithin start, at most
	// maxWritesWhileStarting updates are made in each writeInterval.
	manyStarting           = 20
	startingWithin         = 30 * time.Second
	maxWritesWhileStarting = 10
	writeInterval          = time.Second
)

// WriteLimit returns how many pods and Slurm nodes may be updated now, and when to reconcile the rest. Many
// updates load the API server as much as many creations. created is the number of workers that were just
// created, in addition to the observed ones. lastWrite is the time of the last updates.
func WriteLimit(now time.Time, workers []plan.Worker, created int, lastWrite time.Time) (
	room int, again time.Duration) {
	starting := created
	for i := range workers {
		if w := &workers[i]; !w.Ready && w.DeletedAt.IsZero() && now.Before(w.Created.Add(startingWithin)) {
			starting++
		}
	}
	if starting < manyStarting {
		return maxWrites, time.Millisecond
	}
	if wait := lastWrite.Add(writeInterval).Sub(now); wait > 0 {
		return 0, wait
	}
	return maxWritesWhileStarting, writeInterval
}
