package metricsapi

import (
	"time"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
	"github.com/slurmtide/slurmtide/operator/names"
	"github.com/slurmtide/slurmtide/operator/scaling"
	"github.com/slurmtide/slurmtide/operator/shape"
	"github.com/slurmtide/slurmtide/slurmclient/demand"
)

// PoolDefaults are settings that NodeSets do not have, or do not set.
type PoolDefaults struct {
	// IdleGrace is how long idle nodes count as required.
	IdleGrace time.Duration
	// Lead is how long before a reservation starts its nodes count as busy.
	Lead time.Duration
}

// PoolName is the name of a NodeSet's pool.
func PoolName(namespace, name string) string { return namespace + "/" + name }

// PoolOf returns the pool of a NodeSet. hpa is the HPA that scales it, or nil. The pool's maximum is the smaller of the
// maximums of the NodeSet and the HPA. The pool has no minimum, because the HPA enforces its own. The exception is a
// NodeSet for which Slurm accepts no job until a worker has registered. PoolOf is pure.
func PoolOf(n *v1beta1.NodeSet, hpa *autoscalingv2.HorizontalPodAutoscaler, defaults PoolDefaults) demand.Pool {
	p := demand.Pool{
		Name: PoolName(n.Namespace, n.Name), Feature: n.Name, WorkerPrefix: names.WorkerPrefix(n), Shape: shapeOf(n),
		Replicas: uint64(scaling.DesiredReplicas(n)), ScaleInReasons: v1beta1.ScaleInReasons(),
		IdleGrace: defaults.IdleGrace, ReservationLead: defaults.Lead,
	}
	if n.Spec.Partition != nil && n.Spec.Partition.Enabled {
		p.Partitions = []string{n.Name}
	}
	if c := meta.FindStatusCondition(n.Status.Conditions, v1beta1.ConditionSubmittable); c != nil && c.Status == metav1.ConditionFalse &&
		c.Reason == v1beta1.ReasonRecordsUnsupported {
		p.Min = 1
	}
	if most := scaling.MaxReplicas(n, hpa); most != nil {
		p.Max = uint64(max(0, *most)) //nolint:gosec // not negative
	}
	if text, ok := n.Annotations[v1beta1.AnnotationIdleGrace]; ok {
		if grace, err := time.ParseDuration(text); err == nil && grace >= 0 {
			p.IdleGrace = grace
		}
	}
	return p
}

// shapeOf returns the shape of the NodeSet's workers, nil if unknown. Package demand then uses
// the records of its nodes.
func shapeOf(n *v1beta1.NodeSet) *demand.Shape {
	s, known := shape.OfNodeSet(n)
	if !known {
		return nil
	}
	return (*demand.Shape)(&s)
}
