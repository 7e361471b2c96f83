package nodeset

import (
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
	"github.com/slurmtide/slurmtide/operator/nodeset/plan"
	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

// slurmStateReason is the reason of the pod conditions that show a Slurm state.
const slurmReason = "SlurmNodeState"

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
func mirrored(have []corev1.PodCondition, node *slurm.Node, now metav1.Time) ([]corev1.PodCondition, bool) {
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
			c.Message, c.Status, c.Reason = reason, corev1.ConditionTrue, slurmReason
		}
		delete(want, c.Type)
		out = append(out, c)
	}
	var added []corev1.PodCondition
	for kind := range want {
		added = append(added, corev1.PodCondition{Type: kind, Status: corev1.ConditionTrue, Reason: slurmReason, Message: reason, LastTransitionTime: now})
	}
	slices.SortFunc(added, func(a, b corev1.PodCondition) int { return strings.Compare(string(a.Type), string(b.Type)) })
	return append(out, added...), changed || len(added) > 0
}

// isOlderThanWorker reports whether a FUTURE record comes from a reading that predates the worker
// or its readiness, and so shows an earlier state. Kubernetes' times are whole seconds.
func older(nodesReadAt time.Time, w *plan.Worker, node *slurm.Node) bool {
	since := w.Created
	if w.ReadySince.After(since) {
		since = w.ReadySince
	}
	return node != nil && node.State.Base == slurm.NodeFuture && nodesReadAt.Before(since.Add(time.Second))
}

// podsDeletedBy returns the pods that the steps delete. Their conditions need no update.
func deletedBy(todo *plan.Todo) map[string]bool {
	out := map[string]bool{}
	for _, step := range todo.Steps {
		if step.Verb == plan.Delete {
			out[step.Pod] = true
		}
	}
	return out
}
