package rack

import (
	"maps"
	"slices"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
	"github.com/slurmtide/slurmtide/operator/nodeset/plan"
)

// checkRest checks the number of workers, one for each name or as many as replicas, their revision and their mode.
func (w *rack) checkRest() {
	want := int(*w.nodeSet.Spec.Replicas)
	if w.isPerKubeNode() {
		wanted := w.desire()
		slurmNames := map[string]bool{}
		for name := range w.kubeNodes {
			slurmNames[wanted.SlurmNameOn(name)] = true
		}
		want = len(slurmNames)
	}
	if len(w.pods) != want {
		w.failf("at rest there are %d workers, and not %d", len(w.pods), want)
	}
	for _, p := range w.pods {
		switch r := w.slurm[p.SlurmName]; {
		case p.Revision != w.revision || (p.Slot.KubeNode != "") != w.isPerKubeNode():
			w.failf("at rest the worker %s is of an old revision or mode", p.Pod)
		case r == nil || r.Future || r.Drain || r.Down || r.Pod != p.Pod:
			w.failf("at rest the worker %s is not in service: %+v", p.Pod, r)
		case p.DrainMark.Cause != "":
			w.failf("at rest the worker %s is to be removed: %s", p.Pod, p.DrainMark.Cause)
		}
	}
	for name, r := range w.slurm {
		hasPod := slices.ContainsFunc(slices.Collect(maps.Values(w.pods)), func(p *rackPod) bool { return p.SlurmName == name })
		if !hasPod && !r.Future && !w.isPerKubeNode() && w.kubeNodes[r.KubeNode] != nil { // others stay, unless they are pruned
			w.failf("at rest the record %s is left: %+v", name, r)
		}
	}
}

// checkCauses checks the choice of workers against the disruption budget, and against the rules about who may be chosen.
func (w *rack) checkCauses(steps []plan.Step) {
	causes, active := map[string]string{}, 0
	for name, p := range w.observed.pods {
		if p.DeletedAt.IsZero() {
			active++
			causes[name] = p.DrainMark.Cause
		}
	}
	for _, s := range steps {
		if s.Verb == plan.Annotate {
			causes[s.Pod] = s.DrainMark.Cause
		}
	}
	updates, leaving := 0, 0
	for name, cause := range causes {
		p := w.observed.pods[name]
		switch {
		case cause == v1beta1.DrainCauseUpdate && p.Running:
			updates++
		case cause == v1beta1.DrainCauseScaleIn && w.isPerKubeNode():
			w.checkLeaving(p)
		case cause == v1beta1.DrainCauseScaleIn:
			leaving++
		}
	}
	if updates > 1 {
		w.failf("%d workers are chosen for an update at a time", updates)
	}
	if excess := max(0, active-int(*w.nodeSet.Spec.Replicas)); leaving > excess {
		w.failf("%d workers are chosen for scale-in, of which %d are surplus", leaving, excess)
	}
}

// checkLeaving checks the reasons for the removal of a worker in scaling mode DaemonSet. A taint that only affects new pods
// is not a reason, and neither is the other mode.
func (w *rack) checkLeaving(p rackPod) {
	if p.Slot.KubeNode == "" || w.kubeNodes[p.Slot.KubeNode] != nil {
		w.failf("the worker %s is to be removed, which may stay", p.Pod)
	}
}
