package doctor

import (
	"fmt"
	"slices"
	"strings"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
	"github.com/slurmtide/slurmtide/operator/scaling"
)

// checkSeveralAutoscalers finds NodeSets that several HPAs scale, and HPAs whose pods another HPA
// also selects.
func checkSeveralAutoscalers(observed *Observed) []Finding {
	var out []Finding
	scaled := map[Object][]string{}
	for _, h := range observed.nodeSetAutoscalers() {
		on := Object{v1beta1.KindNodeSet, h.Namespace, h.Spec.ScaleTargetRef.Name}
		scaled[on] = append(scaled[on], h.Name)
	}
	for _, h := range observed.nodeSetAutoscalers() {
		on := Object{v1beta1.KindNodeSet, h.Namespace, h.Spec.ScaleTargetRef.Name}
		names := scaled[on]
		slices.Sort(names)
		if len(names) > 1 && h.Name == names[0] {
			out = append(out, newFinding(SeveralAutoscalers, on, "several HPAs scale it and block each other: %s",
				strings.Join(names, ", ")).
				withCure("keep only one of them").
				withCommand("kubectl -n %s delete hpa %s", h.Namespace, strings.Join(names[1:], " ")))
			continue
		}
		c := scaling.Condition(h, autoscalingv2.ScalingActive)
		if len(names) == 1 && c != nil && c.Status == corev1.ConditionFalse && c.Reason == "AmbiguousSelector" {
			out = append(out, newFinding(SeveralAutoscalers, hpaObject(h), "%s: %s", c.Reason, c.Message).
				withCure("give each NodeSet one HPA and its own labels"))
		}
	}
	return out
}

// checkSharedWorkers finds NodeSets that select the same pods or own the same Slurm nodes.
func checkSharedWorkers(observed *Observed) []Finding {
	var out []Finding
	for i := range observed.NodeSets {
		for k := range observed.NodeSets[:i] {
			a, b := &observed.NodeSets[k], &observed.NodeSets[i]
			if why, cure := observed.whyShared(a, b); why != "" {
				out = append(out, newFinding(SharedWorkers, nodeSetObject(b), "it and NodeSet %s/%s %s", a.Namespace,
					a.Name,
					why).withCure("%s", cure))
			}
		}
	}
	return out
}

func (observed *Observed) whyShared(a, b *v1beta1.NodeSet) (why, cure string) {
	if a.Namespace == b.Namespace && a.Status.Selector != "" && a.Status.Selector == b.Status.Selector {
		return "select the same pods", "give one of them another name"
	}
	if !observed.joinSameSlurm(a, b) {
		return "", ""
	}
	if a.Name == b.Name {
		return "have the same name in one Slurm cluster, so they share nodes, feature and partition",
			"give one of them another name"
	}
	return "", ""
}

// joinSameSlurm reports whether two NodeSets join the same Slurm cluster, by name or by address.
func (observed *Observed) joinSameSlurm(a, b *v1beta1.NodeSet) bool {
	kindA, nameA := clusterOf(a)
	kindB, nameB := clusterOf(b)
	if a.Namespace == b.Namespace {
		if kindA == kindB && nameA == nameB && nameA != "" {
			return true
		}
	}
	serverA, serverB := observed.serverAddress(kindA, a.Namespace, nameA),
		observed.serverAddress(kindB, b.Namespace, nameB)
	return serverA != "" && serverA == serverB
}

// serverAddress returns the address of a Cluster, empty for anything else.
func (observed *Observed) serverAddress(kind, namespace, name string) string {
	for _, c := range observed.Clusters {
		if kind == v1beta1.KindCluster && c.Namespace == namespace && c.Name == name {
			return strings.TrimSuffix(c.Spec.Server, "/")
		}
	}
	return ""
}

// checkAmbiguousMetrics finds HPAs with metrics that count several things, or another NodeSet.
func checkAmbiguousMetrics(observed *Observed) []Finding {
	return observed.checkEachAutoscaler(func(h *podAutoscaler) (Finding, bool) {
		for _, m := range h.Spec.Metrics {
			if why, cure := ambiguousMetric(h, m); why != "" {
				return newFinding(AmbiguousMetric, hpaObject(h), "%s", why).withCure("%s", cure), true
			}
		}
		return Finding{}, false
	})
}

func ambiguousMetric(h *podAutoscaler, m autoscalingv2.MetricSpec) (why, cure string) {
	name := h.Spec.ScaleTargetRef.Name
	ofPartitions := func(metric autoscalingv2.MetricIdentifier) bool {
		return strings.HasPrefix(metric.Name, "slurm_partition_") && !namesOnePartition(metric.Selector)
	}
	onePartitionCure := "name one partition in metric.selector.matchLabels.partition, or use " +
		"slurm_nodeset_required_nodes of the NodeSet"
	switch {
	case m.Type == autoscalingv2.ExternalMetricSourceType && m.External != nil && ofPartitions(m.External.Metric):
		return fmt.Sprintf("its external metric %s matches several partitions, and the HPA sums them",
			m.External.Metric.Name), onePartitionCure
	case m.Type != autoscalingv2.ObjectMetricSourceType || m.Object == nil:
		return "", ""
	}
	of := m.Object.DescribedObject
	switch {
	case of.Kind == v1beta1.KindNodeSet && of.Name != name:
		return fmt.Sprintf("it scales NodeSet %[3]s by metric %[1]s of NodeSet %[2]s", m.Object.Metric.Name, of.Name,
				name),
			"set describedObject to the NodeSet that the HPA scales"
	case ofPartitions(m.Object.Metric) &&
		(of.Kind != v1beta1.KindNodeSet || namesSeveralPartitions(m.Object.Metric.Selector)):
		return fmt.Sprintf("its metric %s of %s %s matches several partitions, which other workers may serve",
			m.Object.Metric.Name, of.Kind, of.Name), onePartitionCure
	}
	return "", ""
}

// namesOnePartition reports whether a selector names exactly one partition.
func namesOnePartition(s *metav1.LabelSelector) bool {
	if s == nil {
		return false
	}
	if s.MatchLabels["partition"] != "" {
		return true
	}
	return slices.ContainsFunc(s.MatchExpressions, func(r metav1.LabelSelectorRequirement) bool {
		return r.Key == "partition" && r.Operator == metav1.LabelSelectorOpIn && len(r.Values) == 1
	})
}

// namesSeveralPartitions reports whether a selector has a condition on partitions that does not
// name exactly one.
func namesSeveralPartitions(s *metav1.LabelSelector) bool {
	return s != nil && slices.ContainsFunc(s.MatchExpressions,
		func(r metav1.LabelSelectorRequirement) bool { return r.Key == "partition" }) && !namesOnePartition(s)
}

// checkValueTargets finds metrics that the HPA multiplies by the number of ready workers.
func checkValueTargets(observed *Observed) []Finding {
	return observed.checkEachAutoscaler(func(h *podAutoscaler) (Finding, bool) {
		for i, m := range h.Spec.Metrics {
			if m.Type != autoscalingv2.ObjectMetricSourceType || m.Object == nil ||
				m.Object.Target.Type != autoscalingv2.ValueMetricType {
				continue
			}
			return newFinding(ValueTarget, hpaObject(h),
				"its metric %s has a target of type Value: the HPA multiplies it by the number of ready workers, "+
					"which stays zero at zero", m.Object.Metric.Name).
				withCure("use a target of type AverageValue").
				withCommand("%s", patchCommand(h, "json",
					fmt.Sprintf(`[{"op":"replace","path":"/spec/metrics/%d/object/target","value":{"type":"AverageValue","averageValue":"1"}}]`, i))), true
		}
		return Finding{}, false
	})
}
