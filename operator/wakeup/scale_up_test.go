package wakeup

import (
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
	"github.com/slurmtide/slurmtide/operator/scaling"
)

// withScaleUp makes the NodeSet due for a scale-up: it has had two replicas for an hour, and the chart's HPA, which is
// evaluated.
func withScaleUp(s *observation) {
	withReplicas(2)(s)
	withAnnotation(v1beta1.AnnotationScaleUp, v1beta1.ScaleUpImmediate)(s)
	s.nodeSet.Status.Replicas = 2
	s.changes = replicaChanges{since: now.Add(-time.Hour), last: 2}
	hpa := &s.hpas[0]
	hpa.Generation, hpa.Status.ObservedGeneration = 3, new(int64(3))
	hpa.Spec.Metrics = []autoscalingv2.MetricSpec{requiredNodes()}
	hpa.Spec.Behavior = &autoscalingv2.HorizontalPodAutoscalerBehavior{ScaleUp: &autoscalingv2.HPAScalingRules{
		StabilizationWindowSeconds: new(int32), Tolerance: new(resource.MustParse("0")),
		Policies: []autoscalingv2.HPAScalingPolicy{{Type: autoscalingv2.PodsScalingPolicy, Value: 100, PeriodSeconds: 15}}}}
	withHPACondition(autoscalingv2.AbleToScale, corev1.ConditionTrue, "ReadyForNewScale")(s)
	withHPACondition(autoscalingv2.ScalingActive, corev1.ConditionTrue, "ValidMetricFound")(s)
}

// requiredNodes returns the metric of the required nodes of NodeSet "gpu".
func requiredNodes() autoscalingv2.MetricSpec {
	return autoscalingv2.MetricSpec{Type: autoscalingv2.ObjectMetricSourceType, Object: &autoscalingv2.ObjectMetricSource{
		DescribedObject: autoscalingv2.CrossVersionObjectReference{APIVersion: "slinky.slurm.net/v1beta1", Kind: "NodeSet", Name: "gpu"},
		Metric:          autoscalingv2.MetricIdentifier{Name: scaling.RequiredNodesMetric},
		Target: autoscalingv2.MetricTarget{Type: autoscalingv2.AverageValueMetricType,
			AverageValue: new(resource.MustParse("1"))}}}
}

// withRules changes scaleUp of the HPA.
func withRules(change func(*autoscalingv2.HPAScalingRules)) option {
	return func(s *observation) { change(s.hpas[0].Spec.Behavior.ScaleUp) }
}

func withPolicies(p ...autoscalingv2.HPAScalingPolicy) option {
	return withRules(func(r *autoscalingv2.HPAScalingRules) { r.Policies = p })
}

// withRunning lets n workers run, also those that leave.
func withRunning(n int32) option { return func(s *observation) { s.nodeSet.Status.Replicas = n } }

func withoutBehavior(s *observation) { s.hpas[0].Spec.Behavior = nil }

// withChange adds a change of the replicas.
func withChange(by int32, ago time.Duration) option {
	return func(s *observation) { s.changes.all = append(s.changes.all, replicaChange{now.Add(-ago), by}) }
}

func withMetric(change func(*autoscalingv2.ObjectMetricSource)) option {
	return func(s *observation) { change(s.hpas[0].Spec.Metrics[0].Object) }
}

func TestReplicasAreRaisedToWhatTheHPAWouldSet(t *testing.T) {
	pods := func(n, seconds int32) autoscalingv2.HPAScalingPolicy {
		return autoscalingv2.HPAScalingPolicy{Type: autoscalingv2.PodsScalingPolicy, Value: n, PeriodSeconds: seconds}
	}
	percent := func(n, seconds int32) autoscalingv2.HPAScalingPolicy {
		return autoscalingv2.HPAScalingPolicy{Type: autoscalingv2.PercentScalingPolicy, Value: n, PeriodSeconds: seconds}
	}
	takesLeast := withRules(func(r *autoscalingv2.HPAScalingRules) { r.SelectPolicy = new(autoscalingv2.MinChangePolicySelect) })
	seen := func(s *observation) { s.changes.last = *s.nodeSet.Spec.Replicas }
	many := func(s *observation) { s.hpas[0].Spec.MaxReplicas = 1000 }
	for _, tc := range []struct {
		name     string
		options  []option
		required int64
		want     int32 // 0 if they stay
		why      string
	}{
		{name: "to what jobs need", required: 7, want: 7},
		{name: "not to fewer", required: 1},
		{name: "not to the same", required: 2},
		{name: "not above the maximum of the HPA", required: 70, want: 10},
		{name: "not above that of the NodeSet", options: []option{func(s *observation) { s.nodeSet.Spec.MaxReplicas = new(int32(4)) }},
			required: 70, want: 4},
		{name: "by the value of the metric's target", options: []option{withMetric(func(m *autoscalingv2.ObjectMetricSource) {
			m.Target.AverageValue = new(resource.MustParse("2"))
		})}, required: 7, want: 4},
		{name: "not within the tolerance", options: []option{withReplicas(100), withRunning(100), seen, many,
			withRules(func(r *autoscalingv2.HPAScalingRules) { r.Tolerance = nil })}, required: 109},
		{name: "beyond the tolerance", options: []option{withReplicas(100), withRunning(100), seen, many,
			withRules(func(r *autoscalingv2.HPAScalingRules) { r.Tolerance = nil })}, required: 111, want: 111},
		{name: "to what runs, with the workers that leave", options: []option{withRunning(10)}, required: 10, want: 10},
		{name: "to what runs, within the tolerance", options: []option{withRunning(10)}, required: 9, want: 10},
		{name: "to what jobs need, below the tolerance", options: []option{withRunning(10)}, required: 8, want: 8},
		{name: "by the tolerance of scaleDown below what runs", options: []option{withRunning(10), func(s *observation) {
			s.hpas[0].Spec.Behavior.ScaleDown = &autoscalingv2.HPAScalingRules{Tolerance: new(resource.MustParse("0"))}
		}}, required: 9, want: 9},
		{name: "what was added and not noted yet counts", options: []option{withPolicies(pods(2, 60)), withReplicas(4), withRunning(4)},
			required: 9},
		{name: "as its policy allows", options: []option{withPolicies(pods(3, 60))}, required: 9, want: 5},
		{name: "less what was added in its period", options: []option{withPolicies(pods(3, 60)), withChange(2, 50*time.Second)},
			required: 9, want: 3},
		{name: "not what was added before", options: []option{withPolicies(pods(3, 60)), withChange(2, time.Minute)},
			required: 9, want: 5},
		{name: "what was removed may be added", options: []option{withPolicies(pods(3, 60)), withChange(-2, 5*time.Second)},
			required: 9, want: 7},
		{name: "none is left in the period", options: []option{withPolicies(pods(1, 60)), withChange(2, 50*time.Second)}, required: 9},
		{name: "by the larger of two policies", options: []option{withPolicies(pods(1, 15), percent(250, 15))}, required: 9, want: 7},
		{name: "by the smaller of two policies", options: []option{withPolicies(pods(1, 15), percent(250, 15)), takesLeast},
			required: 9, want: 3},
		{name: "without behavior, to four", options: []option{withoutBehavior}, required: 9, want: 4},
		{name: "without behavior, to twice as many", options: []option{withoutBehavior, withReplicas(5), seen}, required: 11, want: 10},
		{name: "without behavior, once per sync", options: []option{withoutBehavior, withReplicas(4), seen, withChange(2, time.Second)},
			required: 9},
		{name: "from a zero of the HPA", options: []option{withReplicas(0), seen, withAwakeHPA, withClaim,
			func(s *observation) { s.nodeSet.Status.Replicas = 0 }}, required: 7, want: 7},
		{name: "not from a pause", options: []option{withReplicas(0), withoutOwner}, required: 7},
		{name: "not against the annotation wake", options: []option{withAnnotation(v1beta1.AnnotationWake, v1beta1.WakeNever)},
			required: 7},
		{name: "not with two HPAs", options: []option{func(s *observation) { s.hpas = append(s.hpas, *newHPA("other")) }}, required: 7},
		{name: "beside other metrics", options: []option{func(s *observation) {
			s.hpas[0].Spec.Metrics = append([]autoscalingv2.MetricSpec{{Type: autoscalingv2.ExternalMetricSourceType,
				External: &autoscalingv2.ExternalMetricSource{}}}, s.hpas[0].Spec.Metrics...)
		}}, required: 7, want: 7},
		{name: "not while the policies are disabled", required: 7, why: "selectPolicy Disabled",
			options: []option{withRules(func(r *autoscalingv2.HPAScalingRules) {
				r.SelectPolicy = new(autoscalingv2.DisabledPolicySelect)
			})}},
		{name: "not with a stabilization window", required: 7, why: "stabilizationWindowSeconds of 30",
			options: []option{withRules(func(r *autoscalingv2.HPAScalingRules) { r.StabilizationWindowSeconds = new(int32(30)) })}},
		{name: "not by a ratio", required: 7, why: "no Object metric",
			options: []option{withMetric(func(m *autoscalingv2.ObjectMetricSource) { m.Target.Type = autoscalingv2.ValueMetricType })}},
		{name: "not by a selection", required: 7, why: "no Object metric", options: []option{withoutMetrics}},
		{name: "not of another NodeSet", required: 7, why: "no Object metric",
			options: []option{withMetric(func(m *autoscalingv2.ObjectMetricSource) { m.DescribedObject.Name = "cpu" })}},
		{name: "not while the HPA has no metrics", required: 7, why: "ScalingActive",
			options: []option{withHPACondition(autoscalingv2.ScalingActive, corev1.ConditionFalse, "FailedGetObjectMetric")}},
		{name: "not while the HPA cannot scale", required: 7, why: "AbleToScale",
			options: []option{withHPACondition(autoscalingv2.AbleToScale, corev1.ConditionFalse, "FailedGetScale")}},
		{name: "not before the HPA is evaluated with its latest spec", required: 7, why: "has not been evaluated",
			options: []option{func(s *observation) { s.hpas[0].Generation++ }}},
		{name: "not before the periods of the policies were seen", required: 7, why: "has not seen yet",
			options: []option{func(s *observation) { s.changes.since = now.Add(-10 * time.Second) }}},
		{name: "not on stale demand", required: 7, options: []option{func(s *observation) { s.demand.at = now.Add(-time.Hour) }}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := newObservation(append([]option{withScaleUp, withDemand(tc.required, 0)}, tc.options...)...)
			d := DefaultConfig().plan(now, s)
			var got int32
			if d.replicas != nil {
				got = *d.replicas
			}
			if got != tc.want {
				t.Errorf("they become %d, not %d: %+v", got, tc.want, d.condition)
			}
			if tc.why != "" && (d.condition == nil || !strings.Contains(d.condition.message, notAtOnce) ||
				!strings.Contains(d.condition.message, tc.why)) {
				t.Errorf("the condition is %+v", d.condition)
			}
		})
	}
}

func withoutMetrics(s *observation) { s.hpas[0].Spec.Metrics = nil }

// TestTheReasonNotToScaleUpIsToldOnce: the message of the last condition may have it.
func TestTheReasonNotToScaleUpIsToldOnce(t *testing.T) {
	s := newObservation(withScaleUp, withDemand(7, 0), withoutMetrics,
		withWakeUpCondition("True", v1beta1.ReasonScaledUp, "set from 1 to 2"+notAtOnce+"an older reason"))
	d := DefaultConfig().plan(now, s)
	if m := d.condition.message; strings.Count(m, notAtOnce) != 1 || !strings.HasPrefix(m, "set from 1 to 2; ") {
		t.Errorf("the message is %q", m)
	}
	withScaleUp(&s)
	if m := DefaultConfig().plan(now, newObservation(withScaleUp, withDemand(2, 0), withWakeUpCondition("True", v1beta1.ReasonScaledUp,
		"set from 1 to 2"+notAtOnce+"an older reason"))).condition.message; m != "set from 1 to 2" {
		t.Errorf("the message is %q", m)
	}
}

// TestTheRateOfThePoliciesIsKept: for any demand, replicas rise by no more than a policy allows in any of its periods.
func TestTheRateOfThePoliciesIsKept(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	cfg := DefaultConfig()
	for range 200 {
		value, period := int32(1+r.IntN(5)), time.Duration(1+r.IntN(60))*time.Second
		s := newObservation(withScaleUp, withPolicies(autoscalingv2.HPAScalingPolicy{Type: autoscalingv2.PodsScalingPolicy,
			Value: value, PeriodSeconds: int32(period / time.Second)}))
		s.hpas[0].Spec.MaxReplicas = 1000
		type point struct {
			at time.Time
			n  int32
		}
		var points []point
		at, raised := now, 0
		for range 100 {
			at = at.Add(time.Duration(r.IntN(5000)) * time.Millisecond)
			s.demand = &demandReading{required: int64(r.IntN(100)), at: at}
			if d := cfg.plan(at, s); d.replicas != nil {
				raised++
				withReplicas(*d.replicas)(&s)
				s.changes = s.changes.withReplicas(at, *d.replicas)
			}
			n := scaling.SpecReplicas(s.nodeSet)
			for _, before := range points {
				if at.Sub(before.at) < period && n-before.n > value {
					t.Fatalf("%d became %d within %v, with %d allowed in %v", before.n, n, at.Sub(before.at), value, period)
				}
			}
			points = append(points, point{at, n})
		}
		if raised == 0 {
			t.Fatal("nothing was ever raised")
		}
	}
}
