package plan

import (
	"flag"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"
)

var histories = flag.Int("histories", 2000, "number of random histories to play")

// TestNoHistoryBreaksThePromise plays random histories of scaling, jobs, lost nodes,
// restarts, stale readings and such that lack nodes or have all of them silent, faults of
// slurmrestd, lost state of slurmctld, administrators who drain nodes or set them DOWN or
// FAIL or resume them, of another Slurm cluster that answers some polls or last looks, or
// that the NodeSet is made to join, and of a NodeSet of the same name on the same Slurm. In
// none a pod is deleted under a job, a worker with work unprotected, what others set or own
// touched, or the disruption budget or the brake exceeded; each comes to rest at what was
// asked for.
func TestNoHistoryBreaksThePromise(t *testing.T) {
	counts := tally{}
	for seed := range uint64(*histories) {
		w := play(seed, New(DefaultConfig()))
		counts.add(w)
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

// play plays one history to its rest.
func play(seed uint64, planner *Planner, change ...func(*world)) *world {
	w := newWorld(seed, planner)
	for _, c := range change {
		c(w)
	}
	for range 40 + w.r.IntN(120) {
		w.event()
		w.checkHolds()
		if w.broken != "" {
			return w
		}
	}
	w.rest()
	return w
}

// event is one thing that happens; time passes with each.
func (w *world) event() {
	w.pass(time.Duration(w.r.IntN(6)) * time.Second)
	w.collect()
	if w.swapped && w.chance(10) {
		w.exchange()
	}
	if w.focusEvent() {
		return
	}
	switch n := w.r.IntN(105); {
	case n >= 103:
		w.swap()
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
func (w *world) kubelet() {
	for _, name := range slices.Sorted(maps.Keys(w.pods)) {
		if p := w.pods[name]; w.chance(70) {
			w.advance(p)
		}
	}
}

func (w *world) advance(p *simPod) {
	before := p.version
	p.version++
	switch {
	case !p.going.IsZero():
		if n := w.slurm[p.name]; n != nil && !n.Future && n.Owner != neighbour && w.chance(90) {
			n.Down = true // preStop, which keeps a reason that is there
			if n.reason == "" {
				n.Ours, n.reason = true, "the pod is being stopped"
			}
		}
		w.lose(p)
	case p.finished:
	case !p.scheduled:
		p.scheduled = true
	case p.stuck:
	case !p.running:
		p.running, p.runningSince = true, w.now
	case !p.joins && (p.refused || w.taken(p.name)):
		p.version = before
	case !p.joins:
		w.join(p)
	case !p.ready:
		p.ready, p.readySince = true, w.now
	default:
		p.version = before
	}
}

// schedule starts a job where Slurm may.
func (w *world) schedule() {
	for _, name := range slices.Sorted(maps.Keys(w.slurm)) {
		n, p := w.slurm[name], w.pods[name]
		if n.Future || n.Down || n.Drain || n.fail || !n.up || p == nil || !p.joins || !w.chance(50) {
			continue
		}
		p.version += w.r.IntN(2)
		w.startJob(n, p)
		return
	}
}

// startJob starts a job on a Slurm node, and in the pod behind it if that is ours.
func (w *world) startJob(n *simRecord, p *simPod) {
	w.uids++
	id := uint32(w.uids)
	w.jobs[id], n.jobs[id] = &simJob{node: n.Name}, true
	if p != nil {
		p.work[id] = true
	}
	w.say("job %d starts on %s", id, n.Name)
}

func (w *world) jobEvent() {
	ids := slices.Sorted(maps.Keys(w.jobs))
	if len(ids) == 0 {
		return
	}
	if w.chance(40) {
		w.suspend()
		return
	}
	id := ids[w.r.IntN(len(ids))]
	w.say("job %d ends", id)
	w.end(id)
}

func (w *world) userEvent() {
	switch w.r.IntN(10) {
	case 9:
		w.resumeOurs()
	case 8:
		w.desired.Update.MaxUnavailable = 1 + w.r.IntN(2)
		w.say("the budget is %d", w.desired.Update.MaxUnavailable)
	case 0, 1, 2:
		w.desired.Replicas = w.r.IntN(6)
		w.say("replicas %d", w.desired.Replicas)
	case 3:
		w.desired.Revision += "b"
		w.say("revision %s", w.desired.Revision)
	case 4:
		w.desired.Update.Open = !w.desired.Update.Open
	case 5:
		o := w.r.IntN(5)
		w.cordoned[o] = !w.cordoned[o]
		w.say("cordoned: %v", w.cordoned)
	case 6:
		w.foreign()
	case 7:
		if w.chance(20) || w.desired.Deleting {
			w.deleteNodeSet()
		}
	}
}

// foreign is an administrator who drains a node, or sets it DOWN or FAIL, or takes that
// back.
func (w *world) foreign() {
	for _, name := range slices.Sorted(maps.Keys(w.slurm)) {
		n := w.slurm[name]
		if n.Future || !w.chance(30) {
			continue
		}
		if n.Foreign() {
			w.resume(name)
			continue
		}
		n.Ours, n.reason, w.held[name] = false, "bad memory", true
		switch w.r.IntN(3) {
		case 0:
			n.Drain = true
		case 1:
			n.fail = true
		case 2:
			n.Down = true
			for id := range n.jobs {
				w.end(id)
			}
		}
		w.say("an administrator takes %s out of service: %+v fail=%v", name, n.Record, n.fail)
	}
}

func (w *world) resume(name string) {
	n := w.slurm[name]
	delete(w.held, name)
	delete(w.leftOpen, name)
	n.Drain, n.fail, n.Ours, n.reason = false, false, false, ""
	if n.up {
		n.Down = false
	}
	if p := w.pods[name]; p != nil {
		p.loose = true
	}
	w.say("an administrator resumes %s", name)
}

func (w *world) accident() {
	names := slices.Sorted(maps.Keys(w.pods))
	switch w.r.IntN(8) {
	case 7:
		w.repoint()
	case 0:
		w.say("operator killed")
		w.restart()
	case 1, 2:
		w.dead = !w.dead
		w.say("slurmrestd is dead: %v", w.dead)
	case 3:
		w.say("slurmctld lost its state")
		clear(w.slurm)
		clear(w.jobs)
		clear(w.held)
		for _, p := range w.pods {
			p.loose = true
		}
	case 4:
		if len(names) > 0 {
			w.say("the Kubernetes node of %s is lost", names[0])
			w.lose(w.pods[names[0]])
		}
	case 5:
		if len(names) > 0 {
			w.crash(w.pods[names[w.r.IntN(len(names))]])
		}
	case 6:
		w.pass(time.Duration(w.r.IntN(400)) * time.Second)
	}
}

// crash restarts the containers of a pod: what ran in them is lost, and slurmd
// registers again, or never does.
func (w *world) crash(p *simPod) {
	if !p.running || !p.going.IsZero() {
		return
	}
	w.say("slurmd of %s crashes", p.name)
	if n := w.slurm[p.name]; n != nil && n.Owner != neighbour {
		for id := range n.jobs {
			w.end(id)
		}
		n.up = false
	}
	clear(p.work)
	p.running, p.ready, p.joins = false, false, false
	p.version++
	if w.chance(20) {
		p.finished = true
	}
}
