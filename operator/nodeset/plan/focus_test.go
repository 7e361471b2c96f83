package plan

import (
	"maps"
	"slices"
	"time"
)

// focus is a kind of trouble that a history has much of: what takes several odd events in
// a row would be too rare otherwise. Most histories have none, which is zero.
type focus int

const (
	// onClusters: two Slurm clusters take turns in answering, while jobs are suspended.
	onClusters focus = iota + 1
	// onReplacement: workers are replaced, and their Slurm nodes resumed, while they are
	// cordoned.
	onReplacement
	// onHolds: administrators set Slurm nodes DOWN or FAIL, while workers come and go and
	// slurmrestd does not always answer.
	onHolds
)

// focusEvent is an event of the history's focus; it reports false when there was none.
func (w *world) focusEvent() bool {
	if w.chance(50) {
		return false
	}
	switch w.focus {
	case onClusters:
		w.clusterEvent()
	case onReplacement:
		w.replacementEvent()
	case onHolds:
		w.holdEvent()
	default:
		return false
	}
	return true
}

func (w *world) clusterEvent() {
	switch w.r.IntN(9) {
	case 8:
		w.oneOtherPoll()
	case 0:
		w.exchange()
	case 1:
		w.exchange()
		w.readNodes()
		w.exchange()
	case 2:
		w.exchange()
		w.readJobs()
		w.exchange()
	case 3:
		w.readNodes()
	case 4:
		w.readJobs()
	case 5:
		w.schedule()
	case 6:
		w.suspend()
	case 7:
		w.foreign()
	}
}

// oneOtherPoll has the other cluster answer one poll of the nodes. Before the next a job
// starts, jobs are suspended, and an administrator drains nodes.
func (w *world) oneOtherPoll() {
	w.exchange()
	w.readNodes()
	w.exchange()
	w.pass(time.Second)
	w.readJobs()
	w.pass(time.Second)
	w.schedule()
	w.suspend()
	w.foreign()
	w.pass(time.Second)
	w.readNodes()
}

func (w *world) replacementEvent() {
	switch w.r.IntN(13) {
	case 0:
		w.desired.Revision += "b"
	case 1:
		w.cordoned[w.r.IntN(3)] = w.chance(70)
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

func (w *world) holdEvent() {
	switch w.r.IntN(7) {
	case 0:
		w.foreign()
	case 1:
		w.desired.Replicas = 5 * w.r.IntN(2)
	case 2:
		w.dead = w.chance(30)
		w.readNodes()
		w.readJobs()
	case 3, 4:
		w.reconcile(true)
	case 5, 6:
		w.kubelet()
	}
}

// suspend suspends a job, or has it go on.
func (w *world) suspend() {
	if ids := slices.Sorted(maps.Keys(w.jobs)); len(ids) > 0 {
		id := ids[w.r.IntN(len(ids))]
		w.jobs[id].suspended = !w.jobs[id].suspended
		w.say("job %d suspended: %v", id, w.jobs[id].suspended)
	}
}

// resumeOurs is an administrator who resumes a Slurm node that we drained, most likely one
// whose worker is on its way out or gone.
func (w *world) resumeOurs() {
	for _, name := range slices.Sorted(maps.Keys(w.slurm)) {
		n, p := w.slurm[name], w.pods[name]
		percent := 20
		if p == nil || !p.going.IsZero() {
			percent = 80
		}
		if n.Drain && n.Ours && n.Owner != neighbour && w.chance(percent) {
			w.resume(name)
			return
		}
	}
}
