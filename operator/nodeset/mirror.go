package nodeset

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/slurmtide/slurmtide/operator/kube"
	"github.com/slurmtide/slurmtide/operator/nodeset/comment"
	"github.com/slurmtide/slurmtide/operator/nodeset/mirror"
	"github.com/slurmtide/slurmtide/operator/nodeset/plan"
	"github.com/slurmtide/slurmtide/slurmclient"
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
		now := metav1.NewTime(r.now())
		conditions, changed := mirror.Conditions(pod.Status.Conditions, node, now)
		conditions, registered := mirror.Registration(conditions, &s.slurm, w, now)
		if (changed || registered) && !mirror.IsOlderThanWorker(s.nodesReadAt, w, node) {
			show := func() error { return r.patchPodStatus(ctx, s, pod, conditions) }
			if mirror.NeedsAttention(node) {
				first = append(first, show)
			} else {
				work = append(work, show)
			}
		}
		if record, known := s.slurm.Records[w.SlurmName]; known && !record.Future && (w.Ready || s.slurm.ShowsRegistration(w)) {
			before := ""
			if node != nil {
				before = node.Comment
			}
			update, differs := mirror.SlurmNodeUpdate(node, s.kubeNodes[w.KubeNode],
				comment.OfWorker(s.nodeSet, s.namespaceUID, pod, before))
			if differs &&
				!s.expectations.ExpectsUpdate(w.SlurmName, update) {
				work = append(work, func() error { return r.updateSlurmNode(ctx, s, w, update) })
			}
		}
	}
	work = append(first, work...)
	room, again := mirror.WriteLimit(r.now(), s.workers, len(s.created), s.expectations.ConditionsWrittenAt)
	if len(work) > room { // steps have priority over conditions
		work = work[:room]
		s.requeueAfter(again)
	}
	if len(work) > 0 {
		s.expectations.ConditionsWrittenAt = r.now()
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

// updateSlurmNode writes the comment, the features and the topology of a worker's Slurm node where
// they differ, and expects them until a reading shows them. It never changes the state.
func (r *Reconciler) updateSlurmNode(ctx context.Context, s *observation, w *plan.Worker,
	update slurmclient.NodeUpdate) error {
	asked := update
	err := s.slurmCluster.UpdateNode(ctx, w.SlurmName, update)
	if update.Topology != nil && slurmclient.CodeOf(err) == slurmclient.CodeUnsupported {
		update.Topology = nil // the rest is supported
		err = s.slurmCluster.UpdateNode(ctx, w.SlurmName, update)
	}
	if err != nil {
		return fmt.Errorf("updating the slurm node of worker %s: %w", w.Pod, err)
	}
	r.expectations.ExpectUpdate(s.expectations, w.SlurmName, asked, r.now())
	return nil
}
