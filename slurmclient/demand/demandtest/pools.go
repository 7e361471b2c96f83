package demandtest

import (
	"testing"
	"time"

	"github.com/slurmtide/slurmtide/slurmclient"
	"github.com/slurmtide/slurmtide/slurmclient/demand"
	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

// NodeSetPool returns the pool of a NodeSet in namespace team, which serves the partition of its
// name with workers such as "gpu-0".
func NodeSetPool(name string, options ...PoolOption) demand.Pool {
	own := func(p *demand.Pool) { p.Feature, p.WorkerPrefix, p.Partitions = name, name+"-", []string{name} }
	return NewPool("team/"+name, append([]PoolOption{own}, options...)...)
}

// AsExclusive makes a job request whole nodes.
func AsExclusive(j *slurm.Job) { j.EditDetails(func(d *slurm.JobDetails) { d.Shared = "none" }) }

// FiguresOf returns the figures of the demand on a pool.
func FiguresOf(p demand.PoolDemand) PoolFigures {
	return PoolFigures{
		p.Required, p.Busy, p.Idle, p.Booting, p.Unusable, p.Off, p.Pending, p.Claimed, p.Grace,
		p.Replacements, p.EligiblePendingJobs,
	}
}

// WithConstraint sets the feature constraint of a job.
func WithConstraint(text string) JobOption {
	return func(j *slurm.Job) { j.EditDetails(func(d *slurm.JobDetails) { d.Features = text }) }
}

// ComputePools computes the demand on pools at Noon.
func ComputePools(s *slurmclient.Snapshot, pools []demand.Pool) demand.Demand {
	return demand.Compute(Noon.Time(), s, pools...)
}

// AsGivenUp sets the fields of a job whose constraints slurmctld 26.05 cannot meet.
func AsGivenUp(j *slurm.Job) {
	j.Reason, j.Priority, j.Hold = "BadConstraints", slurm.Num(0), true
}

// AsComponent makes a job a component of a heterogeneous job.
func AsComponent(leader, offset uint32) JobOption {
	return func(j *slurm.Job) { j.HetJobID, j.HetOffset = leader, offset }
}

// SetLimits adds QOS, associations, licenses, or a configuration to a snapshot.
func SetLimits(s *slurmclient.Snapshot, limits ...any) {
	for _, limit := range limits {
		switch v := limit.(type) {
		case slurm.QOS:
			s.QOS.Known, s.QOS.Value = true, append(s.QOS.Value, v)
		case slurm.Association:
			s.Associations.Known, s.Associations.Value = true, append(s.Associations.Value, v)
		case slurm.License:
			s.Licenses.Known, s.Licenses.Value = true, append(s.Licenses.Value, v)
		case slurm.Conf:
			s.Conf.Known, s.Conf.Value = true, &v
		}
	}
}

// NewPool returns a pool of at most 10 workers with 4 CPUs, 8,000 MiB and the feature of its name,
// in partition cpu, changed by the options.
func NewPool(name string, options ...PoolOption) demand.Pool {
	p := demand.Pool{
		Name: name, Feature: name, Partitions: []string{"cpu"}, Max: 10,
		Shape: &demand.Shape{CPUs: 4, MemoryMiB: 8000},
	}
	for _, o := range options {
		o(&p)
	}
	return p
}

// PoolOption changes a pool.
type PoolOption func(*demand.Pool)

// ServingPartitions sets the partitions of a pool.
func ServingPartitions(partitions ...string) PoolOption {
	return func(p *demand.Pool) { p.Partitions = partitions }
}

// WithShape sets what a new worker of a pool has.
func WithShape(s *demand.Shape) PoolOption { return func(p *demand.Pool) { p.Shape = s } }

// WithBounds sets the minimum and maximum of a pool.
func WithBounds(low, high uint64) PoolOption {
	return func(p *demand.Pool) { p.Min, p.Max = low, high }
}

// WithReplicas sets the present replicas of a pool.
func WithReplicas(n uint64) PoolOption { return func(p *demand.Pool) { p.Replicas = n } }

// WithIdleGrace sets how long idle workers stay.
func WithIdleGrace(d time.Duration) PoolOption { return func(p *demand.Pool) { p.IdleGrace = d } }

// WithLead sets how long before a reservation workers come.
func WithLead(d time.Duration) PoolOption { return func(p *demand.Pool) { p.ReservationLead = d } }

// NewWorker returns a node of pool w.
func NewWorker(name string, options ...NodeOption) *slurm.Node {
	return NewNode(name, append([]NodeOption{WithFeatures("w")}, options...)...)
}

// IdleSince sets when the last job of the node ended.
func IdleSince(ago slurm.Time) NodeOption {
	return func(n *slurm.Node) { n.LastBusy = Noon - ago }
}

// AsHeld makes a job held.
func AsHeld(j *slurm.Job) { j.Hold = true }

// DemandsOf computes the demand on the pools among the objects.
func DemandsOf(t *testing.T, nouns ...any) demand.Demand {
	t.Helper()
	s, pools := SplitPools(t, nouns...)
	return demand.Compute(time.Unix(int64(Noon), 0), s, pools...)
}

// SplitPools returns the snapshot and the pools among the objects.
func SplitPools(t *testing.T, nouns ...any) (*slurmclient.Snapshot, []demand.Pool) {
	t.Helper()
	var pools []demand.Pool
	var rest []any
	for _, noun := range nouns {
		if p, ok := noun.(demand.Pool); ok {
			pools = append(pools, p)
		} else {
			rest = append(rest, noun)
		}
	}
	return SnapshotOf(t, rest...), pools
}

// PoolFigures are the numbers of a pool that tests compare.
type PoolFigures struct {
	Required, Busy, Idle, Booting, Unusable, Off, Pending, Claimed, Grace, Replacements, Eligible uint64
}
