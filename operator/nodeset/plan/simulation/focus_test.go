package simulation

import (
	"maps"
	"slices"
	"time"
)

// focus is the kind of trouble that a history has most of: sequences of several odd events would be too rare otherwise. Most
// histories have no focus, which is zero.
type focus int

const (
	// onClusters: two Slurm clusters take turns in answering, while jobs are suspended.
	focusClusters focus = iota + 1
	// onReplacement: workers are replaced, and their Slurm nodes resumed, while they are
	// cordoned.
	focusReplacement
	// focusHolds: administrators set Slurm nodes DOWN or FAIL, while workers are created and removed and slurmrestd does not
	// always answer.
	focusHolds
	// focusLost: pods disappear from Kubernetes while they run.
	focusLost
	// focusRecords: jobs name Slurm nodes, and the maximum changes or is not known.
	focusRecords
	// focusShapes: the shape of the workers changes.
	focusShapes
	// focusNames: the names of workers change while ordinals keep their revision, pods disappear while they run, and another
	// NodeSet gets the names of workers that have not run yet. Only tests of names use it.
	focusNames
)

// focusEvent plays an event of the history's focus; it returns false without one.
func (w *simulation) focusEvent() bool {
	if w.chance(50) {
		return false
	}
	switch w.focus {
	case focusClusters:
		w.clusterEvent()
	case focusReplacement:
		w.replacementEvent()
	case focusHolds:
		w.holdEvent()
	case focusLost:
		w.lostPodEvent()
	case focusRecords:
		w.recordFocusEvent()
	case focusShapes:
		w.shapeFocusEvent()
	case focusNames:
		w.namesEvent()
	default:
		return false
	}
	return true
}

func (w *simulation) clusterEvent() {
	switch w.rand.IntN(9) {
	case 8:
		w.oneOtherPoll()
	case 0:
		w.switchCluster()
	case 1:
		w.switchCluster()
		w.readNodes()
		w.switchCluster()
	case 2:
		w.switchCluster()
		w.readJobs()
		w.switchCluster()
	case 3:
		w.readNodes()
	case 4:
		w.readJobs()
	case 5:
		w.schedule()
	case 6:
		w.toggleSuspend()
	case 7:
		w.adminEvent()
	}
}

// oneOtherPoll lets the other cluster answer one poll of the nodes. Before the next poll a job starts, jobs are suspended,
// and an administrator drains nodes.
func (w *simulation) oneOtherPoll() {
	w.switchCluster()
	w.readNodes()
	w.switchCluster()
	w.advanceTime(time.Second)
	w.readJobs()
	w.advanceTime(time.Second)
	w.schedule()
	w.toggleSuspend()
	w.adminEvent()
	w.advanceTime(time.Second)
	w.readNodes()
}

func (w *simulation) replacementEvent() {
	switch w.rand.IntN(13) {
	case 0:
		w.desired.Revision += "b"
	case 1:
		w.cordoned[w.rand.IntN(3)] = w.chance(70)
	case 2, 3, 4:
		w.kubelet()
	case 5, 12:
		w.resumeOurs()
	case 6, 7, 8, 9:
		w.reconcile(true)
	case 10:
		w.schedule()
	case 11:
		w.readNodes()
		w.readJobs()
	}
}

func (w *simulation) holdEvent() {
	switch w.rand.IntN(8) {
	case 7:
		w.requestReboot()
	case 0:
		w.adminEvent()
	case 1:
		w.desired.Replicas = 5 * w.rand.IntN(2)
	case 2:
		w.slurmrestdDown = w.chance(30)
		w.readNodes()
		w.readJobs()
	case 3, 4:
		w.reconcile(true)
	case 5, 6:
		w.kubelet()
	}
}

func (w *simulation) recordFocusEvent() {
	switch w.rand.IntN(9) {
	case 8:
		w.lowerMaximumForLong()
	case 0, 1, 2:
		w.recordEvent()
	case 3, 4:
		w.reconcile(true)
	case 5:
		w.readNodes()
		w.readJobs()
	case 6:
		w.advanceTime(time.Duration(w.rand.IntN(240)) * time.Second)
	case 7:
		w.desired.Replicas = min(w.rand.IntN(6), w.highestReplicas())
	}
}

// lowerMaximumForLong lowers the maximum until its records are deleted. A job may come right before.
func (w *simulation) lowerMaximumForLong() {
	if w.desired.MaxWorkers == nil {
		return
	}
	w.desired.MaxWorkers = new(w.rand.IntN(4))
	w.desired.Replicas = min(w.desired.Replicas, *w.desired.MaxWorkers)
	w.logf("the maximum is %d for long", *w.desired.MaxWorkers)
	w.readNodes()
	w.readJobs()
	w.reconcile(true)
	w.advanceTime(surplusKept)
	w.readNodes()
	w.readJobs()
	w.recordEvent()
	w.reconcile(true)
}

// highestReplicas is the largest number of replicas that the maximum allows.
func (w *simulation) highestReplicas() int {
	if w.desired.MaxWorkers != nil {
		return *w.desired.MaxWorkers
	}
	return 6
}

// toggleSuspend suspends or resumes a job.
func (w *simulation) toggleSuspend() {
	if ids := slices.Sorted(maps.Keys(w.jobs)); len(ids) > 0 {
		id := ids[w.rand.IntN(len(ids))]
		w.jobs[id].suspended = !w.jobs[id].suspended
		w.logf("job %d suspended: %v", id, w.jobs[id].suspended)
	}
}

// resumeOurs plays an administrator who resumes a Slurm node that we drained, most likely one whose worker is being removed
// or gone.
func (w *simulation) resumeOurs() {
	for _, name := range slices.Sorted(maps.Keys(w.slurm)) {
		n, p := w.slurm[name], w.pods[name]
		percent := 20
		if p == nil || !p.deletedAt.IsZero() {
			percent = 80
		}
		if n.Drain && n.OurReason && n.OwnerUID != otherNodeSetUID && w.chance(percent) {
			w.resumeNode(name)
			return
		}
	}
}
