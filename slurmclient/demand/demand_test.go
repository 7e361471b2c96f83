package demand_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/slurmtide/slurmtide/slurmclient"
	"github.com/slurmtide/slurmtide/slurmclient/demand"
	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

func TestNothingIsKnownBeforeNodesJobsAndPartitionsHaveBeenRead(t *testing.T) {
	full := func() *slurmclient.Snapshot { return snapshotOf(t, newPartition("cpu"), newNode("n1"), newJob(1)) }
	forget := map[string]func(*slurmclient.Snapshot){
		"nodes":      func(s *slurmclient.Snapshot) { s.Nodes.Known = false },
		"jobs":       func(s *slurmclient.Snapshot) { s.Jobs.Known = false },
		"partitions": func(s *slurmclient.Snapshot) { s.Partitions.Known = false },
	}
	for name, f := range forget {
		s := full()
		f(s)
		if diff := cmp.Diff(demand.Demand{}, computeDemand(s)); diff != "" {
			t.Errorf("without %s: %s", name, diff)
		}
	}
	if diff := cmp.Diff(demand.Demand{}, computeDemand(nil)); diff != "" {
		t.Errorf("without a snapshot: %s", diff)
	}
	if d := computeDemand(full()); !d.Known || len(d.Partitions) != 1 {
		t.Errorf("with all of them: %+v", d)
	}
}

func TestAnEmptyClusterIsKnown(t *testing.T) {
	if diff := cmp.Diff(demand.Demand{Known: true, Partitions: []demand.Partition{}},
		computeDemand(snapshotOf(t))); diff != "" {
		t.Error(diff)
	}
}

func TestPartitionsAreSortedAndComplete(t *testing.T) {
	d := computeDemand(snapshotOf(t, newPartition("z"), newPartition("a"), newPartition("m"),
		newNode("n1", inPartitions("m"))))
	var names []string
	for _, p := range d.Partitions {
		names = append(names, p.Name)
	}
	if diff := cmp.Diff([]string{"a", "m", "z"}, names); diff != "" {
		t.Error(diff)
	}
	if _, ok := d.Partition("nosuch"); ok {
		t.Error("a missing partition was found")
	}
}

func TestPartitionWithEveryKindOfJobAndNode(t *testing.T) {
	got := demandOn(t, "cpu", newPartition("cpu"),
		newNode("n1", withState("ALLOCATED")), newNode("n2"), newNode("n3", withState("DOWN")),
		newNode("n4", withState("FUTURE")),
		newNode("n5", withState("IDLE+POWERING_UP")), newNode("n6", withUsage(2, 0)),
		newJob(1, runningOn("n1")), newJob(2, runningOn("n6")),
		newJob(3, runningOn("n1"), withChange(func(j *slurm.Job) { j.State.Base = slurm.JobSuspended })),
		newJob(4, withArray(4, "1-40%30", 30),
			withChange(func(j *slurm.Job) { j.SubmitTime, j.EligibleTime = noon-500, noon-300 })),
		newJob(5, withReason("Priority"),
			withChange(func(j *slurm.Job) { j.SubmitTime, j.EligibleTime = noon-400, 0 })),
		newJob(6, withReason("JobHeldUser"), withChange(func(j *slurm.Job) { j.SubmitTime = noon - 900 })),
		newJob(7, withReason("Whatever")),
		newJob(8, withTasks(5), withChange(func(j *slurm.Job) { j.MaxNodes = slurm.Num(1) })),
		newJob(9, withArray(9, "1,3,5...", 0), withReason("QOSGrpCpuLimit")),
		newJob(10, withChange(func(j *slurm.Job) { j.State.Base = slurm.JobFailed })),
	)
	want := demand.Partition{
		Name: "cpu", PendingJobs: 47, EligiblePendingJobs: 31, Inexact: true,
		PendingByReason: []demand.ReasonCount{
			{Reason: "JobHeldUser", Class: demand.ClassHeld, Jobs: 1},
			{Reason: "Priority", Class: demand.ClassCapacity, Jobs: 1},
			{Reason: "QOSGrpCpuLimit", Class: demand.ClassLimit, Jobs: 3},
			{Reason: "Resources", Class: demand.ClassArrayThrottle, Jobs: 10},
			{Reason: "Resources", Class: demand.ClassCapacity, Jobs: 30},
			{Reason: "Resources", Class: demand.ClassUnsatisfiable, Jobs: 1},
			{Reason: "Whatever", Class: demand.ClassOther, Jobs: 1},
		},
		RunningJobs: 2, SuspendedJobs: 1, OldestPending: noon - 900, OldestEligible: noon - 400,
		// n1 also has the suspended job, but it was busy already.
		BusyNodes: 2, IdleNodes: 1, BootingNodes: 1, UnusableNodes: 1, OffNodes: 1,
		// 31 CPUs minus the free 4, 4 and 2, on nodes of 4.
		PendingNodes: 6, RequiredNodes: 8,
		Unsatisfiable: []demand.Unsatisfiable{{Reason: "more nodes than the job or the partition allows", Jobs: 1,
			JobID: 8}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// A job that runs on another cluster of the federation has a tracker record in state PENDING with
// REVOKED (squeue(1), JOB STATE CODES).
func TestJobsOfOtherClustersOfAFederationRequestNothing(t *testing.T) {
	revoked := func(j *slurm.Job) { j.State.Flags = slurm.JobRevoked }
	got := demandOn(t, "cpu", newPartition("cpu"), newNode("n1"), newJob(1, revoked), newJob(2))
	if pending := got.PendingJobs; pending != 1 {
		t.Errorf("%d jobs are pending, want 1", pending)
	}
}

func TestUnknownReasonsAreReportedOnce(t *testing.T) {
	d := computeDemand(snapshotOf(t, newPartition("cpu"),
		newJob(1, withReason("Zeta")), newJob(2, withReason("Alpha")), newJob(3, withReason("Zeta")), newJob(4),
		newJob(5, withReason("")),
		newJob(6, withReason("Gamma"), runningOn("n1")),
	))
	if diff := cmp.Diff([]string{"Alpha", "Zeta"}, d.UnknownReasons); diff != "" {
		t.Error(diff)
	}
	want := []demand.ReasonCount{
		{Reason: "Alpha", Class: demand.ClassOther, Jobs: 1},
		{Reason: "None", Class: demand.ClassUnevaluated, Jobs: 1},
		{Reason: "Resources", Class: demand.ClassCapacity, Jobs: 1},
		{Reason: "Zeta", Class: demand.ClassOther, Jobs: 2},
	}
	if diff := cmp.Diff(want, d.Partitions[0].PendingByReason); diff != "" {
		t.Error(diff)
	}
}

func TestUnsatisfiableJobsSayWhy(t *testing.T) {
	tests := map[string]struct {
		change    jobOption
		partition partitionOption
		want      string
	}{
		"too many CPUs of one node": {withChange(func(j *slurm.Job) {
			j.CPUs, j.CPUsPerTask = slurm.Num(5),
				slurm.Num(5)
		}), nil, "no node has the CPUs"},
		"too much memory": {withChange(func(j *slurm.Job) { j.MemoryPerNode = slurm.Num(9000) }), nil,
			"no node has the memory"},
		"GPUs": {withChange(func(j *slurm.Job) { j.TRESPerNode = "gres/gpu:1" }), nil,
			"no node has the generic resources"},
		"a feature": {withChange(func(j *slurm.Job) { j.Features = "gold" }), nil,
			"no node has the features or the disk"},
		"too much disk": {withChange(func(j *slurm.Job) { j.MinTmpDiskMiB = slurm.Num(101) }), nil,
			"no node has the features or the disk"},
		"a malformed expression": {withChange(func(j *slurm.Job) { j.Features = "a&&b" }), nil,
			"constraint cannot be parsed"},
		"more nodes than allowed": {onNodes(3), func(p *slurm.Partition) { p.MaxNodes = slurm.Num(2) },
			"more nodes than the job or the partition allows"},
		"more CPUs of a node than the partition allows": {withChange(
			func(j *slurm.Job) { j.CPUs, j.CPUsPerTask = slurm.Num(3), slurm.Num(3) }),
			func(p *slurm.Partition) { p.MaxCPUsPerNode = slurm.Num(2) }, "no node has the CPUs"},
		"a whole node": {withChange(func(j *slurm.Job) { j.Shared = "none" }),
			func(p *slurm.Partition) { p.MaxCPUsPerNode = slurm.Num(2) },
			"a whole node has more CPUs than the partition's MaxCPUsPerNode"},
		"nodes of another partition": {withChange(func(j *slurm.Job) { j.RequiredNodes = "other" }), nil,
			"required nodes are not in the partition"},
		"a required node too small": {withChange(func(j *slurm.Job) {
			j.RequiredNodes, j.MemoryPerNode = "n1",
				slurm.Num(9000)
		}), nil, "no node has the memory"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			cpu := newPartition("cpu")
			if tt.partition != nil {
				tt.partition(cpu)
			}
			p := demandOn(t, "cpu", cpu, newNode("n1"), newNode("other", inPartitions("gpu")), newJobs(7, 2, tt.change))
			want := []demand.Unsatisfiable{{Reason: tt.want, Jobs: 2, JobID: 7}}
			if diff := cmp.Diff(want, p.Unsatisfiable); diff != "" {
				t.Error(diff)
			}
			if p.PendingNodes != 0 || p.EligiblePendingJobs != 0 || p.PendingJobs != 2 {
				t.Errorf("unsatisfiable jobs are counted as eligible: %+v", p)
			}
			if diff := cmp.Diff([]demand.ReasonCount{{Reason: "Resources", Class: demand.ClassUnsatisfiable, Jobs: 2}},
				p.PendingByReason); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestAJobThatSlurmctldHasGivenUpOnIsNotHeld(t *testing.T) {
	p := demandOn(t, "cpu", newPartition("cpu"), newNode("n1"), newJobs(7, 2, asGivenUp))
	if diff := cmp.Diff([]demand.Unsatisfiable{{Reason: "slurmctld found no node with its constraints", Jobs: 2,
		JobID: 7}}, p.Unsatisfiable); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]demand.ReasonCount{{Reason: "BadConstraints", Class: demand.ClassUnsatisfiable, Jobs: 2}},
		p.PendingByReason); diff != "" {
		t.Error(diff)
	}
	if p.PendingNodes != 0 || p.EligiblePendingJobs != 0 || p.PendingJobs != 2 {
		t.Errorf("the jobs are counted as eligible: %+v", p)
	}
}

func TestOtherComponentsOfAnUnsatisfiableHetJobAreReported(t *testing.T) {
	p := demandOn(t, "cpu", newPartition("cpu"), newNode("n1"),
		newJob(1, asComponent(1, 0)), newJob(2, asComponent(1, 1),
			withChange(func(j *slurm.Job) { j.Features = "gold" })), newJob(3))
	want := []demand.Unsatisfiable{
		{Reason: "another component of the job cannot run", Jobs: 1, JobID: 1},
		{Reason: "no node has the features or the disk", Jobs: 1, JobID: 2},
	}
	if diff := cmp.Diff(want, p.Unsatisfiable); diff != "" {
		t.Error(diff)
	}
	if p.EligiblePendingJobs != 1 {
		t.Errorf("%d eligible jobs, want the one that is no component", p.EligiblePendingJobs)
	}
}

func TestAHetJobHasTheClassOfWhatBlocksIt(t *testing.T) {
	tests := map[string]struct {
		first, second jobOption
		want          demand.Class
	}{
		"both wait for capacity": {withReason("Resources"), withReason("Resources"), demand.ClassCapacity},
		"the second is held": {withReason("Resources"),
			withChange(func(j *slurm.Job) { j.Hold = true }), demand.ClassHeld},
		"the first waits for a license":    {withReason("Licenses"), withReason("Resources"), demand.ClassLicense},
		"one was not evaluated separately": {withReason("Resources"), withReason("None"), demand.ClassCapacity},
		"no component was evaluated":       {withReason("None"), withReason("None"), demand.ClassUnevaluated},
		"one was not evaluated, one is held": {withReason("None"), withChange(func(j *slurm.Job) { j.Hold = true }),
			demand.ClassHeld},
		"the first of two that block": {withReason("Licenses"), withChange(func(j *slurm.Job) { j.Hold = true }),
			demand.ClassLicense},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			p := demandOn(t, "cpu", newPartition("cpu"), newNode("n1"), newJob(1, asComponent(1, 0), tt.first),
				newJob(2, asComponent(1, 1), tt.second))
			for _, rc := range p.PendingByReason {
				if rc.Class != tt.want {
					t.Errorf("%s has class %q, want %q", rc.Reason, rc.Class, tt.want)
				}
			}
		})
	}
}

func TestAQOSMayLiftThePartitionsNodeLimit(t *testing.T) {
	limited := newPartition("cpu", func(p *slurm.Partition) { p.MaxNodes = slurm.Num(2) })
	s := snapshotOf(t, limited, newNode("n1", withState("ALLOCATED")),
		newJob(1, onNodes(3), withChange(func(j *slurm.Job) { j.QOS = "wide" })), newJob(2, onNodes(3)))
	s.QOS.Known = true
	s.QOS.Value = []slurm.QOS{{Name: "wide", Flags: []string{"PARTITION_MAXIMUM_NODE"}}, {Name: "normal"}}
	p := computeDemand(s).Partitions[0]
	if p.PendingNodes != 3 || p.EligiblePendingJobs != 1 {
		t.Errorf("%d jobs request %d nodes, want 1 job and 3 nodes", p.EligiblePendingJobs, p.PendingNodes)
	}
}

func TestJobTimesAreComparedWithSlurmctldsClock(t *testing.T) {
	soon := newJob(1, withChange(func(j *slurm.Job) { j.EligibleTime = noon + 60 }))
	at := func(unix slurm.Time) time.Time { return time.Unix(int64(unix), 0) }
	tests := map[string]struct {
		now   time.Time
		setup func(*slurmclient.Snapshot)
		want  uint64
	}{
		"no other clock is known":         {at(noon), func(*slurmclient.Snapshot) {}, 0},
		"our clock advances":              {at(noon + 60), func(*slurmclient.Snapshot) {}, 1},
		"slurmctld is two minutes ahead":  {at(noon), withStats(noon-10+120, at(noon-10)), 1},
		"slurmctld is two minutes behind": {at(noon + 100), withStats(noon-120, at(noon)), 0},
		"slurmctld has reported a later time": {at(noon),
			func(s *slurmclient.Snapshot) { s.Jobs.ServerTime = noon + 61 }, 1},
		"an old server time has no effect": {at(noon),
			func(s *slurmclient.Snapshot) { s.Jobs.ServerTime = noon - 3600 }, 0},
		"its clock is truncated to whole seconds": {at(noon + 60).Add(100 * time.Millisecond),
			withStats(noon-1, at(noon-1).Add(900*time.Millisecond)), 1},
		"statistics without a time have no effect": {at(noon), withStats(0, at(noon-10)), 0},
		"statistics take precedence over server times": {at(noon),
			func(s *slurmclient.Snapshot) { withStats(noon, at(noon))(s); s.Jobs.ServerTime = noon + 61 }, 0},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			s := snapshotOf(t, newPartition("cpu"), soon)
			tt.setup(s)
			if got := demand.Compute(tt.now, s).Partitions[0].EligiblePendingJobs; got != tt.want {
				t.Errorf("%d eligible jobs, want %d", got, tt.want)
			}
		})
	}
}

// withStats sets slurmctld's statistics with the times of both clocks.
func withStats(server slurm.Time, ours time.Time) func(*slurmclient.Snapshot) {
	return func(s *slurmclient.Snapshot) {
		s.Stats.Known, s.Stats.Value, s.Stats.ReadAt = true, &slurm.Stats{At: server}, ours
	}
}
