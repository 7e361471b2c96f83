package explain

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/slurmtide/slurmtide/cmd/kubectl-slurm/internal/top"
	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
	"github.com/slurmtide/slurmtide/operator/scaling"
)

// findBlocks describes what keeps a NodeSet from the required number of workers.
func findBlocks(observed *Observation, n *v1beta1.NodeSet, e *NodeSet) []string {
	out := []string{}
	add := func(format string, args ...any) { out = append(out, fmt.Sprintf(format, args...)) }
	required := e.Need.Required
	if required == nil {
		add("the number of required workers is unknown: spec.replicas does not change")
	}
	if e.Need.Max != nil && required != nil && *required >= uint64(*e.Need.Max) &&
		e.Need.sumWanted() > uint64(*e.Need.Max) {
		wants := e.Need.sumWanted()
		add("jobs need %s, but the maximum is %d", countNoun(&wants, "worker"), *e.Need.Max)
	}
	scalers := top.ScalingAutoscalers(n, observed.Autoscalers)
	switch {
	case len(scalers) > 1:
		add("%d HPAs scale it and block each other", len(scalers))
	case len(scalers) == 0 && required != nil && *required != uint64(max(0, e.Wanted)):
		add("no HPA scales it: spec.replicas stays %d until a user changes it", e.Wanted)
	case len(scalers) == 1 && e.Wanted == 0 && scaling.IsAsleep(scalers[0]):
		add("HPA %s is inactive at zero; %s", scalers[0].Name, describeWakeUp(n))
	}
	if e.Autoscaler != nil {
		for _, c := range e.Autoscaler.Conditions {
			limited := c.Type == "ScalingLimited" && c.Status == "True" && c.Reason != "TooFewReplicas"
			if limited || c.Status == "False" && (c.Type == "AbleToScale" || c.Type == "ScalingActive") &&
				c.Reason != "ScalingDisabled" {
				add("HPA %s: %s is %s, %s: %s", e.Autoscaler.Name, c.Type, c.Status, c.Reason, c.Message)
			}
		}
	}
	if e.Present < e.Wanted {
		add("%d of %d workers do not exist yet", e.Wanted-e.Present, e.Wanted)
	} else if e.Ready < e.Wanted {
		add("%d of %d workers are not ready", e.Wanted-e.Ready, e.Wanted)
	}
	return append(out, failingConditions(n)...)
}

// sumWanted returns what jobs need, regardless of the bounds.
func (e *Need) sumWanted() uint64 {
	var sum uint64
	for _, part := range []*uint64{e.Busy, e.Kept, e.Pending, e.Replacements} {
		if part != nil {
			sum += *part
		}
	}
	return sum
}

// describeWakeUp describes the operator's condition WakeUp of a NodeSet at zero.
func describeWakeUp(n *v1beta1.NodeSet) string {
	c := meta.FindStatusCondition(n.Status.Conditions, v1beta1.ConditionWakeUp)
	if c == nil {
		return "no operator reports that it wakes the NodeSet"
	}
	return "the operator reports: " + c.Message
}

// failingConditions describes the operator's conditions that report a fault or a wait.
func failingConditions(n *v1beta1.NodeSet) []string {
	var out []string
	for _, want := range []struct {
		kind   string
		status metav1.ConditionStatus
	}{
		{v1beta1.ConditionReady, metav1.ConditionFalse}, {v1beta1.ConditionReady, metav1.ConditionUnknown},
		{v1beta1.ConditionDraining, metav1.ConditionTrue}, {v1beta1.ConditionSubmittable, metav1.ConditionFalse},
	} {
		c := meta.FindStatusCondition(n.Status.Conditions, want.kind)
		if c != nil && c.Status == want.status {
			out = append(out, fmt.Sprintf("%s is %s, %s: %s", c.Type, c.Status, c.Reason, strings.TrimSpace(c.Message)))
		}
	}
	return out
}
