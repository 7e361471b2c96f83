// Package demandtest builds snapshots for tests of demand.
package demandtest

import (
	"strings"
	"testing"
	"time"

	"github.com/slurmtide/slurmtide/slurmclient"
	"github.com/slurmtide/slurmtide/slurmclient/demand"
	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

// Noon is the current time of the tests, on every clock.
const Noon = slurm.Time(1_700_000_000)

// MarkKnown marks nodes, jobs and partitions as read.
func MarkKnown(s *slurmclient.Snapshot) *slurmclient.Snapshot {
	s.Nodes.Known, s.Jobs.Known, s.Partitions.Known = true, true, true
	return s
}

// SnapshotOf returns a snapshot of the objects. Its nodes, jobs and partitions are known.
func SnapshotOf(t *testing.T, nouns ...any) *slurmclient.Snapshot {
	t.Helper()
	s := MarkKnown(&slurmclient.Snapshot{})
	for _, noun := range nouns {
		switch v := noun.(type) {
		case *slurm.Partition:
			s.Partitions.Value = append(s.Partitions.Value, v)
		case *slurm.Node:
			s.Nodes.Value = append(s.Nodes.Value, v)
		case []*slurm.Node:
			s.Nodes.Value = append(s.Nodes.Value, v...)
		case *slurm.Job:
			s.Jobs.Value = append(s.Jobs.Value, v)
		case []*slurm.Job:
			s.Jobs.Value = append(s.Jobs.Value, v...)
		case *slurm.Reservation:
			s.Reservations.Known = true
			s.Reservations.Value = append(s.Reservations.Value, v)
		default:
			t.Fatalf("a snapshot does not contain %T", noun)
		}
	}
	return s
}

// ComputeDemand computes the demand at Noon, without pools.
func ComputeDemand(s *slurmclient.Snapshot) demand.Demand {
	return demand.Compute(time.Unix(int64(Noon), 0), s)
}

// DemandOn computes the demand on one partition of a snapshot.
func DemandOn(t *testing.T, partition string, nouns ...any) demand.Partition {
	t.Helper()
	d := ComputeDemand(SnapshotOf(t, nouns...))
	p, ok := d.Partition(partition)
	if !ok {
		t.Fatalf("no partition %q in %+v", partition, d)
	}
	return p
}

// PartitionOption changes a partition.
type PartitionOption func(*slurm.Partition)

// NewPartition returns a partition that is UP.
func NewPartition(name string, options ...PartitionOption) *slurm.Partition {
	p := &slurm.Partition{Name: name, State: slurm.PartitionUp, TotalNodes: 1000, MaxNodes: slurm.Infinite()}
	for _, o := range options {
		o(p)
	}
	return p
}

// NodeOption changes a node.
type NodeOption func(*slurm.Node)

// NewNode returns an idle node in partition cpu with 4 CPUs and 8,000 MiB, changed by the options.
func NewNode(name string, options ...NodeOption) *slurm.Node {
	n := &slurm.Node{
		Name: name, Partitions: []string{"cpu"}, CPUs: 4, EffectiveCPUs: 4, MemoryMiB: 8000, TmpDiskMiB: 100,
		State: slurm.NodeState{Base: slurm.NodeIdle},
	}
	for _, o := range options {
		o(n)
	}
	return n
}

// WithState sets the state by Slurm's text, such as "MIXED+DRAIN".
func WithState(text string) NodeOption {
	return func(n *slurm.Node) {
		n.State = slurm.ParseNodeState(strings.Split(text, "+")...)
		if n.State.Base == slurm.NodeAllocated {
			n.AllocCPUs, n.AllocMemoryMiB = n.CPUs, n.MemoryMiB
		}
	}
}

// WithSize sets the CPUs and the memory of a node.
func WithSize(cpus uint32, memory uint64) NodeOption {
	return func(n *slurm.Node) { n.CPUs, n.EffectiveCPUs, n.MemoryMiB = cpus, cpus, memory }
}

// WithUsage sets the allocated CPUs and memory of a node.
func WithUsage(cpus uint32, memory uint64) NodeOption {
	return func(n *slurm.Node) {
		n.State.Base, n.AllocCPUs, n.AllocMemoryMiB = slurm.NodeMixed, cpus, memory
	}
}

// WithGRES sets the generic resources of a node.
func WithGRES(gres string) NodeOption { return func(n *slurm.Node) { n.GRES = gres } }

// WithFeatures sets the features of a node.
func WithFeatures(features ...string) NodeOption {
	return func(n *slurm.Node) { n.Features = features }
}

// InPartitions sets the partitions of a node.
func InPartitions(partitions ...string) NodeOption {
	return func(n *slurm.Node) { n.Partitions = partitions }
}

// JobOption changes a job.
type JobOption func(*slurm.Job)

// NewJob returns a job in partition cpu, pending for Resources, with one task of one CPU, changed
// by the options.
func NewJob(id uint32, options ...JobOption) *slurm.Job {
	j := &slurm.Job{
		ID: id, Partition: "cpu", Reason: "Resources", State: slurm.JobState{Base: slurm.JobPending},
		SubmitTime: Noon - 100, EligibleTime: Noon - 100, Priority: slurm.Num(1),
		NodeCount: slurm.Num(1), CPUs: slurm.Num(1), Tasks: slurm.Num(1),
		SharedDetails: slurm.ShareDetails(slurm.JobDetails{CPUsPerTask: slurm.Num(1)}),
		MemoryPerCPU:  slurm.Unset(), MemoryPerNode: slurm.Num(0),
	}
	for _, o := range options {
		o(j)
	}
	return j
}

// NewJobs returns n equal jobs, with IDs from id on.
func NewJobs(id uint32, n int, options ...JobOption) []*slurm.Job {
	var out []*slurm.Job
	for i := range n {
		out = append(out, NewJob(id+uint32(i), options...))
	}
	return out
}

// WithChange changes any field of a job.
func WithChange(change func(*slurm.Job)) JobOption { return change }

// WithOwner changes whose job it is.
func WithOwner(edit func(*slurm.JobOwner)) JobOption {
	return func(j *slurm.Job) { j.EditOwner(edit) }
}

// WithDetails changes fields that similar jobs share.
func WithDetails(edit func(*slurm.JobDetails)) JobOption {
	return func(j *slurm.Job) { j.EditDetails(edit) }
}

// WithReason sets the reason for which a job waits.
func WithReason(text string) JobOption { return func(j *slurm.Job) { j.Reason = text } }

// InPartition sets the partitions of a job.
func InPartition(partitions string) JobOption { return func(j *slurm.Job) { j.Partition = partitions } }

// WithTasks sets n tasks of one CPU each.
func WithTasks(n uint64) JobOption {
	return func(j *slurm.Job) { j.Tasks, j.CPUs = slurm.Num(n), slurm.Num(n) }
}

// OnNodes sets -N n, with at least one task per node.
func OnNodes(n uint64) JobOption {
	return func(j *slurm.Job) {
		j.NodeCount = slurm.Num(n)
		j.EditDetails(func(d *slurm.JobDetails) { d.MaxNodes = slurm.Num(n) })
		j.Tasks, j.CPUs = slurm.Num(max(n, j.Tasks.Or(0))), slurm.Num(max(n, j.CPUs.Or(0)))
	}
}

// WithArray makes a job the base record of an array.
func WithArray(id uint32, list string, throttle uint32) JobOption {
	return func(j *slurm.Job) {
		j.ArrayJobID, j.ArrayTasks, j.ArrayTaskID = id, list, slurm.Unset()
		j.EditDetails(func(d *slurm.JobDetails) { d.ArrayMaxRunning = throttle })
	}
}

// AsArrayTask makes a job a task of an array.
func AsArrayTask(id uint32, index uint64) JobOption {
	return func(j *slurm.Job) { j.ArrayJobID, j.ArrayTaskID = id, slurm.Num(index) }
}

// RunningOn makes a job run on the nodes of a hostlist.
func RunningOn(on string) JobOption {
	return func(j *slurm.Job) { j.State.Base, j.Nodes, j.Reason = slurm.JobRunning, on, "None" }
}
