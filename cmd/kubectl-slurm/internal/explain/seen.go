package explain

import (
	"time"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"

	"github.com/slurmtide/slurmtide/cmd/kubectl-slurm/internal/records"
	"github.com/slurmtide/slurmtide/cmd/kubectl-slurm/internal/top"
	"github.com/slurmtide/slurmtide/metricsapi"
	view "github.com/slurmtide/slurmtide/metricsapi/view/v1alpha1"
	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
	"github.com/slurmtide/slurmtide/slurmclient"
	"github.com/slurmtide/slurmtide/slurmclient/demand"
	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

// Seen is all that an explanation rests on.
type Seen struct {
	Now time.Time
	// NodeSets and Autoscalers are those of the namespace.
	NodeSets    []v1beta1.NodeSet
	Autoscalers []autoscalingv2.HorizontalPodAutoscaler
	// Numbers are the metrics of NodeSets, by the name of the NodeSet.
	Numbers map[string]top.Numbers
	// Pods are those of the NodeSet, nil when they could not be read.
	Pods []corev1.Pod
	// Slurm is what the view shows of the cluster, nil when it could not be read.
	Slurm *Slurm
	// Gaps are sentences about what could not be read.
	Gaps []string
}

// Slurm is what the view shows of one cluster.
type Slurm struct {
	Jobs       []*slurm.Job
	Nodes      []*slurm.Node
	Partitions []*slurm.Partition
}

// SlurmOf makes Slurm's records of the view's objects, which are of one cluster.
func SlurmOf(jobs []view.SlurmJob, nodes []view.SlurmNode, partitions []view.SlurmPartition) *Slurm {
	s := &Slurm{}
	for i := range jobs {
		s.Jobs = append(s.Jobs, records.Job(&jobs[i]))
	}
	for i := range nodes {
		s.Nodes = append(s.Nodes, records.Node(&nodes[i]))
	}
	for i := range partitions {
		s.Partitions = append(s.Partitions, records.Partition(&partitions[i]))
	}
	return s
}

func (s *Slurm) snapshot(now time.Time) *slurmclient.Snapshot {
	return records.Snapshot(now, s.Jobs, s.Nodes, s.Partitions)
}

// nodeSet is the NodeSet of the name, nil for none.
func (s *Seen) nodeSet(name string) *v1beta1.NodeSet {
	for i := range s.NodeSets {
		if s.NodeSets[i].Name == name {
			return &s.NodeSets[i]
		}
	}
	return nil
}

// defaults are those of the adapter that its flags do not change.
func defaults() metricsapi.PoolDefaults { return metricsapi.PoolDefaults{Lead: 5 * time.Minute} }

// pools are what the NodeSets that join the cluster offer, in the order of NodeSets.
func (s *Seen) pools(cluster string) []demand.Pool {
	var out []demand.Pool
	for i := range s.NodeSets {
		n := &s.NodeSets[i]
		if top.ClusterOf(n) == cluster {
			out = append(out, s.pool(n))
		}
	}
	return out
}

func (s *Seen) pool(n *v1beta1.NodeSet) demand.Pool {
	return metricsapi.PoolOf(n, s.autoscaler(n), defaults())
}

// autoscaler is the HPA that scales a NodeSet, nil for none or several.
func (s *Seen) autoscaler(n *v1beta1.NodeSet) *autoscalingv2.HorizontalPodAutoscaler {
	if scaling := top.Scaling(n, s.Autoscalers); len(scaling) == 1 {
		return scaling[0]
	}
	return nil
}
