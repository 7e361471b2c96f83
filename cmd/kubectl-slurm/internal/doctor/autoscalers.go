package doctor

import (
	"strings"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
	"github.com/slurmtide/slurmtide/operator/scaling"
)

type podAutoscaler = autoscalingv2.HorizontalPodAutoscaler

// nodeSetAutoscalers returns the HPAs that scale NodeSets and are not being deleted.
func (observed *Observed) nodeSetAutoscalers() []*podAutoscaler {
	var out []*podAutoscaler
	for i := range observed.Autoscalers {
		if h := &observed.Autoscalers[i]; scaling.TargetsNodeSet(h) && h.DeletionTimestamp.IsZero() {
			out = append(out, h)
		}
	}
	return out
}

func hpaObject(h *podAutoscaler) Object {
	return Object{"HorizontalPodAutoscaler", h.Namespace, h.Name}
}

// scaleTarget returns the NodeSet that an HPA scales, or nil if it does not exist.
func (observed *Observed) scaleTarget(h *podAutoscaler) *v1beta1.NodeSet {
	for i := range observed.NodeSets {
		if n := &observed.NodeSets[i]; n.Namespace == h.Namespace && n.Name == h.Spec.ScaleTargetRef.Name {
			return n
		}
	}
	return nil
}

// checkEachAutoscaler returns the findings of of for all HPAs of NodeSets.
func (observed *Observed) checkEachAutoscaler(of func(h *podAutoscaler) (Finding, bool)) []Finding {
	var out []Finding
	for _, h := range observed.nodeSetAutoscalers() {
		if f, is := of(h); is {
			out = append(out, f)
		}
	}
	return out
}

func patchCommand(h *podAutoscaler, kind, text string) string {
	return "kubectl -n " + h.Namespace + " patch hpa " + h.Name + " --type=" + kind + " -p " + quoteShell(text)
}

// quoteShell quotes a word for a shell.
func quoteShell(s string) string {
	if s != "" && strings.IndexFunc(s, func(r rune) bool {
		return !strings.ContainsRune("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.:/@", r)
	}) < 0 {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// toleratedWorkers is the number of workers from which on one more worker is within the default
// tolerance of 10 %.
const toleratedWorkers = 10

// checkTolerance finds HPAs that ignore small changes.
func checkTolerance(observed *Observed) []Finding {
	return observed.checkEachAutoscaler(func(h *podAutoscaler) (Finding, bool) {
		b := h.Spec.Behavior
		if h.Spec.MaxReplicas <= toleratedWorkers || b != nil && b.ScaleUp != nil && b.ScaleUp.Tolerance != nil {
			return Finding{}, false
		}
		return newFinding(ToleranceMissing, hpaObject(h),
			"it has no behavior.scaleUp.tolerance: it ignores differences of less than 10 %%, such as from 50 to 54 "+
				"workers").
			withCure("set both tolerances to 0").
			withCommand("%s", patchCommand(h, "merge",
				`{"spec":{"behavior":{"scaleUp":{"tolerance":"0"},"scaleDown":{"tolerance":"0"}}}}`)), true
	})
}

// checkLeavesZero finds HPAs without a policy that adds workers at zero.
func checkLeavesZero(observed *Observed) []Finding {
	return observed.checkEachAutoscaler(func(h *podAutoscaler) (Finding, bool) {
		if h.Spec.Behavior == nil || h.Spec.Behavior.ScaleUp == nil || !canBeAtZero(h, observed.scaleTarget(h)) {
			return Finding{}, false
		}
		why := whyStuckAtZero(h.Spec.Behavior.ScaleUp)
		if why == "" {
			return Finding{}, false
		}
		return newFinding(CannotLeaveZero, hpaObject(h), "%s", why).
			withCure("add a scale-up policy of type Pods").
			withCommand("%s", patchCommand(h, "merge",
				`{"spec":{"behavior":{"scaleUp":{"selectPolicy":"Max","policies":[{"type":"Pods","value":100,"periodSeconds":15}]}}}}`)), true
	})
}

func canBeAtZero(h *podAutoscaler, n *v1beta1.NodeSet) bool {
	if h.Spec.MinReplicas != nil && *h.Spec.MinReplicas == 0 {
		return true
	}
	return n != nil && (scaling.DesiredReplicas(n) == 0 || n.Annotations[v1beta1.AnnotationZeroAfter] != "")
}

// whyStuckAtZero says why a rule never leaves zero. It is empty if the rule does. The API server
// adds default policies if there are none.
func whyStuckAtZero(r *autoscalingv2.HPAScalingRules) string {
	percents, pods := 0, 0
	for _, p := range r.Policies {
		if p.Type == autoscalingv2.PercentScalingPolicy {
			percents++
		} else {
			pods++
		}
	}
	by := autoscalingv2.MaxChangePolicySelect
	if r.SelectPolicy != nil {
		by = *r.SelectPolicy
	}
	switch {
	case by == autoscalingv2.DisabledPolicySelect:
		return "its behavior.scaleUp.selectPolicy is Disabled: it never scales up"
	case percents > 0 && pods == 0:
		return "its behavior.scaleUp has only policies of type Percent: any share of zero is zero"
	case percents > 0 && by == autoscalingv2.MinChangePolicySelect:
		return "its behavior.scaleUp selects the minimum of its policies, and any share of zero is zero"
	}
	return ""
}

// checkTargets finds HPAs whose NodeSet does not exist.
func checkTargets(observed *Observed) []Finding {
	if !observed.Read[NodeSets] {
		return nil
	}
	return observed.checkEachAutoscaler(func(h *podAutoscaler) (Finding, bool) {
		if observed.scaleTarget(h) != nil {
			return Finding{}, false
		}
		return newFinding(TargetMissing, hpaObject(h), "it scales NodeSet %s, which does not exist",
			h.Spec.ScaleTargetRef.Name).
			withCure("create the NodeSet or delete the HPA").
			withCommand("kubectl -n %s delete hpa %s", h.Namespace, h.Name), true
	})
}

// checkAsleepAtZero finds NodeSets at zero that nothing wakes although jobs may wait.
func checkAsleepAtZero(observed *Observed) []Finding {
	return observed.checkEachAutoscaler(func(h *podAutoscaler) (Finding, bool) {
		n := observed.scaleTarget(h)
		if n == nil || scaling.DesiredReplicas(n) != 0 || !scaling.IsAsleep(h) {
			return Finding{}, false
		}
		wake := "kubectl -n " + n.Namespace + " scale nodesets.slinky.slurm.net " + n.Name + " --replicas=1"
		c := meta.FindStatusCondition(n.Status.Conditions, v1beta1.ConditionWakeUp)
		required := observed.Required[nodeSetObject(n)]
		switch {
		case c == nil || c.Reason == v1beta1.ReasonNoAutoscaler || len(checkOperator(observed)) > 0:
			return newFinding(AsleepAtZero, nodeSetObject(n),
				"it is at zero, HPA %s is inactive there (%s), and no operator wakes it", h.Name, describeSleep(h)).
				withCure("run slurm-operator with its reconciler wakeup, or scale the NodeSet to 1 manually").
				withCommand("%s", wake), true
		case c.Reason == v1beta1.ReasonPaused && required.Fault == NoFault && required.Number > 0:
			return newFinding(PausedAtZero, nodeSetObject(n),
				"jobs need %d of its workers, but it was manually scaled to zero",
				required.Number).
				withCure("scale it to 1; its HPA then takes over").withCommand("%s", wake), true
		}
		return Finding{}, false
	})
}

// describeSleep says what shows that an HPA is asleep.
func describeSleep(h *podAutoscaler) string {
	if c := scaling.Condition(h, autoscalingv2.ScalingActive); c != nil {
		return "ScalingActive=False, " + c.Reason
	}
	return "no condition ScalingActive yet"
}

// checkFailing finds HPAs that cannot scale for a reason that no other check reports.
func checkFailing(observed *Observed) []Finding {
	return observed.checkEachAutoscaler(func(h *podAutoscaler) (Finding, bool) {
		n := observed.scaleTarget(h)
		if n == nil || observed.isExplained(n) {
			return Finding{}, false
		}
		for _, of := range []autoscalingv2.HorizontalPodAutoscalerConditionType{autoscalingv2.AbleToScale,
			autoscalingv2.ScalingActive} {
			c := scaling.Condition(h, of)
			if c == nil || c.Status != corev1.ConditionFalse || c.Reason == "ScalingDisabled" ||
				c.Reason == "AmbiguousSelector" {
				continue
			}
			return newFinding(AutoscalerFails, hpaObject(h), "%s is False, %s: %s", c.Type, c.Reason, c.Message).
				withCure("start from an HPA of docs/examples/hpa").
				withCommand("kubectl -n %s describe hpa %s", h.Namespace, h.Name), true
		}
		return Finding{}, false
	})
}

// isExplained reports whether another check explains why the NodeSet's metrics are missing.
func (observed *Observed) isExplained(n *v1beta1.NodeSet) bool {
	return !observed.isServed(MetricsServiceV1beta2) || observed.Required[nodeSetObject(n)].Fault != NoFault
}
