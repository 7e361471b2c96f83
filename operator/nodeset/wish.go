package nodeset

import (
	"slices"
	"time"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation"
	corev1helpers "k8s.io/component-helpers/scheduling/corev1"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"
	"k8s.io/klog/v2"

	"github.com/slurmtide/slurmtide/operator/api/shape"
	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
	"github.com/slurmtide/slurmtide/operator/nodeset/plan"
	"github.com/slurmtide/slurmtide/operator/nodeset/render"
)

// desiredOf returns what the NodeSet specifies. A NodeSet with a problem desires the workers that
// it has, so that none is created and none is removed except by deletion.
func wishOf(now time.Time, s *seen, hpas []autoscalingv2.HorizontalPodAutoscaler) plan.Wish {
	spec := &s.nodeSet.Spec
	w := plan.Wish{
		Cluster: joinedCluster(s), Joins: s.cluster,
		UID: string(s.nodeSet.UID), Deleting: s.nodeSet.DeletionTimestamp != nil, Orphaning: orphaning(s.nodeSet, s.revisions),
		PerKubeNode: spec.ScalingMode == v1beta1.ScalingModeDaemonSet, Replicas: replicas(s.nodeSet),
		Max: maxOf(s.nodeSet, hpas), Prune: spec.PruneSlurmNodeRecords == v1beta1.PruneNodeNotFound,
		SlurmName: s.names.SlurmName, SlurmNameOn: s.slurmNameOn, Revision: s.revision.Hash,
		MinReady: time.Duration(spec.MinReadySeconds) * time.Second, Policy: policyOf(spec.DrainPolicy),
	}
	if w.Deleting {
		w.DeletingSince = s.nodeSet.DeletionTimestamp.Time
	}
	if s.problem.reason != "" {
		return frozen(w, s)
	}
	if w.PerKubeNode {
		w.KubeNodes = matching(s)
	}
	_, known := shape.Of(s.nodeSet)
	w.Records = known && w.SlurmName(0) != ""
	w.Update = updateOf(now, spec.UpdateStrategy, w.Desired())
	return w
}

// freezeDesired keeps the existing workers, because new ones cannot be rendered. Workers that were
// chosen for scale-in before are still removed.
func frozen(w plan.Wish, s *seen) plan.Wish {
	w.Max, w.Records, w.Update = nil, false, plan.Update{}
	w.Replicas = 0
	for i := range s.workers {
		if x := &s.workers[i]; x.Going.IsZero() && x.Note.Cause != v1beta1.CauseScaleIn {
			w.Replicas++
			w.KubeNodes = append(w.KubeNodes, x.Slot.KubeNode)
		}
	}
	slices.Sort(w.KubeNodes)
	w.KubeNodes = slices.Compact(w.KubeNodes)
	return w
}

// desiredReplicas returns how many workers there should be in scaling mode StatefulSet. The API
// server sets the default, one.
func replicas(n *v1beta1.NodeSet) int {
	if n.Spec.Replicas == nil {
		return 1
	}
	return int(max(0, *n.Spec.Replicas))
}

// maxWorkers returns the largest number of workers there may ever be: the smaller of the maxima of
// the NodeSet and its HPA, but at least the present replicas. It is nil if it is not known.
func maxOf(n *v1beta1.NodeSet, hpas []autoscalingv2.HorizontalPodAutoscaler) *int {
	most := askedMost(n, hpas)
	if most == nil {
		return nil
	}
	return new(max(min(int(*most), recordsAtMost), replicas(n)))
}

// maxRecords is how many records Slurm keeps for the workers of a NodeSet, unless it has more
// workers. Each record costs slurmctld and every reconciliation of the NodeSet.
const recordsAtMost = 10_000

// requestedMax returns the requested maximum. Of several HPAs the highest counts, so that records
// which one of them needs are not deleted because of another.
func askedMost(n *v1beta1.NodeSet, hpas []autoscalingv2.HorizontalPodAutoscaler) *int32 {
	var hpa *autoscalingv2.HorizontalPodAutoscaler
	for i := range hpas {
		if hpa == nil || hpas[i].Spec.MaxReplicas > hpa.Spec.MaxReplicas {
			hpa = &hpas[i]
		}
	}
	return shape.MaxReplicas(n, hpa)
}

func policyOf(p *v1beta1.DrainPolicy) plan.Policy {
	switch {
	case p == nil:
	case p.Type == v1beta1.DrainForce:
		return plan.Policy{Force: true}
	case p.Type == v1beta1.DrainTimeout && p.Timeout != nil:
		return plan.Policy{Timeout: p.Timeout.Duration}
	}
	return plan.Policy{}
}

// defaultMaxUnavailable is the share of workers that may be out of service if the NodeSet does not
// say.
const defaultUnavailable = "25%"

// updateOf returns how workers change. A share is rounded up and is at least one, unless it is
// zero: then no worker changes.
func updateOf(now time.Time, u v1beta1.NodeSetUpdateStrategy, desired int) plan.Update {
	out := plan.Update{Open: !u.Paused, MaxUnavailable: 1}
	limit := intstr.FromString(defaultUnavailable)
	if rolling := u.RollingUpdate; rolling != nil {
		if rolling.MaxUnavailable != nil {
			limit = *rolling.MaxUnavailable
		}
		if rolling.Partition != nil {
			out.Partition = int(*rolling.Partition)
		}
	}
	if n, err := intstr.GetScaledValueFromIntOrPercent(&limit, desired, true); err == nil {
		out.MaxUnavailable = max(1, n)
	}
	switch u.Type {
	case v1beta1.UpdateOnDelete:
		out.Open = false
	case v1beta1.UpdateScheduled:
		out.Open = out.Open && within(now, u.ScheduledUpdate)
		out.MaxUnavailable = max(1, desired) // the reservation keeps the nodes free
	default:
		out.Open = out.Open && !neverUpdates(u)
	}
	return out
}

// neverUpdates reports whether no worker may be out of service for an update.
func neverUpdates(u v1beta1.NodeSetUpdateStrategy) bool {
	if u.RollingUpdate == nil || u.RollingUpdate.MaxUnavailable == nil {
		return false
	}
	n, err := intstr.GetScaledValueFromIntOrPercent(u.RollingUpdate.MaxUnavailable, 100, true)
	return err == nil && n <= 0
}

// defaultScheduleDuration is the duration of a scheduled update that does not set one.
const defaultWindow = 30 * time.Minute

func within(now time.Time, s *v1beta1.ScheduledUpdate) bool {
	if s == nil || s.StartTime == nil {
		return false
	}
	return !now.Before(s.StartTime.Time) && now.Before(s.StartTime.Add(lengthOf(s)))
}

func lengthOf(s *v1beta1.ScheduledUpdate) time.Duration {
	if s.Duration == nil {
		return defaultWindow
	}
	return s.Duration.Duration
}

// slurmNameOn returns the name of the Slurm node of the worker on a Kubernetes node, or empty if
// that name is invalid.
func (s *seen) slurmNameOn(kubeNode string) string {
	id := render.Identity{KubeNode: kubeNode}
	if node := s.kubeNodes[kubeNode]; node != nil {
		id.Facts = render.FactsOf(node.Annotations)
	}
	name := s.names.Slurm(id)
	if len(validation.IsDNS1123Label(name)) > 0 {
		return ""
	}
	return name
}

// matchingKubeNodes returns the Kubernetes nodes that should have a worker in scaling mode
// DaemonSet.
func matching(s *seen) []string {
	var out []string
	for name, node := range s.kubeNodes {
		if fits(&s.template.Spec, node) {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return out
}

// canRunOn reports whether a pod may run on a Kubernetes node, by its node selector, its required
// node affinity and its tolerations. As with a DaemonSet, the node may be unschedulable or not
// ready.
func fits(spec *corev1.PodSpec, node *corev1.Node) bool {
	pod := &corev1.Pod{Spec: *spec}
	match, err := nodeaffinity.GetRequiredNodeAffinity(pod).Match(node)
	if err != nil || !match || node.DeletionTimestamp != nil {
		return false
	}
	_, untolerated := corev1helpers.FindMatchingUntoleratedTaint(klog.Background(), node.Spec.Taints, spec.Tolerations, func(t *corev1.Taint) bool {
		return t.Effect == corev1.TaintEffectNoSchedule || t.Effect == corev1.TaintEffectNoExecute
	}, false)
	return !untolerated
}
