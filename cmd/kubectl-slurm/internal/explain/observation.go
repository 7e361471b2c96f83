package explain

import (
	"time"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"

	"github.com/slurmtide/slurmtide/cmd/kubectl-slurm/internal/records"
	"github.com/slurmtide/slurmtide/cmd/kubectl-slurm/internal/top"
	"github.com/slurmtide/slurmtide/metricsapi"
	"github.com/slurmtide/slurmtide/metricsapi/view/convert"
	view "github.com/slurmtide/slurmtide/metricsapi/view/v1alpha1"
	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
	"github.com/slurmtide/slurmtide/slurmclient"
	"github.com/slurmtide/slurmtide/slurmclient/demand"
	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

// Observation contains everything that the explanations use.
type Observation struct {
	Now time.Time
	// NodeSets and Autoscalers are the objects of the namespace.
	NodeSets    []v1beta1.NodeSet
	Autoscalers []autoscalingv2.HorizontalPodAutoscaler
	// Numbers are the metrics of NodeSets that were read, by the name of the NodeSet.
	Numbers map[string]top.Numbers
	// Pods are the pods of the NodeSet, nil if they could not be read.
	Pods []corev1.Pod
	// Slurm is the view of the cluster, nil if it could not be read.
	Slurm *SlurmRecords
	// Gaps are sentences about what could not be read.
	Gaps []string
}

// SlurmRecords are the records of one cluster in the view.
type SlurmRecords struct {
	Jobs       []*slurm.Job
	Nodes      []*slurm.Node
	Partitions []*slurm.Partition
}

// NewSlurmRecords converts the view's objects of one cluster to Slurm's records.
func NewSlurmRecords(jobs []view.SlurmJob, nodes []view.SlurmNode, partitions []view.SlurmPartition) *SlurmRecords {
	s := &SlurmRecords{}
	for i := range jobs {
		s.Jobs = append(s.Jobs, convert.JobRecord(&jobs[i]))
	}
	for i := range nodes {
		s.Nodes = append(s.Nodes, convert.NodeRecord(&nodes[i]))
	}
	for i := range partitions {
		s.Partitions = append(s.Partitions, convert.PartitionRecord(&partitions[i]))
	}
	return s
}

func (s *SlurmRecords) snapshot(now time.Time) *slurmclient.Snapshot {
	return records.Snapshot(now, s.Jobs, s.Nodes, s.Partitions)
}

// nodeSet returns the NodeSet with the name, or nil.
func (s *Observation) nodeSet(name string) *v1beta1.NodeSet {
	for i := range s.NodeSets {
		if s.NodeSets[i].Name == name {
			return &s.NodeSets[i]
		}
	}
	return nil
}

// pools returns the pools of the NodeSets of the cluster, in the order of NodeSets.
func (s *Observation) pools(cluster string) []demand.Pool {
	var out []demand.Pool
	for i := range s.NodeSets {
		n := &s.NodeSets[i]
		if top.ClusterOf(n) == cluster {
			out = append(out, s.pool(n))
		}
	}
	return out
}

// idleGraceMetric is the idle grace that the adapter uses for a NodeSet, in seconds.
const idleGraceMetric = "slurm_nodeset_idle_grace_seconds"

// pool returns the pool of a NodeSet with the adapter's idle grace, if that was read. Its lead time of reservations
// does not matter, since the view has no reservations.
func (s *Observation) pool(n *v1beta1.NodeSet) demand.Pool {
	var defaults metricsapi.PoolDefaults
	if seconds := s.Numbers[n.Name].Of(idleGraceMetric); seconds != nil {
		defaults.IdleGrace = time.Duration(*seconds) * time.Second //nolint:gosec // the adapter converted it from a Duration
	}
	return metricsapi.PoolOf(n, s.autoscaler(n), defaults)
}

// autoscaler returns the HPA that scales a NodeSet, or nil if there is none or several.
func (s *Observation) autoscaler(n *v1beta1.NodeSet) *autoscalingv2.HorizontalPodAutoscaler {
	if scaling := top.ScalingAutoscalers(n, s.Autoscalers); len(scaling) == 1 {
		return scaling[0]
	}
	return nil
}
