// Package desired computes the desired state of a NodeSet from its spec and its HPAs. It is pure.
package desired

import (
	"cmp"
	"slices"
	"sort"
	"strings"
	"time"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation"
	corev1helpers "k8s.io/component-helpers/scheduling/corev1"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"
	"k8s.io/klog/v2"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
	"github.com/slurmtide/slurmtide/operator/names"
	"github.com/slurmtide/slurmtide/operator/nodeset/plan"
	"github.com/slurmtide/slurmtide/operator/nodeset/render"
	"github.com/slurmtide/slurmtide/operator/scaling"
	"github.com/slurmtide/slurmtide/operator/shape"
)

// Observation is the input for the desired state of a NodeSet.
type Observation struct {
	NodeSet *v1beta1.NodeSet
	// ClusterName is Slurm's own name of the cluster that the workers joined; ClusterRef is the name of the
	// Controller or Cluster.
	ClusterName, ClusterRef string
	// Orphaning means that the NodeSet is deleted and leaves its workers.
	Orphaning bool
	// Frozen means that workers cannot be rendered. AwaitsGRES means that slurmctld does not know their kinds of GRES yet.
	Frozen         bool
	AwaitsGRES     bool
	Names          names.Workers
	Template       corev1.PodTemplateSpec
	Revision       render.Revision
	ClaimRetention plan.ClaimRetention
	KubeNodes      map[string]*corev1.Node
	Workers        []plan.Worker
	// ReservedNames are the owners of the names that no worker gets, by name.
	ReservedNames map[string]string
}

// Of returns the desired state of a NodeSet. A NodeSet with a problem desires its current workers, so that none is created and none is
// removed except by deletion.
func Of(now time.Time, s *Observation, hpas []autoscalingv2.HorizontalPodAutoscaler) plan.Desired {
	spec := &s.NodeSet.Spec
	w := plan.Desired{
		ClusterName: s.ClusterName, ClusterRef: s.ClusterRef,
		RecordedCluster: s.NodeSet.Annotations[v1beta1.AnnotationSlurmCluster],
		Namespace:       s.NodeSet.Namespace, Name: s.NodeSet.Name, UID: string(s.NodeSet.UID),
		ScheduledUpdate: scheduledUpdateOf(spec.UpdateStrategy),
		CordonKubeNodes: spec.CordonKubeNodes, Deleting: s.NodeSet.DeletionTimestamp != nil,
		Orphaning:   s.Orphaning,
		PerKubeNode: spec.ScalingMode == v1beta1.ScalingModeDaemonSet, Replicas: replicasOf(s.NodeSet),
		MaxWorkers: maxWorkers(s.NodeSet, hpas), PruneRecords: spec.PruneSlurmNodeRecords == v1beta1.PruneNodeNotFound,
		SlurmName: s.Names.SlurmName, SlurmNameOn: s.slurmNameOn, Revision: s.Revision.Hash,
		RevisionName: s.Revision.Name, RevisionHistoryLimit: int(spec.RevisionHistoryLimit),
		MinReady: time.Duration(spec.MinReadySeconds) * time.Second, DrainPolicy: drainPolicyOf(spec.DrainPolicy),
		ClaimRetention: s.ClaimRetention, ReservedNames: s.ReservedNames,
	}
	w.HoldsWorkers = s.AwaitsGRES || len(s.Workers) == 0 && scaling.AwaitsBeginning(s.NodeSet, hpas, now)
	if w.Deleting {
		w.DeletingSince = s.NodeSet.DeletionTimestamp.Time
	}
	if s.Frozen {
		return freezeDesired(w, s)
	}
	if w.PerKubeNode {
		w.KubeNodes = matchingKubeNodes(s)
	}
	_, known := shape.OfNodeSet(s.NodeSet)
	w.CanCreateRecords = known && w.SlurmName(0) != ""
	w.Update = updateOf(now, spec.UpdateStrategy, w.WorkerCount())
	w.Update.Allowed = w.Update.Allowed && !s.AwaitsGRES // an outdated worker would not be replaced
	if w.MaxWorkers != nil && !w.PerKubeNode {
		*w.MaxWorkers = countValidOrdinals(s.Names, w.Update.Partition, *w.MaxWorkers)
	}
	return w
}

// freezeDesired keeps the existing workers, because new ones cannot be rendered. Workers that were
// chosen for scale-in before are still removed.
func freezeDesired(w plan.Desired, s *Observation) plan.Desired {
	w.Frozen, w.MaxWorkers, w.CanCreateRecords, w.Update = true, nil, false, plan.Update{}
	w.Replicas = 0
	for i := range s.Workers {
		if x := &s.Workers[i]; x.DeletedAt.IsZero() && x.DrainMark.Cause != v1beta1.DrainCauseScaleIn {
			w.Replicas++
			w.KubeNodes = append(w.KubeNodes, x.Slot.KubeNode)
		}
	}
	slices.Sort(w.KubeNodes)
	w.KubeNodes = slices.Compact(w.KubeNodes)
	return w
}

// maxWorkers returns the largest possible number of workers: the smaller of the maxima of the NodeSet and its HPA, but at least the
// present replicas, whatever their names. It is nil if unknown.
func maxWorkers(n *v1beta1.NodeSet, hpas []autoscalingv2.HorizontalPodAutoscaler) *int {
	most := RequestedMax(n, hpas)
	if most == nil {
		return nil
	}
	return new(max(min(int(*most), MaxRecords), replicasOf(n)))
}

// countValidOrdinals returns the number of ordinals below an end that can have workers: longer numbers may make names too long.
// Ordinals below the partition may have other names.
func countValidOrdinals(n names.Workers, partition, end int) int {
	return sort.Search(end, func(i int) bool { return i >= partition && n.Check(names.WorkerID{Ordinal: &i}) != nil })
}

// replicasOf returns the desired number of workers, limited to the nodes that Slurm can have. More would only cost memory that the
// operator needs for all NodeSets.
func replicasOf(n *v1beta1.NodeSet) int { return int(min(scaling.SpecReplicas(n), scaling.MaxNodes)) }

// MaxRecords is the number of records that Slurm keeps for the workers of a NodeSet, unless it has more workers. Each record costs
// slurmctld and every reconciliation of the NodeSet.
const MaxRecords = 10_000

// RequestedMax returns the requested maximum. Of several HPAs the highest counts, so that records
// which one of them needs are not deleted because of another.
func RequestedMax(n *v1beta1.NodeSet, hpas []autoscalingv2.HorizontalPodAutoscaler) *int32 {
	var hpa *autoscalingv2.HorizontalPodAutoscaler
	for i := range hpas {
		if hpa == nil || hpas[i].Spec.MaxReplicas > hpa.Spec.MaxReplicas {
			hpa = &hpas[i]
		}
	}
	return scaling.MaxReplicas(n, hpa)
}

func drainPolicyOf(p *v1beta1.DrainPolicy) plan.DrainPolicy {
	switch {
	case p == nil:
	case p.Type == v1beta1.DrainForce:
		return plan.DrainPolicy{Force: true}
	case p.Type == v1beta1.DrainTimeout && p.Timeout != nil:
		return plan.DrainPolicy{Timeout: p.Timeout.Duration}
	}
	return plan.DrainPolicy{}
}

// defaultMaxUnavailable is the default share of workers that may be out of service.
const defaultMaxUnavailable = "25%"

// updateOf returns how workers change. A share is rounded up and is at least one, unless it is
// zero: then no worker changes.
func updateOf(now time.Time, u v1beta1.NodeSetUpdateStrategy, desired int) plan.Update {
	out := plan.Update{Allowed: !u.Paused, MaxUnavailable: 1}
	limit := intstr.FromString(defaultMaxUnavailable)
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
		out.Allowed = false
	case v1beta1.UpdateScheduled:
		out.Allowed = out.Allowed && isWithinSchedule(now, u.ScheduledUpdate)
		out.MaxUnavailable = max(1, desired) // the reservation keeps the nodes free
	default:
		out.Allowed = out.Allowed && !NeverUpdates(u)
	}
	return out
}

// NeverUpdates reports whether no worker may be out of service for an update.
func NeverUpdates(u v1beta1.NodeSetUpdateStrategy) bool {
	if u.RollingUpdate == nil || u.RollingUpdate.MaxUnavailable == nil {
		return false
	}
	n, err := intstr.GetScaledValueFromIntOrPercent(u.RollingUpdate.MaxUnavailable, 100, true)
	return err == nil && n <= 0
}

// defaultScheduleDuration is the duration of a scheduled update that does not set one.
const defaultScheduleDuration = 30 * time.Minute

func isWithinSchedule(now time.Time, s *v1beta1.ScheduledUpdate) bool {
	if s == nil || s.StartTime == nil {
		return false
	}
	return !now.Before(s.StartTime.Time) && now.Before(s.StartTime.Add(scheduleDuration(s)))
}

// scheduledUpdateOf returns when workers change, nil if that is not scheduled, or paused.
func scheduledUpdateOf(strategy v1beta1.NodeSetUpdateStrategy) *plan.ScheduledUpdate {
	u := strategy.ScheduledUpdate
	if strategy.Type != v1beta1.UpdateScheduled || strategy.Paused || u == nil || u.StartTime == nil {
		return nil
	}
	return &plan.ScheduledUpdate{Start: u.StartTime.Time, End: u.StartTime.Add(scheduleDuration(u)), Flags: u.Flags}
}

func scheduleDuration(s *v1beta1.ScheduledUpdate) time.Duration {
	if s.Duration == nil {
		return defaultScheduleDuration
	}
	return s.Duration.Duration
}

// slurmNameOn returns the name of the Slurm node of the worker on a Kubernetes node, or empty if
// that name is invalid.
func (s *Observation) slurmNameOn(kubeNode string) string {
	id := names.WorkerID{KubeNode: kubeNode}
	if node := s.KubeNodes[kubeNode]; node != nil {
		id.Hostname = render.FactsOf(node.Annotations).Hostname
	}
	name := s.Names.SlurmNode(id)
	if len(validation.IsDNS1123Label(name)) > 0 {
		return ""
	}
	return name
}

// matchingKubeNodes returns the Kubernetes nodes that should have a worker in scaling mode
// DaemonSet, the oldest first.
func matchingKubeNodes(s *Observation) []string {
	var out []string
	hasWorker := map[string]bool{}
	for i := range s.Workers {
		if w := &s.Workers[i]; w.DeletedAt.IsZero() && !w.Finished {
			hasWorker[w.Slot.KubeNode] = true
		}
	}
	for name, node := range s.KubeNodes {
		if CanRunOn(&s.Template.Spec, node) || hasWorker[name] && canStayOn(&s.Template.Spec, node) {
			out = append(out, name)
		}
	}
	slices.SortFunc(out, func(a, b string) int {
		return cmp.Or(s.KubeNodes[a].CreationTimestamp.Compare(s.KubeNodes[b].CreationTimestamp.Time), strings.Compare(a, b))
	})
	return out
}

// CanRunOn reports whether a pod may run on a Kubernetes node, by its node selector, its required
// node affinity and its tolerations. As with a DaemonSet, the node may be unschedulable or not
// ready.
func CanRunOn(spec *corev1.PodSpec, node *corev1.Node) bool {
	return fits(spec, node, corev1.TaintEffectNoSchedule, corev1.TaintEffectNoExecute)
}

// canStayOn reports whether a pod that runs on a Kubernetes node may stay there. As with a DaemonSet, only
// a taint of effect NoExecute removes it.
func canStayOn(spec *corev1.PodSpec, node *corev1.Node) bool {
	return fits(spec, node, corev1.TaintEffectNoExecute)
}

// Matches reports whether a Kubernetes node meets the requirements of a pod, with any taints.
func Matches(spec *corev1.PodSpec, node *corev1.Node) bool { return fits(spec, node) }

// fits reports whether a Kubernetes node matches a pod, which tolerates its taints of the effects.
func fits(spec *corev1.PodSpec, node *corev1.Node, effects ...corev1.TaintEffect) bool {
	pod := &corev1.Pod{Spec: *spec}
	match, err := nodeaffinity.GetRequiredNodeAffinity(pod).Match(node)
	if err != nil || !match || node.DeletionTimestamp != nil {
		return false
	}
	_, untolerated := corev1helpers.FindMatchingUntoleratedTaint(klog.Background(), node.Spec.Taints, spec.Tolerations,
		func(t *corev1.Taint) bool { return slices.Contains(effects, t.Effect) }, false)
	return !untolerated
}
