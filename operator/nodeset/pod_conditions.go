package nodeset

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/slurmtide/slurmtide/operator/kube"
	"github.com/slurmtide/slurmtide/operator/nodeset/mirror"
	"github.com/slurmtide/slurmtide/operator/nodeset/plan"
)

// podsDeletedBy returns the pods that the steps delete. Their conditions need no update.
func podsDeletedBy(actions *plan.Actions) map[string]bool {
	out := map[string]bool{}
	for _, step := range actions.Steps {
		if step.Verb == plan.DeletePod {
			out[step.Pod] = true
		}
	}
	return out
}

// patchPodConditions shows on each pod that stays the state of its Slurm node, and writes to Slurm
// which pod runs a node. Without a fresh reading it writes nothing.
func (r *Reconciler) patchPodConditions(ctx context.Context, s *observation, actions *plan.Actions) error {
	if !s.slurm.Fresh {
		return nil
	}
	deleted := podsDeletedBy(actions)
	var first, work []func() error
	for i := range s.workers {
		w := &s.workers[i]
		if !w.DeletedAt.IsZero() || w.Finished || deleted[w.Pod] || s.slurm.OwnedByOthers[w.SlurmName] != "" {
			continue
		}
		pod, node := s.pod(w.Pod), s.slurmNodes[w.SlurmName]
		if conditions, changed := mirror.Conditions(pod.Status.Conditions, node, metav1.NewTime(r.now())); changed &&
			!mirror.IsOlderThanWorker(s.nodesReadAt, w, node) {
			show := func() error { return r.patchPodStatus(ctx, s, pod, conditions) }
			if mirror.NeedsAttention(node) {
				first = append(first, show)
			} else {
				work = append(work, show)
			}
		}
		if record, known := s.slurm.Records[w.SlurmName]; known && !record.Future && w.Ready {
			if update, differs := slurmNodeUpdateFor(s, w); differs &&
				!s.expectations.expectsUpdate(w.SlurmName, update) {
				work = append(work, func() error { return r.updateSlurmNode(ctx, s, w, update) })
			}
		}
	}
	work = append(first, work...)
	room, again := mirror.WriteLimit(r.now(), s.workers, len(s.created), s.expectations.conditionsWrittenAt)
	if len(work) > room { // steps have priority over conditions
		work = work[:room]
		s.requeueAfter(again)
	}
	if len(work) > 0 {
		s.expectations.conditionsWrittenAt = r.now()
	}
	return runParallel(min(r.cfg.Parallel, mirror.ParallelWrites), work)
}

// patchPodStatus writes the conditions of a pod.
func (r *Reconciler) patchPodStatus(ctx context.Context, s *observation, pod *corev1.Pod,
	conditions []corev1.PodCondition) error {
	changed, err := kube.PatchPodConditions(ctx, r.client, pod, conditions, client.FieldOwner(FieldManager))
	if err != nil {
		return ignoreNotFound(err)
	}
	s.rememberPod(changed)
	return nil
}
