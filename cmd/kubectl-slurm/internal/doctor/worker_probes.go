package doctor

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
	"github.com/slurmtide/slurmtide/slurmclient/hostlist"
)

// workerHook is a probe or hook of workers of a NodeSet that lists steps.
type workerHook struct {
	nodeSet                   Object
	field, container, command string
}

// checkWorkerProbes finds running workers whose probes or hooks list steps. A worker keeps the probes
// that it was made with until it is replaced. Where the NodeSet itself has such a command, probes
// reports only that: removing the command gives the NodeSet a new revision, which replaces them.
func checkWorkerProbes(observed *Observed) []Finding {
	ofTemplates := checkProbes(observed)
	var out []Finding
	for h, workers := range workersThatListSteps(observed.Workers) {
		if slices.ContainsFunc(ofTemplates, func(f Finding) bool { return f.Object == h.nodeSet }) {
			continue
		}
		f := newFinding(ProbeListsSteps, h.nodeSet, "%s a %s of container %s that runs %q, %s",
			describeWorkers(workers), h.field,
			h.container, h.command, harmOfListing)
		out = append(out, observed.cureWorkers(f, workers))
	}
	slices.SortFunc(out, func(a, b Finding) int {
		return cmp.Or(strings.Compare(a.Object.String(), b.Object.String()), strings.Compare(a.Problem, b.Problem))
	})
	return out
}

// workersThatListSteps returns the running workers with a hook that lists steps, by hook.
func workersThatListSteps(workers []corev1.Pod) map[workerHook][]*corev1.Pod {
	out := map[workerHook][]*corev1.Pod{}
	for i := range workers {
		w := &workers[i]
		if w.DeletionTimestamp != nil || w.Status.Phase == corev1.PodSucceeded || w.Status.Phase == corev1.PodFailed {
			continue
		}
		on := Object{v1beta1.KindNodeSet, w.Namespace, w.Labels[v1beta1.LabelAppInstance]}
		for _, c := range slices.Concat(w.Spec.InitContainers, w.Spec.Containers) {
			for _, h := range hooksOfContainer(c, "") {
				if command := h.listsSteps(); command != "" {
					key := workerHook{on, h.field, h.container, command}
					out[key] = append(out[key], w)
				}
			}
		}
	}
	return out
}

// describeWorkers names the workers as a Slurm hostlist.
func describeWorkers(workers []*corev1.Pod) string {
	if len(workers) == 1 {
		return "worker " + workers[0].Name + " still has"
	}
	var names []string
	for _, w := range workers {
		names = append(names, w.Name)
	}
	return "workers " + hostlist.Compress(names) + " still have"
}

// cureWorkers adds how to replace the workers of a finding about a NodeSet.
func (observed *Observed) cureWorkers(f Finding, workers []*corev1.Pod) Finding {
	namespace := f.Object.Namespace
	i := slices.IndexFunc(observed.NodeSets, func(n v1beta1.NodeSet) bool { return nodeSetObject(&n) == f.Object })
	if i < 0 || observed.NodeSets[i].Spec.UpdateStrategy.Type == v1beta1.UpdateOnDelete {
		first := slices.MinFunc(workers, func(a, b *corev1.Pod) int { return hostlist.Compare(a.Name, b.Name) })
		return f.withCure("replace the workers one by one: drain a worker and delete its pod when its jobs have ended").
			withCommand("kubectl -n %s annotate pod %s %s=true", namespace, first.Name, v1beta1.AnnotationPodCordon)
	}
	current := observed.NodeSets[i].Status.NodeSetHash
	if !slices.ContainsFunc(workers,
		func(w *corev1.Pod) bool { return w.Labels[appsv1.ControllerRevisionHashLabelKey] == current }) {
		return f.withCure("wait until the update of the NodeSet replaces them: its condition Updated says what it waits for").
			withCommand("kubectl -n %s describe nodesets.slinky.slurm.net %s", namespace, f.Object.Name)
	}
	const patch = `{"spec":{"template":{"metadata":{"annotations":{"kubectl.kubernetes.io/restartedAt":%q}}}}}`
	return f.withCure("change the NodeSet's template: its updateStrategy then drains and replaces the workers, and the "+
		"new workers' probes connect to slurmd's port").
		withCommand("kubectl -n %s patch nodesets.slinky.slurm.net %s --type=merge -p %s", namespace, f.Object.Name,
			quoteShell(fmt.Sprintf(patch, observed.Now.UTC().Format(time.RFC3339))))
}
