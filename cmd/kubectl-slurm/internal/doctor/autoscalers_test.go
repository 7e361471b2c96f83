package doctor

import (
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
)

// brokenAutoscalerCases are faults of HPAs and of the objects that they refer to.
func brokenAutoscalerCases() []brokenCase {
	gpu := Object{"NodeSet", "hpc", "gpu"}
	one := func(c Code) []Code { return []Code{c} }
	up := func(s *Observed) *autoscalingv2.HPAScalingRules { return s.Autoscalers[0].Spec.Behavior.ScaleUp }
	metric := func(s *Observed) *autoscalingv2.ObjectMetricSource { return s.Autoscalers[0].Spec.Metrics[0].Object }
	atZero := func(s *Observed) {
		s.NodeSets[0].Spec.Replicas = new(int32)
		setAsleep(&s.Autoscalers[0])
	}
	wakeUp := func(s *Observed, reason string) {
		s.NodeSets[0].Status.Conditions = []metav1.Condition{{Type: v1beta1.ConditionWakeUp, Status: "False",
			Reason: reason}}
	}
	return []brokenCase{
		{"no tolerance", func(s *Observed) { up(s).Tolerance = nil }, one(ToleranceMissing)},
		{"no behavior", func(s *Observed) { s.Autoscalers[0].Spec.Behavior = nil }, one(ToleranceMissing)},
		{"no tolerance with a maximum of ten workers",
			func(s *Observed) { up(s).Tolerance, s.Autoscalers[0].Spec.MaxReplicas = nil, 10 }, nil},
		{"only a Percent policy", func(s *Observed) { up(s).Policies[0].Type = autoscalingv2.PercentScalingPolicy },
			one(CannotLeaveZero)},
		{"the minimum of Percent and Pods policies", func(s *Observed) {
			up(s).SelectPolicy = ptr(autoscalingv2.MinChangePolicySelect)
			up(s).Policies = append(up(s).Policies,
				autoscalingv2.HPAScalingPolicy{Type: autoscalingv2.PercentScalingPolicy, Value: 100})
		}, one(CannotLeaveZero)},
		{"scaling up is switched off",
			func(s *Observed) { up(s).SelectPolicy = ptr(autoscalingv2.DisabledPolicySelect) }, one(CannotLeaveZero)},
		{"only a Percent policy with a minimum of 1", func(s *Observed) {
			up(s).Policies[0].Type, s.Autoscalers[0].Spec.MinReplicas = autoscalingv2.PercentScalingPolicy,
				ptr(int32(1))
		}, nil},
		{"a target of type Value", func(s *Observed) { metric(s).Target.Type = autoscalingv2.ValueMetricType },
			one(ValueTarget)},
		{"a missing NodeSet", func(s *Observed) {
			s.Autoscalers[0].Spec.ScaleTargetRef.Name = "cpu"
			metric(s).DescribedObject.Name = "cpu"
		}, one(TargetMissing)},
		{"an HPA of another kind",
			func(s *Observed) { s.Autoscalers[0].Spec.ScaleTargetRef.Kind, up(s).Tolerance = "Deployment", nil }, nil},
		{"asleep without a WakeUp condition", atZero, one(AsleepAtZero)},
		{"asleep without any condition of the HPA", func(s *Observed) {
			atZero(s)
			s.Autoscalers[0].Status.Conditions = nil
		}, one(AsleepAtZero)},
		{"asleep with an operator that knows no HPA",
			func(s *Observed) { atZero(s); wakeUp(s, v1beta1.ReasonNoAutoscaler) }, one(AsleepAtZero)},
		{"asleep with an operator that watches", func(s *Observed) { atZero(s); wakeUp(s, v1beta1.ReasonNotNeeded) },
			nil},
		{"asleep with a stopped operator", func(s *Observed) {
			atZero(s)
			wakeUp(s, v1beta1.ReasonNotNeeded)
			s.Operator.Leases = nil
		}, []Code{OperatorNotRunning, AsleepAtZero}},
		{"paused while jobs wait", func(s *Observed) { atZero(s); wakeUp(s, v1beta1.ReasonPaused) }, one(PausedAtZero)},
		{"paused without jobs", func(s *Observed) {
			atZero(s)
			wakeUp(s, v1beta1.ReasonPaused)
			s.Required[gpu] = Metric{}
		}, nil},
		{"scaled to zero by its HPA", func(s *Observed) {
			atZero(s)
			s.Autoscalers[0].Status.Conditions = append(s.Autoscalers[0].Status.Conditions,
				autoscalingv2.HorizontalPodAutoscalerCondition{Type: autoscalingv2.ScaledToZero,
					Status: corev1.ConditionTrue})
		}, nil},
		{"an HPA that fails", func(s *Observed) {
			setAsleep(&s.Autoscalers[0])
			s.Autoscalers[0].Status.Conditions[0].Reason = "FailedGetObjectMetric"
		}, one(AutoscalerFails)},
		{"an HPA that fails because there are no metrics", func(s *Observed) {
			setAsleep(&s.Autoscalers[0])
			s.Autoscalers[0].Status.Conditions[0].Reason = "FailedGetObjectMetric"
			s.Required[gpu] = Metric{Fault: Unavailable, Message: "x"}
		}, one(StaleSnapshot)},
		{"two HPAs", func(s *Observed) { s.Autoscalers = append(s.Autoscalers, newAutoscaler("twin", "gpu")) },
			one(SeveralAutoscalers)},
		{"the pods of another HPA", func(s *Observed) {
			setAsleep(&s.Autoscalers[0])
			s.Autoscalers[0].Status.Conditions[0].Reason = "AmbiguousSelector"
		}, one(SeveralAutoscalers)},
		{"a metric of another NodeSet", func(s *Observed) { metric(s).DescribedObject.Name = "cpu" },
			one(AmbiguousMetric)},
		{"a metric of all partitions of a cluster", func(s *Observed) {
			metric(s).DescribedObject.Kind, metric(s).DescribedObject.Name, metric(s).Metric.Name = "Cluster", "alpha",
				"slurm_partition_pending_jobs"
		}, one(AmbiguousMetric)},
		{"a metric of one partition of a cluster", func(s *Observed) {
			metric(s).DescribedObject.Kind, metric(s).Metric.Name = "Cluster", "slurm_partition_pending_jobs"
			metric(s).Metric.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"partition": "gpu"}}
		}, nil},
		{"a metric of the partitions of the NodeSet",
			func(s *Observed) { metric(s).Metric.Name = "slurm_partition_pending_jobs" }, nil},
		{"a selector of several partitions", func(s *Observed) {
			metric(s).Metric.Name = "slurm_partition_pending_jobs"
			metric(s).Metric.Selector = &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "partition", Operator: "In", Values: []string{"a", "b"}}}}
		}, one(AmbiguousMetric)},
		{"an external metric of all partitions", func(s *Observed) {
			s.Autoscalers[0].Spec.Metrics[0] = autoscalingv2.MetricSpec{Type: autoscalingv2.ExternalMetricSourceType,
				External: &autoscalingv2.ExternalMetricSource{
					Metric: autoscalingv2.MetricIdentifier{Name: "slurm_partition_pending_nodes"},
				}}
		}, one(AmbiguousMetric)},
		{"two NodeSets with the same pods", func(s *Observed) {
			addTwin(s, func(n *v1beta1.NodeSet) { n.Name, n.Spec.ClusterRef.Name = "b", "beta" })
		}, []Code{ClusterMissing, SharedWorkers}},
		{"two NodeSets of one name in one Slurm", func(s *Observed) {
			addTwin(s, func(n *v1beta1.NodeSet) { n.Namespace = "lab" })
			other := s.Clusters[0]
			other.Namespace = "lab"
			s.Clusters = append(s.Clusters, other)
		}, one(SharedWorkers)},
		{"a NodeSet with the feature of another", func(s *Observed) {
			addTwin(s, func(n *v1beta1.NodeSet) {
				n.Name, n.Status.Selector, n.Spec.ExtraConf = "b", "b", "CPUs=4 Features=gpu"
			})
		}, nil},
		{"two NodeSets that share nothing",
			func(s *Observed) { addTwin(s, func(n *v1beta1.NodeSet) { n.Name, n.Status.Selector = "b", "b" }) }, nil},
	}
}

// addTwin adds a second NodeSet that equals the first except for the change.
func addTwin(s *Observed, change func(n *v1beta1.NodeSet)) {
	s.NodeSets[0].Status.Selector = "app=gpu"
	second := s.NodeSets[0].DeepCopy()
	change(second)
	s.NodeSets = append(s.NodeSets, *second)
}
