// Package mirror computes the pod conditions that show a worker's Slurm node: one for the base state and one
// for each flag, with Slurm's reason as the message. It is pure.
package mirror

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

// stateReason is the reason of the pod conditions that show a Slurm state.
const stateReason = "SlurmNodeState"

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

// Conditions returns the conditions of a pod with the conditions of its Slurm node updated. A nil node is
// unknown to Slurm. Conditions of others, and the transition times of unchanged conditions, stay. It reports
// whether anything differs.
func Conditions(have []corev1.PodCondition, node *slurm.Node, now metav1.Time) ([]corev1.PodCondition, bool) {
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
			c.Message, c.Status, c.Reason = reason, corev1.ConditionTrue, stateReason
		}
		delete(want, c.Type)
		out = append(out, c)
	}
	var added []corev1.PodCondition
	for kind := range want {
		added = append(added, corev1.PodCondition{Type: kind, Status: corev1.ConditionTrue, Reason: stateReason,
			Message: reason, LastTransitionTime: now})
	}
	slices.SortFunc(added, func(a, b corev1.PodCondition) int {
		return strings.Compare(string(a.Type),
			string(b.Type))
	})
	return append(out, added...), changed || len(added) > 0
}

// Registration adds to a pod's conditions the one that records the registration of its slurmd, if a reading
// shows the registration and this slurmd's is not recorded yet. It reports whether anything differs. The
// condition is written together with the conditions of the Slurm node, so it costs no extra write.
func Registration(have []corev1.PodCondition, s *plan.SlurmReading, w *plan.Worker, now metav1.Time) (
	[]corev1.PodCondition, bool) {
	if w.HasRegistered() || !s.ShowsRegistration(w) {
		return have, false
	}
	out := slices.DeleteFunc(slices.Clone(have), func(c corev1.PodCondition) bool {
		return c.Type == v1beta1.PodConditionRegistered
	})
	return append(out, corev1.PodCondition{Type: v1beta1.PodConditionRegistered, Status: corev1.ConditionTrue,
		Reason: stateReason, Message: "slurmd was registered with Slurm", LastTransitionTime: now}), true
}

// IsOlderThanWorker reports whether a FUTURE record comes from a reading that predates the worker
// or its readiness, and so shows an earlier state. Kubernetes' times are whole seconds.
func IsOlderThanWorker(nodesReadAt time.Time, w *plan.Worker, node *slurm.Node) bool {
	since := w.Created
	if w.ReadySince.After(since) {
		since = w.ReadySince
	}
	return node != nil && node.State.Base == slurm.NodeFuture && nodesReadAt.Before(since.Add(time.Second))
}

// NeedsAttention reports whether a Slurm node is in a state that may require action. Such states
// are shown first.
func NeedsAttention(node *slurm.Node) bool {
	return node == nil || node.State.Base == slurm.NodeDown || node.State.Base == slurm.NodeError ||
		node.State.Any(slurm.NodeDrain|slurm.NodeFail|slurm.NodeInvalid|slurm.NodeInvalidReg|slurm.NodeNotResponding)
}
