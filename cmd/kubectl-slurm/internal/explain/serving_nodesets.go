package explain

import (
	"slices"
	"strings"

	"github.com/slurmtide/slurmtide/cmd/kubectl-slurm/internal/top"
	"github.com/slurmtide/slurmtide/metricsapi"
	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
	"github.com/slurmtide/slurmtide/operator/scaling"
	"github.com/slurmtide/slurmtide/slurmclient/demand"
	"github.com/slurmtide/slurmtide/slurmclient/demand/pending"
	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

// withOnlyPending returns the records with j as the only pending job.
func (s *Observation) withOnlyPending(j *slurm.Job) *SlurmRecords {
	out := *s.Slurm
	out.Jobs = []*slurm.Job{j}
	for _, other := range s.Slurm.Jobs {
		if other.State.Base != slurm.JobPending {
			out.Jobs = append(out.Jobs, other)
		}
	}
	return &out
}

// withoutJob returns the records without the job j, and with the job instead if that is not nil.
func (s *Observation) withoutJob(j, instead *slurm.Job) *SlurmRecords {
	out := *s.Slurm
	out.Jobs = nil
	for _, other := range s.Slurm.Jobs {
		if other != j {
			out.Jobs = append(out.Jobs, other)
		}
	}
	if instead != nil {
		out.Jobs = append(out.Jobs, instead)
	}
	return &out
}

// withoutOtherReasons returns the job as if it waited only for resources.
func withoutOtherReasons(now slurm.Time, j *slurm.Job) *slurm.Job {
	out := *j
	out.Hold, out.Dependency, out.Reason = false, "", "Resources"
	out.EditDetails(func(d *slurm.JobDetails) { d.Reservation, d.ReasonText = "", "" })
	out.EligibleTime = min(j.EligibleTime, now)
	out.State.Flags = 0
	if n, known := j.Priority.Value(); known && n == 0 {
		out.Priority = slurm.Num(1)
	}
	return &out
}

// servingNodeSets says for each NodeSet of the cluster whether it could run the job, and how many
// workers it would need.
func (s *Observation) servingNodeSets(cluster string, j *slurm.Job) []Serving {
	pools := s.pools(cluster)
	asking := withoutOtherReasons(slurm.At(s.Now), j)
	without := demand.Compute(s.Now, s.withoutJob(j, nil).snapshot(s.Now), pools...)
	with := demand.Compute(s.Now, s.withoutJob(j, asking).snapshot(s.Now), pools...)
	var out []Serving
	for i := range s.NodeSets {
		n := &s.NodeSets[i]
		if top.ClusterOf(n) != cluster {
			continue
		}
		name := metricsapi.PoolName(n.Namespace, n.Name)
		before, _ := without.Pool(name)
		after, _ := with.Pool(name)
		v := Serving{NodeSet: n.Name, Wanted: scaling.DesiredReplicas(n), Without: before.Required,
			With: after.Required}
		v.Could, v.Why = s.canRun(n, asking)
		out = append(out, v)
	}
	slices.SortStableFunc(out, func(a, b Serving) int { return strings.Compare(a.NodeSet, b.NodeSet) })
	return out
}

// canRun reports whether enough workers of a NodeSet could run the job if no other job existed, and
// why not.
func (s *Observation) canRun(n *v1beta1.NodeSet, j *slurm.Job) (bool, string) {
	pool := s.pool(n)
	single := SlurmRecords{Jobs: []*slurm.Job{j}, Partitions: s.Slurm.Partitions}
	single.Nodes = demand.NodesOf(pool.Name, s.Slurm.Nodes, s.pools(top.ClusterOf(n)))
	d := demand.Compute(s.Now, single.snapshot(s.Now), pool)
	p, _ := d.Pool(pool.Name)
	switch {
	case p.PendingJobs == 0:
		return false, "it belongs to none of the job's partitions"
	case len(p.Unsatisfiable) > 0:
		return false, p.Unsatisfiable[0].Reason
	case p.ByClass[pending.ClassPartitionLimit] > 0:
		return false, "the partition does not accept the job"
	}
	return p.EligiblePendingJobs > 0, ""
}
