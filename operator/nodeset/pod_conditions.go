package nodeset

import (
	"context"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
	"github.com/slurmtide/slurmtide/operator/kube"
	"github.com/slurmtide/slurmtide/operator/nodeset/plan"
	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

// slurmStateReason is the reason of the pod conditions that show a Slurm state.
const slurmStateReason = "SlurmNodeState"

// baseConditions are the pod conditions of the base states.
func baseConditions() map[slurm.NodeBase]corev1.PodConditionType {
	return map[slurm.NodeBase]corev1.PodConditionType{
		slurm.NodeAllocated: v1beta1.PodConditionAllocated,
		slurm.NodeDown:      v1beta1.PodConditionDown,
		slurm.NodeError:     v1beta1.PodConditionError,
		slurm.NodeFuture:    v1beta1.PodConditionFuture,
		slurm.NodeIdle:      v1beta1.PodConditionIdle,
		slurm.NodeMixed:     v1beta1.PodConditionMixed,
		slurm.NodeUnknown:   v1beta1.PodConditionUnknown,
	}
}

// flagCondition is the pod condition of a flag.
type flagCondition struct {
	flag      slurm.NodeFlags
	condition corev1.PodConditionType
}

// flagConditions are the pod conditions of the flags.
func flagConditions() []flagCondition {
	return []flagCondition{
		{slurm.NodeCompleting, v1beta1.PodConditionCompleting},
		{slurm.NodeDrain, v1beta1.PodConditionDrain},
		{slurm.NodeFail, v1beta1.PodConditionFail},
		{slurm.NodeInvalid, v1beta1.PodConditionInvalid},
		{slurm.NodeInvalidReg, v1beta1.PodConditionInvalidReg},
		{slurm.NodeMaintenance, v1beta1.PodConditionMaintenance},
		{slurm.NodeNotResponding, v1beta1.PodConditionNotResponding},
		{slurm.NodeUndrain, v1beta1.PodConditionUndrain},
		{slurm.NodePlanned, v1beta1.PodConditionPlanned},
		{slurm.NodeReserved, v1beta1.PodConditionReserved},
		{slurm.NodePoweringUp, v1beta1.PodConditionPoweringUp},
		{slurm.NodePoweredDown, v1beta1.PodConditionPoweredDown},
		{slurm.NodeRebootIssued, v1beta1.PodConditionRebooting},
	}
}

// podConditionsOf returns the conditions of a pod with those that show the state of its Slurm node
// brought up to date. A nil node is one that Slurm does not know. Conditions of others, and the
// transition times of unchanged ones, stay. It reports whether anything differs.
func podConditionsOf(have []corev1.PodCondition, node *slurm.Node, now metav1.Time) ([]corev1.PodCondition, bool) {
	want := map[corev1.PodConditionType]bool{}
	reason := ""
	if node != nil {
		reason = strings.TrimSpace(node.Reason)
		if c, ok := baseConditions()[node.State.Base]; ok {
			want[c] = true
		}
		for _, f := range flagConditions() {
			if node.State.Has(f.flag) {
				want[f.condition] = true
			}
		}
	}
	changed := false
	var out []corev1.PodCondition
	for _, c := range have {
		switch {
		case !strings.HasPrefix(string(c.Type), v1beta1.PodConditionPrefix):
		case !want[c.Type]:
			changed = true
			continue
		case c.Message != reason || c.Status != corev1.ConditionTrue:
			changed = true
			c.Message, c.Status, c.Reason = reason, corev1.ConditionTrue, slurmStateReason
		}
		delete(want, c.Type)
		out = append(out, c)
	}
	var added []corev1.PodCondition
	for kind := range want {
		added = append(added, corev1.PodCondition{Type: kind, Status: corev1.ConditionTrue, Reason: slurmStateReason,
			Message: reason, LastTransitionTime: now})
	}
	slices.SortFunc(added, func(a, b corev1.PodCondition) int {
		return strings.Compare(string(a.Type),
			string(b.Type))
	})
	return append(out, added...), changed || len(added) > 0
}

// isOlderThanWorker reports whether a FUTURE record comes from a reading that predates the worker
// or its readiness, and so shows an earlier state. Kubernetes' times are whole seconds.
func isOlderThanWorker(nodesReadAt time.Time, w *plan.Worker, node *slurm.Node) bool {
	since := w.Created
	if w.ReadySince.After(since) {
		since = w.ReadySince
	}
	return node != nil && node.State.Base == slurm.NodeFuture && nodesReadAt.Before(since.Add(time.Second))
}

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
		if conditions, changed := podConditionsOf(pod.Status.Conditions, node, metav1.NewTime(r.now())); changed &&
			!isOlderThanWorker(s.nodesReadAt, w, node) {
			show := func() error { return r.patchPodStatus(ctx, s, pod, conditions) }
			if needsAttention(node) {
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
	if room, again := conditionWriteLimit(r.now(), s); len(work) > room { // steps have priority over conditions
		work = work[:room]
		s.requeueAfter(again)
	}
	if len(work) > 0 {
		s.expectations.conditionsWrittenAt = r.now()
	}
	return runParallel(min(r.cfg.Parallel, parallelConditionWrites), work)
}

// needsAttention reports whether a Slurm node is in a state that may require action. Such states
// are shown first.
func needsAttention(node *slurm.Node) bool {
	return node == nil || node.State.Base == slurm.NodeDown || node.State.Base == slurm.NodeError ||
		node.State.Any(slurm.NodeDrain|slurm.NodeFail|slurm.NodeInvalid|slurm.NodeInvalidReg|slurm.NodeNotResponding)
}

const (
	// maxConditionWrites is how many pods and Slurm nodes are updated in one reconciliation,
	// parallelConditionWrites how many at a time. These writes can wait, the kubelets of new
	// workers cannot.
	maxConditionWrites      = 100
	parallelConditionWrites = 8
	// While at least manyStarting workers younger than startingWithin start, at most
	// maxConditionWritesWhileStarting updates are made in each conditionWriteInterval.
	manyStarting                    = 20
	startingWithin                  = 30 * time.Second
	maxConditionWritesWhileStarting = 10
	conditionWriteInterval          = time.Second
)

// conditionWriteLimit returns how many pods and Slurm nodes may be updated now, and when to
// reconcile the rest. Updating many of them loads the API server as much as starting them does.
func conditionWriteLimit(now time.Time, s *observation) (room int, again time.Duration) {
	starting := len(s.created)
	for i := range s.workers {
		if w := &s.workers[i]; !w.Ready && w.DeletedAt.IsZero() && now.Before(w.Created.Add(startingWithin)) {
			starting++
		}
	}
	if starting < manyStarting {
		return maxConditionWrites, time.Millisecond
	}
	if wait := s.expectations.conditionsWrittenAt.Add(conditionWriteInterval).Sub(now); wait > 0 {
		return 0, wait
	}
	return maxConditionWritesWhileStarting, conditionWriteInterval
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
