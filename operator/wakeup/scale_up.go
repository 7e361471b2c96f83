package wakeup

import (
	"fmt"
	"math"
	"strings"
	"time"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
	"github.com/slurmtide/slurmtide/operator/scaling"
)

// An HPA evaluates its metrics every 15 s. With the annotation v1beta1.AnnotationScaleUp "immediate", the operator reads the demand
// each second and sets spec.replicas at once to what the HPA would set at its next evaluation. This file has the HPA's rules
// (kube-controller-manager, pkg/controller/podautoscaler; KEP-853 for the policies). Where they cannot be computed from outside,
// such as with a stabilization window, the HPA decides alone.

// defaultTolerance is --horizontal-pod-autoscaler-tolerance of kube-controller-manager by default.
const defaultTolerance = 0.1

// planScaleUp raises the replicas if the HPA would. Otherwise it returns otherwise with the parts that still apply: it looks again
// soon, and the condition has the reason why the HPA's number is unknown.
func (c Config) planScaleUp(now time.Time, s observation, otherwise actions) actions {
	if otherwise.replicas != nil || otherwise.needsDemand {
		return otherwise
	}
	hpa := &s.hpas[0]
	if scaling.SpecReplicas(s.nodeSet) == 0 && !scaling.HasScaledToZero(hpa) {
		return c.lookSoon(otherwise) // asleep, or paused
	}
	if why := whyUnpredictable(hpa); why != "" {
		return explainNoScaleUp(otherwise, why)
	}
	if s.demand == nil {
		return actions{needsDemand: true}
	}
	otherwise = c.lookSoon(explainNoScaleUp(otherwise, ""))
	required, why := c.knownDemand(now, s.demand)
	if why != "" {
		return otherwise // the HPA decides without demand
	}
	was := scaling.SpecReplicas(s.nodeSet)
	n, why := nextReplicas(now, hpa, s.nodeSet, required, s.changes)
	if why != "" {
		return explainNoScaleUp(otherwise, why)
	}
	if n <= was {
		return otherwise
	}
	message := fmt.Sprintf("HPA %s would set it from %d to %d at its next sync, since jobs need %d: done at once", hpa.Name, was, n,
		required)
	return actions{replicas: &n, requeueAfter: c.ScaleUpInterval,
		condition: &wakeUpCondition{metav1.ConditionTrue, v1beta1.ReasonScaledUp, message}}
}

// lookSoon returns actions after which the demand is read soon again.
func (c Config) lookSoon(a actions) actions {
	if a.requeueAfter == 0 || a.requeueAfter > c.ScaleUpInterval {
		a.requeueAfter = c.ScaleUpInterval
	}
	return a
}

const notAtOnce = "; it is not scaled up at once: "

// explainNoScaleUp adds to the condition the reason why the replicas are not raised at once, or removes it if why is empty.
func explainNoScaleUp(a actions, why string) actions {
	if c := a.condition; c != nil {
		message, _, _ := strings.Cut(c.message, notAtOnce) // it may repeat the last condition's
		a.condition = &wakeUpCondition{c.status, c.reason, message}
		if why != "" {
			a.condition.message += notAtOnce + why
		}
	}
	return a
}

// whyUnpredictable returns why the next decision of a NodeSet's HPA cannot be computed from outside, or an empty string.
func whyUnpredictable(hpa *autoscalingv2.HorizontalPodAutoscaler) string {
	if seen := hpa.Status.ObservedGeneration; seen == nil || *seen != hpa.Generation && hpa.Generation != 0 {
		return fmt.Sprintf("HPA %s has not been evaluated since it was changed", hpa.Name)
	}
	for _, kind := range []autoscalingv2.HorizontalPodAutoscalerConditionType{autoscalingv2.AbleToScale, autoscalingv2.ScalingActive} {
		if c := scaling.Condition(hpa, kind); c == nil || c.Status != corev1.ConditionTrue {
			return fmt.Sprintf("condition %s of HPA %s is not True", kind, hpa.Name)
		}
	}
	if scaling.RequiredNodesTarget(hpa) == 0 {
		return fmt.Sprintf("HPA %s has no Object metric %s of this NodeSet with an averageValue", hpa.Name, scaling.RequiredNodesMetric)
	}
	if rules := scaleUpRules(hpa); rules != nil {
		if rules.SelectPolicy != nil && *rules.SelectPolicy == autoscalingv2.DisabledPolicySelect {
			return fmt.Sprintf("HPA %s has scaleUp.selectPolicy Disabled", hpa.Name)
		}
		if w := rules.StabilizationWindowSeconds; w != nil && *w > 0 {
			return fmt.Sprintf("HPA %s has a scaleUp.stabilizationWindowSeconds of %d", hpa.Name, *w)
		}
	}
	return ""
}

func scaleUpRules(hpa *autoscalingv2.HorizontalPodAutoscaler) *autoscalingv2.HPAScalingRules {
	if hpa.Spec.Behavior == nil {
		return nil
	}
	return hpa.Spec.Behavior.ScaleUp
}

func scaleDownRules(hpa *autoscalingv2.HorizontalPodAutoscaler) *autoscalingv2.HPAScalingRules {
	if hpa.Spec.Behavior == nil {
		return nil
	}
	return hpa.Spec.Behavior.ScaleDown
}

// toleranceOf returns the tolerance of the rules, which may be nil.
func toleranceOf(rules *autoscalingv2.HPAScalingRules) float64 {
	if rules == nil || rules.Tolerance == nil {
		return defaultTolerance
	}
	return rules.Tolerance.AsApproximateFloat64()
}

// nextReplicas returns the replicas that an HPA would set if it were evaluated now, at least the present number, or the reason why
// they are unknown.
func nextReplicas(now time.Time, hpa *autoscalingv2.HorizontalPodAutoscaler, nodeSet *v1beta1.NodeSet, required int64,
	changes replicaChanges) (n int32, why string) {
	current, target := scaling.SpecReplicas(nodeSet), scaling.RequiredNodesTarget(hpa)
	usage := float64(required) * 1000 / float64(target)
	wanted := math.Ceil(usage)
	// Within the tolerance, the HPA keeps the current pods, including the workers that are being removed.
	if pods := float64(max(0, nodeSet.Status.Replicas)); pods > 0 && usage/pods >= 1-toleranceOf(scaleDownRules(hpa)) &&
		usage/pods <= 1+toleranceOf(scaleUpRules(hpa)) {
		wanted = pods
	}
	wanted = min(wanted, float64(*scaling.MaxReplicas(nodeSet, hpa)))
	if wanted <= float64(current) {
		return current, ""
	}
	// The NodeSet may be newer than the changes, which another goroutine notes.
	limit, isKnown := scaleUpLimit(now, hpa, current, changes.withReplicas(now, current))
	if !isKnown {
		return current, "the operator has not seen yet what changed within the periods of the scaleUp policies"
	}
	return max(current, int32(min(wanted, limit))), ""
}

// scaleUpLimit returns the most replicas that the policies of an HPA allow now. The HPA counts its own changes within their periods;
// all changes count here. isKnown is false while the process has not seen all of them.
func scaleUpLimit(now time.Time, hpa *autoscalingv2.HorizontalPodAutoscaler, current int32, changes replicaChanges) (
	limit float64, isKnown bool) {
	rules := scaleUpRules(hpa)
	if rules == nil || len(rules.Policies) == 0 {
		// Without behavior: twice as many, and at least four, at each sync. A scaleUp without policies gets
		// 100 % and four pods every 15 s, which is no less.
		before, isKnown := changes.replicasBefore(now, current, defaultPolicyPeriod)
		return max(2*before, 4), isKnown
	}
	takesLeast := rules.SelectPolicy != nil && *rules.SelectPolicy == autoscalingv2.MinChangePolicySelect
	isKnown = true
	for i, p := range rules.Policies {
		before, known := changes.replicasBefore(now, current, time.Duration(p.PeriodSeconds)*time.Second)
		isKnown = isKnown && known
		allowed := before + float64(p.Value)
		if p.Type == autoscalingv2.PercentScalingPolicy {
			allowed = math.Ceil(before * (1 + float64(p.Value)/100))
		}
		switch {
		case i == 0:
			limit = allowed
		case takesLeast:
			limit = min(limit, allowed)
		default:
			limit = max(limit, allowed)
		}
	}
	return limit, isKnown
}

// defaultPolicyPeriod is the period of the default policies, and the default sync period of HPAs.
const defaultPolicyPeriod = 15 * time.Second
