package rack

import (
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/slurmtide/slurmtide/operator/names"
	"github.com/slurmtide/slurmtide/operator/nodeset/plan"
)

// playRack plays one history of a rack to its rest.
func playRack(seed uint64, planner *plan.Planner, change ...func(*rack)) *rack {
	w := newRack(seed, planner)
	for _, c := range change {
		c(w)
	}
	for range 60 + w.rand.IntN(100) {
		w.event()
		if w.broken != "" {
			return w
		}
	}
	w.settle()
	return w
}

// event plays one event; time passes with each.
func (w *rack) event() {
	w.now = w.now.Add(time.Duration(w.rand.IntN(6)) * time.Second)
	switch n := w.rand.IntN(100); {
	case n < 25:
		w.reconcile(true)
	case n < 40:
		w.readSlurm(w.chance(70), w.chance(70))
	case n < 60:
		w.runKubelets()
	case n < 75:
		w.runJobs()
	case n < 80:
		w.joinKubeNode()
	case n < 83:
		w.loseKubeNode()
	case n < 88:
		w.taintKubeNode()
	case n < 92:
		w.changeMode()
	case n < 94:
		w.revision += "b"
		w.logf("revision %s", w.revision)
	case n < 96:
		w.nodeSet.Spec.Replicas = new(int32(w.rand.IntN(4))) //nolint:gosec // at most 3
		w.logf("replicas %d", *w.nodeSet.Spec.Replicas)
	case n < 97:
		w.logf("operator killed")
		w.restart()
	default:
		w.now = w.now.Add(time.Duration(w.rand.IntN(90)) * time.Second)
	}
}

// pickKubeNode returns one of the Kubernetes nodes, or nil.
func (w *rack) pickKubeNode() *corev1.Node {
	if all := slices.Sorted(maps.Keys(w.kubeNodes)); len(all) > 0 {
		return w.kubeNodes[all[w.rand.IntN(len(all))]]
	}
	return nil
}

// loseKubeNode removes a machine with everything that runs on it.
func (w *rack) loseKubeNode() {
	lost := w.pickKubeNode()
	if lost == nil {
		return
	}
	w.logf("the Kubernetes node %s is lost", lost.Name)
	delete(w.kubeNodes, lost.Name)
	for _, p := range w.pods {
		if p.KubeNode == lost.Name || p.Slot.KubeNode == lost.Name {
			w.endPod(p)
		}
	}
}

// taintKubeNode keeps new pods off a Kubernetes node, or ends that.
func (w *rack) taintKubeNode() {
	n := w.pickKubeNode()
	if n == nil {
		return
	}
	if n.Spec.Taints != nil {
		n.Spec.Taints = nil
	} else {
		n.Spec.Taints = []corev1.Taint{{Key: "maintenance", Effect: corev1.TaintEffectNoSchedule}}
	}
	w.logf("the taints of %s are %v", n.Name, n.Spec.Taints)
}

// runKubelets takes pods a step on.
func (w *rack) runKubelets() {
	for _, name := range slices.Sorted(maps.Keys(w.pods)) {
		p := w.pods[name]
		if !w.chance(70) {
			continue
		}
		p.version++
		switch {
		case !p.DeletedAt.IsZero():
			w.endPod(p)
		case p.KubeNode == "":
			w.schedulePod(p)
		case !p.Running:
			p.Running, p.RunningSince = true, w.now
		case !p.registered:
			w.register(p)
		case !p.Ready:
			p.Ready, p.ReadySince, p.Registered = true, w.now, w.now
		}
	}
}

// schedulePod gives a pod the Kubernetes node that it is for, or one without a worker.
func (w *rack) schedulePod(p *rackPod) {
	for _, name := range slices.Sorted(maps.Keys(w.kubeNodes)) {
		used := slices.ContainsFunc(slices.Collect(maps.Values(w.pods)), func(o *rackPod) bool { return o.KubeNode == name })
		if name == p.Slot.KubeNode || p.Slot.KubeNode == "" && !used && w.chance(50) {
			p.KubeNode = name
			return
		}
	}
}

// register does what the registration of a slurmd does: it takes over the Slurm node from another one.
func (w *rack) register(p *rackPod) {
	for _, o := range w.pods {
		if o != p && o.SlurmName == p.SlurmName && o.registered && o.jobs > 0 {
			w.failf("the slurmd of %s takes over %s with %d jobs of %s", p.Pod, p.SlurmName, o.jobs, o.Pod)
		}
	}
	r := w.slurm[p.SlurmName]
	if r == nil || r.Future {
		r = &plan.Record{Name: p.SlurmName, Dynamic: true}
		w.slurm[p.SlurmName] = r
	}
	r.OwnerUID, r.Pod, r.KubeNode, r.Down, p.registered = "set", p.Pod, p.KubeNode, false, true
}

// endPod ends a pod and its processes.
func (w *rack) endPod(p *rackPod) {
	delete(w.pods, p.Pod)
	if r := w.slurm[p.SlurmName]; r != nil && !r.Future && r.Pod == p.Pod {
		r.Down, r.Busy = true, false
	}
}

// runJobs starts a job, or ends one.
func (w *rack) runJobs() {
	for _, name := range slices.Sorted(maps.Keys(w.pods)) {
		p := w.pods[name]
		r := w.slurm[p.SlurmName]
		switch {
		case !p.registered || r == nil || r.Pod != p.Pod || !w.chance(40):
			continue
		case p.jobs > 0 && w.chance(60):
			w.logf("a job on %s ends", p.SlurmName)
			p.jobs--
		case !r.Future && !r.Drain && !r.Down:
			w.logf("a job starts on %s", p.SlurmName)
			p.jobs++
		}
		r.Busy = p.jobs > 0
		return
	}
}

// createPod creates the pod of a worker.
func (w *rack) createPod(s plan.Step) bool {
	id := names.WorkerID{KubeNode: s.Slot.KubeNode}
	if s.Slot.Ordinal != plan.NoOrdinal {
		id.Ordinal = &s.Slot.Ordinal
	}
	workers, err := names.NewWorkers(w.nodeSet, "a")
	if err != nil {
		w.failf("naming workers: %v", err)
	}
	name := workers.Pod(id)
	if w.pods[name] != nil {
		return false // AlreadyExists
	}
	for _, o := range w.pods {
		if o.SlurmName == s.SlurmName {
			w.failf("a worker %s is made, and the worker %s has its Slurm node %s", name, o.Pod, o.SlurmName)
		}
	}
	w.count++
	w.pods[name] = &rackPod{Worker: plan.Worker{Pod: name, UID: string(rune('a' + w.count)), Slot: s.Slot, SlurmName: s.SlurmName,
		Revision: w.revision, Created: w.now, DrainMark: plan.DrainMark{Protect: true}}}
	if !w.forgetCreated { // the operator remembers a pod that it created until its cache shows it
		w.observed.pods[name] = *w.pods[name]
	}
	return true
}

// settle lets everything come to an end, and checks the result.
func (w *rack) settle() {
	w.logf("calm")
	for _, n := range w.kubeNodes {
		n.Spec.Taints = nil
	}
	for len(w.kubeNodes) < 4 { // room for the ordinals
		w.joinKubeNode()
	}
	for _, p := range w.pods {
		if p.jobs = 0; w.slurm[p.SlurmName] != nil {
			w.slurm[p.SlurmName].Busy = false
		}
	}
	quiet := 0
	for range 300 {
		w.now = w.now.Add(10 * time.Second)
		before := len(w.log)
		w.runKubelets()
		w.readSlurm(true, true)
		w.reconcile(false)
		isMoving := slices.ContainsFunc(slices.Collect(maps.Values(w.pods)), func(p *rackPod) bool {
			return !p.Ready || !p.DeletedAt.IsZero()
		})
		if quiet++; len(w.log) > before || isMoving {
			quiet = 0
		}
		if quiet > 5 || w.broken != "" {
			break
		}
	}
	if w.broken == "" && quiet <= 5 {
		w.failf("it does not come to rest: %+v", w.runPlanner())
	}
	w.checkRest()
}
