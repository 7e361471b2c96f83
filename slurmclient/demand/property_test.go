package demand_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slurmtide/slurmtide/slurmclient"
	"github.com/slurmtide/slurmtide/slurmclient/demand"
	"github.com/slurmtide/slurmtide/slurmclient/demand/demandtest"
	"github.com/slurmtide/slurmtide/slurmclient/demand/pending"
	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

// clusterCount is how many random clusters each property is tested on.
const clusterCount = 3000

// forRandomClusters runs a check on clusters that depend only on the seed.
func forRandomClusters(t *testing.T, check func(t *testing.T, r *rand.Rand, s *slurmclient.Snapshot)) {
	t.Helper()
	for seed := range uint64(clusterCount) {
		r := rand.New(rand.NewPCG(seed, 17))
		s := randomSnapshot(t, r)
		check(t, r, s)
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
}

func pickOne[T any](r *rand.Rand, of ...T) T { return of[r.IntN(len(of))] }

func randomSnapshot(t *testing.T, r *rand.Rand) *slurmclient.Snapshot {
	var nouns []any
	for i := range 1 + r.IntN(4) {
		p := demandtest.NewPartition(string(rune('a' + i)))
		p.State = pickOne(r, slurm.PartitionUp, slurm.PartitionUp, slurm.PartitionUp, slurm.PartitionDown)
		p.MaxNodes = pickOne(r, slurm.Infinite(), slurm.Infinite(), slurm.Num(3))
		nouns = append(nouns, p)
	}
	for i := range r.IntN(14) {
		nouns = append(nouns, randomNode(r, fmt.Sprintf("n%d", i)))
	}
	for i := range r.IntN(16) {
		nouns = append(nouns, randomJob(r, uint32(10*i+1)))
	}
	if r.IntN(3) == 0 {
		nouns = append(nouns, &slurm.Reservation{Name: "r", StartTime: demandtest.Noon - 5,
			EndTime: demandtest.Noon + 5, Nodes: "n1,n2"})
	}
	return demandtest.SnapshotOf(t, nouns...)
}

func randomNode(r *rand.Rand, name string) *slurm.Node {
	n := demandtest.NewNode(name, demandtest.InPartitions(pickOne(r, []string{"a"}, []string{"a", "b"}, []string{"b"},
		[]string{"c", "d"})...))
	demandtest.WithSize(pickOne[uint32](r, 4, 8), pickOne[uint64](r, 8000, 16000))(n)
	n.Features = pickOne(r, nil, nil, []string{"x"}, []string{"x", "y"})
	n.GRES = pickOne(r, "", "", "gpu:h100:4")
	n.Weight = pickOne[uint32](r, 1, 1, 2)
	if r.IntN(3) == 0 {
		demandtest.WithUsage(1+r.Uint32N(n.CPUs), r.Uint64N(n.MemoryMiB))(n)
		n.GRESUsed = pickOne(r, "", "gpu:h100:2(IDX:0-1)")
		return n
	}
	demandtest.WithState(pickOne(r, "IDLE", "IDLE", "IDLE", "ALLOCATED", "ALLOCATED", "DOWN", "IDLE+DRAIN",
		"MIXED+DRAIN",
		"FUTURE", "IDLE+POWERED_DOWN", "IDLE+POWERING_UP", "IDLE+RESERVED"))(n)
	return n
}

func randomJob(r *rand.Rand, id uint32) *slurm.Job {
	j := demandtest.NewJob(id, demandtest.InPartition(pickOne(r, "a", "a", "b", "a,b", "b,a", "c", "d,c,a", "zz")),
		demandtest.WithTasks(1+r.Uint64N(6)))
	j.Reason = pickOne(r, "Resources", "Resources", "Resources", "Priority", "Licenses", "QOSJobLimit", "None",
		"Strange")
	j.EditDetails(func(d *slurm.JobDetails) { d.CPUsPerTask = slurm.Num(pickOne[uint64](r, 1, 1, 2, 3)) })
	j.CPUs = slurm.Num(j.Tasks.Or(0) * j.CPUsPerTask().Or(0))
	if r.IntN(3) == 0 {
		demandtest.OnNodes(1 + r.Uint64N(5))(j)
	}
	j.MemoryPerNode = slurm.Num(pickOne[uint64](r, 0, 0, 3000, 9000))
	j.EditDetails(func(d *slurm.JobDetails) { d.TRESPerNode = pickOne(r, "", "", "", "gres/gpu:1", "gres/gpu:h100:3") })
	j.EditDetails(func(d *slurm.JobDetails) { d.Features = pickOne(r, "", "", "", "x", "x|y", "y", "[") })
	j.EditDetails(func(d *slurm.JobDetails) { d.Shared = pickOne(r, "", "", "", "none", "user") })
	j.EditOwner(func(o *slurm.JobOwner) { o.UserID = r.Uint32N(2) })
	j.EditDetails(func(d *slurm.JobDetails) { d.RequiredNodes = pickOne(r, "", "", "", "", "", "n1", "n2,n3", "n99") })
	j.EditDetails(func(d *slurm.JobDetails) { d.ExcludedNodes = pickOne(r, "", "", "", "", "n1,n4", "n0") })
	j.Hold = r.IntN(8) == 0
	j.EligibleTime = pickOne(r, demandtest.Noon-50, demandtest.Noon-50, demandtest.Noon-50, 0, demandtest.Noon+50)
	j.SubmitTime = demandtest.Noon - slurm.Time(r.IntN(500))
	j.LastSchedEval = pickOne(r, 0, demandtest.Noon-1)
	switch r.IntN(8) {
	case 0:
		demandtest.RunningOn("n1")(j)
		j.State.Base = pickOne(r, slurm.JobRunning, slurm.JobRunning, slurm.JobSuspended, slurm.JobCompleted)
		j.ArrayJobID = pickOne[uint32](r, 0, 1000)
	case 1:
		j.ArrayTaskID, j.ArrayJobID = slurm.Num(uint64(id)), 1000
	case 2:
		demandtest.WithArray(1000+uint32(r.IntN(2)), pickOne(r, "1-9", "1-30%5", "2-9:3%2", "1,2,..."),
			pickOne[uint32](r, 0, 2, 5))(j)
	case 3:
		demandtest.AsComponent(2000, uint32(r.IntN(3)))(j)
	}
	return j
}

// nodeFigures returns the numbers of nodes of each partition.
func nodeFigures(d demand.Demand) map[string][7]uint64 {
	out := map[string][7]uint64{}
	for _, p := range d.Partitions {
		out[p.Name] = [7]uint64{
			p.BusyNodes, p.IdleNodes, p.BootingNodes, p.UnusableNodes, p.OffNodes, p.PendingNodes, p.RequiredNodes,
		}
	}
	return out
}

func TestTheOrderOfTheInputChangesNothing(t *testing.T) {
	forRandomClusters(t, func(t *testing.T, r *rand.Rand, s *slurmclient.Snapshot) {
		want := demandtest.ComputeDemand(s)
		r.Shuffle(len(s.Nodes.Value), func(i, j int) { swapItems(s.Nodes.Value, i, j) })
		r.Shuffle(len(s.Jobs.Value), func(i, j int) { swapItems(s.Jobs.Value, i, j) })
		r.Shuffle(len(s.Partitions.Value), func(i, j int) { swapItems(s.Partitions.Value, i, j) })
		if diff := cmp.Diff(want, demandtest.ComputeDemand(s)); diff != "" {
			t.Error(diff)
		}
	})
}

func swapItems[T any](of []T, i, j int) { of[i], of[j] = of[j], of[i] }

// withoutWork returns an idle copy of the node.
func withoutWork(n *slurm.Node) *slurm.Node {
	m := *n
	m.State = slurm.NodeState{Base: slurm.NodeIdle}
	m.AllocCPUs, m.AllocMemoryMiB, m.GRESUsed, m.Owner = 0, 0, "", ""
	return &m
}

func TestMoreIdleNodesNeverRaisePendingNodes(t *testing.T) {
	compared := 0
	forRandomClusters(t, func(t *testing.T, r *rand.Rand, s *slurmclient.Snapshot) {
		before := nodeFigures(demandtest.ComputeDemand(s))
		if len(s.Nodes.Value) == 0 {
			return
		}
		i := r.IntN(len(s.Nodes.Value))
		if s.Nodes.Value[i].State.Base == slurm.NodeFuture {
			return // its partitions can lack the shape
		}
		s.Nodes.Value = slices.Clone(s.Nodes.Value)
		more := withoutWork(s.Nodes.Value[i])
		if r.IntN(2) == 0 {
			s.Nodes.Value[i] = more
		} else {
			more.Name = "n77"
			s.Nodes.Value = append(s.Nodes.Value, more)
		}
		compared++
		for name, after := range nodeFigures(demandtest.ComputeDemand(s)) {
			if after[5] > before[name][5] {
				t.Errorf("partition %s: %d pending nodes, %d with %s free", name, before[name][5], after[5], more.Name)
			}
		}
	})
	if compared < clusterCount/2 {
		t.Errorf("only %d clusters were compared", compared)
	}
}

func TestAnIneligibleJobChangesNoNodeFigure(t *testing.T) {
	removed := 0
	forRandomClusters(t, func(t *testing.T, _ *rand.Rand, s *slurmclient.Snapshot) {
		want := nodeFigures(demandtest.ComputeDemand(s))
		ineligible := func(j *slurm.Job) bool {
			class := pending.Classify(demandtest.Noon, j)
			return j.State.Base == slurm.JobPending && j.HetJobID == 0 && j.ArrayJobID == 0 &&
				class != pending.ClassCapacity
		}
		all := len(s.Jobs.Value)
		s.Jobs.Value = slices.DeleteFunc(s.Jobs.Value, ineligible)
		removed += all - len(s.Jobs.Value)
		if diff := cmp.Diff(want, nodeFigures(demandtest.ComputeDemand(s))); diff != "" {
			t.Error(diff)
		}
	})
	if removed < clusterCount {
		t.Errorf("only %d jobs were removed", removed)
	}
}

func TestNoJobRequestsNodesTwice(t *testing.T) {
	forRandomClusters(t, func(t *testing.T, _ *rand.Rand, s *slurmclient.Snapshot) {
		d := demandtest.ComputeDemand(s)
		var asked, most uint64
		for _, p := range d.Partitions {
			asked += p.PendingNodes
		}
		for _, j := range s.Jobs.Value {
			if j.State.Base != slurm.JobPending {
				continue
			}
			count, _ := pending.CountTasks(j)
			most += count * max(j.NodeCount.Or(1), j.Tasks.Or(1), uint64(len(strings.Split(j.RequiredNodes(), ","))))
		}
		if asked > most {
			t.Errorf("%d nodes are requested; one per chunk of each job would be %d", asked, most)
		}
	})
}

// TestAJobInTwoPartitionsRequestsNoMoreThanInOne computes the demand of each job separately on busy
// nodes, so that all requested nodes are its own.
func TestAJobInTwoPartitionsRequestsNoMoreThanInOne(t *testing.T) {
	forRandomClusters(t, func(t *testing.T, _ *rand.Rand, s *slurmclient.Snapshot) {
		var busy []*slurm.Node
		for _, n := range s.Nodes.Value {
			n := *n
			demandtest.WithState("ALLOCATED")(&n)
			busy = append(busy, &n)
		}
		for _, j := range s.Jobs.Value {
			if j.HetJobID != 0 || j.ArrayJobID != 0 {
				continue
			}
			alone := *s
			alone.Nodes.Value, alone.Jobs.Value = busy, []*slurm.Job{j}
			together := totalPending(demandtest.ComputeDemand(&alone))
			var largest uint64
			for name := range strings.SplitSeq(j.Partition, ",") {
				one := *j
				one.Partition = name
				alone.Jobs.Value = []*slurm.Job{&one}
				largest = max(largest, totalPending(demandtest.ComputeDemand(&alone)))
			}
			if together > largest {
				t.Errorf("job %d in %s requests %d nodes, at most %d in each of them", j.ID, j.Partition, together,
					largest)
			}
		}
	})
}

func totalPending(d demand.Demand) (sum uint64) {
	for _, p := range d.Partitions {
		sum += p.PendingNodes
	}
	return sum
}

func TestPartitionFiguresAddUp(t *testing.T) {
	forRandomClusters(t, func(t *testing.T, _ *rand.Rand, s *slurmclient.Snapshot) {
		d := demandtest.ComputeDemand(s)
		if !d.Known || len(d.Partitions) != len(s.Partitions.Value) {
			t.Errorf("%d partitions, want %d", len(d.Partitions), len(s.Partitions.Value))
		}
		for _, p := range d.Partitions {
			checkSums(t, s, p)
		}
	})
}

func checkSums(t *testing.T, s *slurmclient.Snapshot, p demand.Partition) {
	t.Helper()
	var jobs, eligible, unsatisfiable, waiting, records uint64
	for _, rc := range p.PendingByReason {
		jobs += rc.Jobs
		switch rc.Class {
		case pending.ClassCapacity:
			eligible += rc.Jobs
		case pending.ClassUnsatisfiable:
			unsatisfiable += rc.Jobs
		}
		if rc.Jobs == 0 || !slices.Contains(pending.Classes(), rc.Class) {
			t.Errorf("%s: %+v", p.Name, rc)
		}
	}
	for _, u := range p.Unsatisfiable {
		unsatisfiable -= u.Jobs
	}
	for _, j := range s.Jobs.Value {
		if slices.Contains(j.Partitions(), p.Name) {
			n, _ := pending.CountTasks(j)
			waiting += n
		}
	}
	for _, n := range s.Nodes.Value {
		if slices.Contains(n.Partitions, p.Name) {
			records++
		}
	}
	if jobs != p.PendingJobs || waiting != jobs || eligible != p.EligiblePendingJobs || unsatisfiable != 0 {
		t.Errorf("%s: jobs do not add up: %+v", p.Name, p)
	}
	if p.BusyNodes+p.IdleNodes+p.BootingNodes+p.UnusableNodes+p.OffNodes != records {
		t.Errorf("%s: %d node records: %+v", p.Name, records, p)
	}
	if p.RequiredNodes != p.BusyNodes+p.PendingNodes {
		t.Errorf("%s: RequiredNodes is not the sum of BusyNodes and PendingNodes: %+v", p.Name, p)
	}
	if p.PendingNodes > 0 && p.EligiblePendingJobs == 0 {
		t.Errorf("%s: nodes are requested without a job: %+v", p.Name, p)
	}
	if (p.OldestEligible > 0) != (p.EligiblePendingJobs > 0) || (p.OldestPending > 0) != (p.PendingJobs > 0) {
		t.Errorf("%s: oldest jobs: %+v", p.Name, p)
	}
}

func TestComputeWritesNothingToTheSnapshot(t *testing.T) {
	forRandomClusters(t, func(t *testing.T, r *rand.Rand, s *slurmclient.Snapshot) {
		seed := r.Uint64()
		make := func() *slurmclient.Snapshot { return randomSnapshot(t, rand.New(rand.NewPCG(seed, 1))) }
		got, want := make(), make()
		demandtest.ComputeDemand(got)
		if diff := cmp.Diff(want.Nodes.Value, got.Nodes.Value) + cmp.Diff(want.Jobs.Value, got.Jobs.Value); diff != "" {
			t.Error(diff)
		}
	})
}
