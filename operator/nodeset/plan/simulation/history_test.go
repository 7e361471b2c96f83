package simulation

import (
	"flag"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/slurmtide/slurmtide/operator/nodeset/plan"
)

var histories = flag.Int("histories", 5000, "number of random histories to play")

// TestNoHistoryBreaksThePromise plays random histories of scaling, jobs, lost nodes, restarts and faults of
// slurmrestd. Readings may be stale, lack nodes, or show all nodes silent. slurmctld may lose its state.
// Administrators drain nodes, set them DOWN or FAIL, or resume them. Another Slurm cluster may answer some
// polls or last looks, or the NodeSet is made to join it. A NodeSet of the same name may use the same Slurm.
// No history deletes a pod under a job, leaves a worker with work unprotected, touches what others set or
// own, or exceeds the disruption budget or the brake. Each comes to rest in the requested state.
func TestNoHistoryBreaksThePromise(t *testing.T) {
	counts := eventCounts{}
	for seed := range uint64(*histories) {
		w := playHistory(seed, plan.New(plan.DefaultConfig()))
		counts.addHistory(w)
		if w.broken != "" {
			t.Fatalf("history %d: %s\n%s", seed, w.broken, strings.Join(w.log, "\n"))
		}
	}
	t.Logf("%d histories: %v", *histories, counts)
	for _, e := range rareEvents() {
		if counts[e.name] == 0 {
			t.Errorf("in no history there is this: %s", e.name)
		}
	}
}

// playHistory plays one history to its rest.
func playHistory(seed uint64, planner *plan.Planner, change ...func(*simulation)) *simulation {
	w := newSimulation(seed, planner)
	for _, c := range change {
		c(w)
	}
	for range 40 + w.rand.IntN(120) {
		w.event()
		w.checkHolds()
		w.observeService()
		if w.broken != "" {
			return w
		}
	}
	w.settle()
	return w
}

// event plays one event; time passes with each.
func (w *simulation) event() {
	w.advanceTime(time.Duration(w.rand.IntN(6)) * time.Second)
	w.collectGarbage()
	if w.otherClusterAnswers && w.chance(10) {
		w.switchCluster()
	}
	if w.focusEvent() {
		return
	}
	switch n := w.rand.IntN(119); {
	case n >= 117:
		w.requestReboot()
	case n >= 116:
		w.delayJobs()
	case n >= 115:
		w.renameWorkers()
	case n >= 114:
		w.readConfiguration()
	case n >= 113:
		w.changeShape()
	case n >= 112:
		w.requestReboot()
	case n >= 107:
		w.recordEvent()
	case n >= 105:
		w.slurmFault()
	case n >= 103:
		w.switchClusterAndPoll()
	case n >= 100:
		w.neighbourEvent()
	case n < 30:
		w.reconcile(true)
	case n < 42:
		w.readNodes()
	case n < 54:
		w.readJobs()
	case n < 70:
		w.kubelet()
	case n < 80:
		w.schedule()
	case n < 88:
		w.jobEvent()
	case n < 94:
		w.userEvent()
	default:
		w.accident()
	}
}

// kubelet takes each pod a step on, or one of them.
func (w *simulation) kubelet() {
	for _, name := range slices.Sorted(maps.Keys(w.pods)) {
		if p := w.pods[name]; w.chance(70) {
			w.advancePod(p)
		}
	}
}

func (w *simulation) advancePod(p *simPod) {
	before := p.version
	p.version++
	switch {
	case !p.deletedAt.IsZero():
		if n := w.slurm[p.name]; n != nil && !n.Future && n.OwnerUID != otherNodeSetUID && w.chance(90) {
			n.Down, n.FaultAt = true, w.now // preStop, which repeats an existing reason
			if n.reason == "" {
				n.OurReason, n.reason = true, "the pod is being stopped"
			}
		}
		w.losePod(p)
	case p.finished:
	case !p.scheduled:
		p.scheduled = true
	case p.stuck:
	case !p.running:
		p.running, p.runningSince = true, w.now
	case !p.registered && (p.refused || w.isOwnedByOther(p.name)):
		p.version = before
	case !p.registered:
		w.registerSlurmd(p)
	case w.isToRegisterAgain(p):
		w.logf("the slurmd of %s registers again", p.name)
		p.asked = p.drainMark.RegisterAgain
		w.registerSlurmd(p)
	case !p.ready:
		p.ready, p.readySince = true, w.now
	default:
		p.version = before
	}
}

// schedule starts a job where Slurm may.
func (w *simulation) schedule() {
	for _, name := range slices.Sorted(maps.Keys(w.slurm)) {
		n, p := w.slurm[name], w.pods[name]
		if n.Future || n.Down || n.Drain || n.failing || !n.up || p == nil || !p.registered || !w.chance(50) {
			continue
		}
		p.version += w.rand.IntN(2)
		w.startJob(n, p)
		return
	}
}

// startJob starts a job on a Slurm node, and in the pod behind it if that is ours.
func (w *simulation) startJob(n *simRecord, p *simPod) {
	w.uids++
	id := uint32(w.uids)
	w.jobs[id], n.jobs[id] = &simJob{node: n.Name}, true
	if p != nil {
		p.work[id] = true
	}
	w.logf("job %d starts on %s", id, n.Name)
}

func (w *simulation) jobEvent() {
	ids := slices.Sorted(maps.Keys(w.jobs))
	if len(ids) == 0 {
		return
	}
	if w.chance(40) {
		w.toggleSuspend()
		return
	}
	id := ids[w.rand.IntN(len(ids))]
	w.logf("job %d ends", id)
	w.endJob(id)
}

func (w *simulation) userEvent() {
	switch w.rand.IntN(10) {
	case 9:
		w.resumeOurs()
	case 8:
		w.desired.Update.MaxUnavailable = 1 + w.rand.IntN(2)
		w.logf("the budget is %d", w.desired.Update.MaxUnavailable)
	case 0, 1, 2:
		w.desired.Replicas = min(w.rand.IntN(6), w.highestReplicas())
		w.logf("replicas %d", w.desired.Replicas)
	case 3:
		w.desired.Revision += "b"
		w.logf("revision %s", w.desired.Revision)
	case 4:
		w.desired.Update.Allowed = !w.desired.Update.Allowed
	case 5:
		o := w.rand.IntN(5)
		w.cordoned[o] = !w.cordoned[o]
		w.logf("cordoned: %v", w.cordoned)
	case 6:
		w.adminEvent()
	case 7:
		if w.chance(20) || w.desired.Deleting {
			w.deleteNodeSet()
		}
	}
}

// adminEvent plays an administrator who drains a node, sets it DOWN or FAIL, or takes that back.
func (w *simulation) adminEvent() {
	for _, name := range slices.Sorted(maps.Keys(w.slurm)) {
		n := w.slurm[name]
		if n.Future || !w.chance(30) {
			continue
		}
		if n.Foreign() && (n.Fault == "" || w.chance(50)) {
			w.resumeNode(name)
			continue
		}
		n.OurReason, n.reason, n.Fault, n.Rebooting, w.setByAdmin[name] = false, "bad memory", "", false, true
		switch w.rand.IntN(3) {
		case 0:
			n.Drain = true
		case 1:
			n.failing = true
		case 2:
			n.Down = true
			for id := range n.jobs {
				w.endJob(id)
			}
		}
		w.logf("an administrator takes %s out of service: %+v fail=%v", name, n.Record, n.failing)
	}
}

func (w *simulation) resumeNode(name string) {
	n := w.slurm[name]
	delete(w.setByAdmin, name)
	delete(w.leftOpen, name)
	n.Drain, n.failing, n.OurReason, n.reason, n.Fault, n.Rebooting = false, false, false, "", "", false
	if n.up {
		n.Down = false
	}
	if p := w.pods[name]; p != nil {
		p.drainUndone = true
	}
	w.logf("an administrator resumes %s", name)
}

func (w *simulation) accident() {
	names := slices.Sorted(maps.Keys(w.pods))
	switch w.rand.IntN(10) {
	case 8:
		w.lostPodEvent()
	case 9:
		w.restoreOlderState()
	case 7:
		w.changeClusterRef()
	case 0:
		w.logf("operator killed")
		w.restart()
	case 1, 2:
		w.slurmrestdDown = !w.slurmrestdDown
		w.logf("slurmrestd is dead: %v", w.slurmrestdDown)
	case 3:
		w.logf("slurmctld lost its state")
		clear(w.slurm)
		clear(w.jobs)
		clear(w.lost)
		clear(w.records.named)
		w.records.requested = 0
		clear(w.setByAdmin)
		for _, p := range w.pods {
			p.drainUndone = true
		}
	case 4:
		if len(names) > 0 {
			w.logf("the Kubernetes node of %s is lost", names[0])
			w.losePod(w.pods[names[0]])
		}
	case 5:
		if len(names) > 0 {
			w.crashSlurmd(w.pods[names[w.rand.IntN(len(names))]])
		}
	case 6:
		w.advanceTime(time.Duration(w.rand.IntN(400)) * time.Second)
	}
}

// crashSlurmd restarts the containers of a pod: its jobs are lost, and slurmd registers again, or never does.
func (w *simulation) crashSlurmd(p *simPod) {
	if !p.running || !p.deletedAt.IsZero() {
		return
	}
	w.logf("slurmd of %s crashes", p.name)
	if n := w.slurm[p.name]; n != nil && n.OwnerUID != otherNodeSetUID {
		for id := range n.jobs {
			w.endJob(id)
		}
		n.up = false
	}
	clear(p.work)
	p.running, p.ready, p.registered = false, false, false
	p.version++
	if w.chance(20) {
		p.finished = true
	}
}
