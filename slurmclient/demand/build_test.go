package demand_test

import (
	"strings"
	"testing"
	"time"

	"github.com/slurmtide/slurmtide/slurmclient"
	"github.com/slurmtide/slurmtide/slurmclient/demand"
	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

// noon is the moment of the tests, by everybody's clock.
const noon = slurm.Time(1_700_000_000)

// known marks nodes, jobs and partitions as read.
func markKnown(s *slurmclient.Snapshot) *slurmclient.Snapshot {
	s.Nodes.Known, s.Jobs.Known, s.Partitions.Known = true, true, true
	return s
}

// snapshotOf sorts nouns into a snapshot of which all is known.
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
			t.Fatalf("a snapshot holds no %T", noun)
		}
	}
	return s
}

func compute(s *slurmclient.Snapshot) demand.Demand {
	return demand.Compute(time.Unix(int64(noon), 0), s)
}

// demandOn computes the demand on one partition of a snapshot.
func demandOn(t *testing.T, partition string, nouns ...any) demand.Partition {
	t.Helper()
	d := compute(snapshotOf(t, nouns...))
	p, ok := d.Partition(partition)
	if !ok {
		t.Fatalf("no partition %q in %+v", partition, d)
	}
	return p
}

type partitionOption func(*slurm.Partition)

func partition(name string, options ...partitionOption) *slurm.Partition {
	p := &slurm.Partition{Name: name, State: slurm.PartitionUp, TotalNodes: 1000, MaxNodes: slurm.Infinite()}
	for _, o := range options {
		o(p)
	}
	return p
}

type nodeOption func(*slurm.Node)

// node is idle, in partition cpu, with 4 CPUs and 8,000 MiB, unless told otherwise.
func node(name string, options ...nodeOption) *slurm.Node {
	n := &slurm.Node{
		Name: name, Partitions: []string{"cpu"}, CPUs: 4, EffectiveCPUs: 4, MemoryMiB: 8000, TmpDiskMiB: 100,
		State: slurm.NodeState{Base: slurm.NodeIdle},
	}
	for _, o := range options {
		o(n)
	}
	return n
}

// state is Slurm's text for it, such as "MIXED+DRAIN".
func state(text string) nodeOption {
	return func(n *slurm.Node) {
		n.State = slurm.ParseNodeState(strings.Split(text, "+")...)
		if n.State.Base == slurm.NodeAllocated {
			n.AllocCPUs, n.AllocMemoryMiB = n.CPUs, n.MemoryMiB
		}
	}
}

func size(cpus uint32, memory uint64) nodeOption {
	return func(n *slurm.Node) { n.CPUs, n.EffectiveCPUs, n.MemoryMiB = cpus, cpus, memory }
}

func used(cpus uint32, memory uint64) nodeOption {
	return func(n *slurm.Node) {
		n.State.Base, n.AllocCPUs, n.AllocMemoryMiB = slurm.NodeMixed, cpus, memory
	}
}

func gpus(gres string) nodeOption { return func(n *slurm.Node) { n.GRES = gres } }

func having(features ...string) nodeOption { return func(n *slurm.Node) { n.Features = features } }

func within(partitions ...string) nodeOption {
	return func(n *slurm.Node) { n.Partitions = partitions }
}

type jobOption func(*slurm.Job)

// job is pending for Resources in partition cpu, one task of one CPU, unless told
// otherwise.
func job(id uint32, options ...jobOption) *slurm.Job {
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

// jobs are n of the same, with ids from id on.
func jobs(id uint32, n int, options ...jobOption) []*slurm.Job {
	var out []*slurm.Job
	for i := range n {
		out = append(out, job(id+uint32(i), options...))
	}
	return out
}

func with(change func(*slurm.Job)) jobOption { return change }

func reason(text string) jobOption { return func(j *slurm.Job) { j.Reason = text } }

func in(partitions string) jobOption { return func(j *slurm.Job) { j.Partition = partitions } }

// tasks is n tasks of one CPU each.
func tasks(n uint64) jobOption {
	return func(j *slurm.Job) { j.Tasks, j.CPUs = slurm.Num(n), slurm.Num(n) }
}

// nodes is -N n, with at least a task for each.
func nodes(n uint64) jobOption {
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

func arrayTask(id uint32, index uint64) jobOption {
	return func(j *slurm.Job) { j.ArrayJobID, j.ArrayTaskID = id, slurm.Num(index) }
}

func running(on string) jobOption {
	return func(j *slurm.Job) { j.State.Base, j.Nodes, j.Reason = slurm.JobRunning, on, "None" }
}
