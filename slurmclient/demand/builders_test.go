package demand_test

import (
	"strings"
	"testing"
	"time"

	"github.com/slurmtide/slurmtide/slurmclient"
	"github.com/slurmtide/slurmtide/slurmclient/demand"
	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

// noon is the current time of the tests, on every clock.
const noon = slurm.Time(1_700_000_000)

// markKnown marks nodes, jobs and partitions as read.
func markKnown(s *slurmclient.Snapshot) *slurmclient.Snapshot {
	s.Nodes.Known, s.Jobs.Known, s.Partitions.Known = true, true, true
	return s
}

// snapshotOf returns a snapshot of the objects, of which nodes, jobs and partitions are known.
func snapshotOf(t *testing.T, nouns ...any) *slurmclient.Snapshot {
	t.Helper()
	s := markKnown(&slurmclient.Snapshot{})
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

func computeDemand(s *slurmclient.Snapshot) demand.Demand {
	return demand.Compute(time.Unix(int64(noon), 0), s)
}

// demandOn computes the demand on one partition of a snapshot.
func demandOn(t *testing.T, partition string, nouns ...any) demand.Partition {
	t.Helper()
	d := computeDemand(snapshotOf(t, nouns...))
	p, ok := d.Partition(partition)
	if !ok {
		t.Fatalf("no partition %q in %+v", partition, d)
	}
	return p
}

type partitionOption func(*slurm.Partition)

func newPartition(name string, options ...partitionOption) *slurm.Partition {
	p := &slurm.Partition{Name: name, State: slurm.PartitionUp, TotalNodes: 1000, MaxNodes: slurm.Infinite()}
	for _, o := range options {
		o(p)
	}
	return p
}

type nodeOption func(*slurm.Node)

// newNode returns an idle node in partition cpu with 4 CPUs and 8,000 MiB, changed by the options.
func newNode(name string, options ...nodeOption) *slurm.Node {
	n := &slurm.Node{
		Name: name, Partitions: []string{"cpu"}, CPUs: 4, EffectiveCPUs: 4, MemoryMiB: 8000, TmpDiskMiB: 100,
		State: slurm.NodeState{Base: slurm.NodeIdle},
	}
	for _, o := range options {
		o(n)
	}
	return n
}

// withState sets the state by Slurm's text, such as "MIXED+DRAIN".
func withState(text string) nodeOption {
	return func(n *slurm.Node) {
		n.State = slurm.ParseNodeState(strings.Split(text, "+")...)
		if n.State.Base == slurm.NodeAllocated {
			n.AllocCPUs, n.AllocMemoryMiB = n.CPUs, n.MemoryMiB
		}
	}
}

func withSize(cpus uint32, memory uint64) nodeOption {
	return func(n *slurm.Node) { n.CPUs, n.EffectiveCPUs, n.MemoryMiB = cpus, cpus, memory }
}

func withUsage(cpus uint32, memory uint64) nodeOption {
	return func(n *slurm.Node) {
		n.State.Base, n.AllocCPUs, n.AllocMemoryMiB = slurm.NodeMixed, cpus, memory
	}
}

func withGRES(gres string) nodeOption { return func(n *slurm.Node) { n.GRES = gres } }

func withFeatures(features ...string) nodeOption {
	return func(n *slurm.Node) { n.Features = features }
}

func inPartitions(partitions ...string) nodeOption {
	return func(n *slurm.Node) { n.Partitions = partitions }
}

type jobOption func(*slurm.Job)

// newJob returns a job in partition cpu, pending for Resources, with one task of one CPU, changed
// by the options.
func newJob(id uint32, options ...jobOption) *slurm.Job {
	j := &slurm.Job{
		ID: id, Partition: "cpu", Reason: "Resources", State: slurm.JobState{Base: slurm.JobPending},
		SubmitTime: noon - 100, EligibleTime: noon - 100, Priority: slurm.Num(1),
		NodeCount: slurm.Num(1), CPUs: slurm.Num(1), Tasks: slurm.Num(1), CPUsPerTask: slurm.Num(1),
		MemoryPerCPU: slurm.Unset(), MemoryPerNode: slurm.Num(0),
	}
	for _, o := range options {
		o(j)
	}
	return j
}

// newJobs returns n equal jobs, with IDs from id on.
func newJobs(id uint32, n int, options ...jobOption) []*slurm.Job {
	var out []*slurm.Job
	for i := range n {
		out = append(out, newJob(id+uint32(i), options...))
	}
	return out
}

func withChange(change func(*slurm.Job)) jobOption { return change }

func withReason(text string) jobOption { return func(j *slurm.Job) { j.Reason = text } }

func inPartition(partitions string) jobOption { return func(j *slurm.Job) { j.Partition = partitions } }

// withTasks sets n tasks of one CPU each.
func withTasks(n uint64) jobOption {
	return func(j *slurm.Job) { j.Tasks, j.CPUs = slurm.Num(n), slurm.Num(n) }
}

// onNodes sets -N n, with at least one task per node.
func onNodes(n uint64) jobOption {
	return func(j *slurm.Job) {
		j.NodeCount, j.MaxNodes = slurm.Num(n), slurm.Num(n)
		j.Tasks, j.CPUs = slurm.Num(max(n, j.Tasks.Or(0))), slurm.Num(max(n, j.CPUs.Or(0)))
	}
}

func withArray(id uint32, list string, throttle uint32) jobOption {
	return func(j *slurm.Job) {
		j.ArrayJobID, j.ArrayTasks, j.ArrayMaxRunning, j.ArrayTaskID = id, list, throttle, slurm.Unset()
	}
}

func asArrayTask(id uint32, index uint64) jobOption {
	return func(j *slurm.Job) { j.ArrayJobID, j.ArrayTaskID = id, slurm.Num(index) }
}

func runningOn(on string) jobOption {
	return func(j *slurm.Job) { j.State.Base, j.Nodes, j.Reason = slurm.JobRunning, on, "None" }
}
