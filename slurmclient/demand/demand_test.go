package demand_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/slurmtide/slurmtide/slurmclient"
	"github.com/slurmtide/slurmtide/slurmclient/demand"
	"github.com/slurmtide/slurmtide/slurmclient/demand/demandtest"
	"github.com/slurmtide/slurmtide/slurmclient/demand/pending"
	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

func TestNothingIsKnownBeforeNodesJobsAndPartitionsHaveBeenRead(t *testing.T) {
	full := func() *slurmclient.Snapshot {
		return demandtest.SnapshotOf(t, demandtest.NewPartition("cpu"), demandtest.NewNode("n1"), demandtest.NewJob(1))
	}
	forget := map[string]func(*slurmclient.Snapshot){
		"nodes":      func(s *slurmclient.Snapshot) { s.Nodes.Known = false },
		"jobs":       func(s *slurmclient.Snapshot) { s.Jobs.Known = false },
		"partitions": func(s *slurmclient.Snapshot) { s.Partitions.Known = false },
	}
	for name, f := range forget {
		s := full()
		f(s)
		if diff := cmp.Diff(demand.Demand{}, demandtest.ComputeDemand(s)); diff != "" {
			t.Errorf("without %s: %s", name, diff)
		}
	}
	if diff := cmp.Diff(demand.Demand{}, demandtest.ComputeDemand(nil)); diff != "" {
		t.Errorf("without a snapshot: %s", diff)
	}
	if d := demandtest.ComputeDemand(full()); !d.Known || len(d.Partitions) != 1 {
		t.Errorf("with all of them: %+v", d)
	}
}

func TestAnEmptyClusterIsKnown(t *testing.T) {
	if diff := cmp.Diff(demand.Demand{Known: true, Partitions: []demand.Partition{}},
		demandtest.ComputeDemand(demandtest.SnapshotOf(t))); diff != "" {
		t.Error(diff)
	}
}

func TestPartitionsAreSortedAndComplete(t *testing.T) {
	d := demandtest.ComputeDemand(demandtest.SnapshotOf(t, demandtest.NewPartition("z"), demandtest.NewPartition("a"),
		demandtest.NewPartition("m"),
		demandtest.NewNode("n1", demandtest.InPartitions("m"))))
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
	got := demandtest.DemandOn(t, "cpu", demandtest.NewPartition("cpu"),
		demandtest.NewNode("n1", demandtest.WithState("ALLOCATED")), demandtest.NewNode("n2"),
		demandtest.NewNode("n3", demandtest.WithState("DOWN")),
		demandtest.NewNode("n4", demandtest.WithState("FUTURE")),
		demandtest.NewNode("n5", demandtest.WithState("IDLE+POWERING_UP")),
		demandtest.NewNode("n6", demandtest.WithUsage(2, 0)),
		demandtest.NewJob(1, demandtest.RunningOn("n1")), demandtest.NewJob(2, demandtest.RunningOn("n6")),
		demandtest.NewJob(3, demandtest.RunningOn("n1"),
			demandtest.WithChange(func(j *slurm.Job) { j.State.Base = slurm.JobSuspended })),
		demandtest.NewJob(4, demandtest.WithArray(4, "1-40%30", 30),
			demandtest.WithChange(func(j *slurm.Job) {
				j.SubmitTime, j.EligibleTime = demandtest.Noon-500,
					demandtest.Noon-300
			})),
		demandtest.NewJob(5, demandtest.WithReason("Priority"),
			demandtest.WithChange(func(j *slurm.Job) { j.SubmitTime, j.EligibleTime = demandtest.Noon-400, 0 })),
		demandtest.NewJob(6, demandtest.WithReason("JobHeldUser"),
			demandtest.WithChange(func(j *slurm.Job) { j.SubmitTime = demandtest.Noon - 900 })),
		demandtest.NewJob(7, demandtest.WithReason("Whatever")),
		demandtest.NewJob(8, demandtest.WithTasks(5),
			demandtest.WithDetails(func(d *slurm.JobDetails) { d.MaxNodes = slurm.Num(1) })),
		demandtest.NewJob(9, demandtest.WithArray(9, "1,3,5...", 0), demandtest.WithReason("QOSGrpCpuLimit")),
		demandtest.NewJob(10, demandtest.WithChange(func(j *slurm.Job) { j.State.Base = slurm.JobFailed })),
	)
	want := demand.Partition{
		Name: "cpu", PendingJobs: 47, EligiblePendingJobs: 31, Inexact: true,
		PendingByReason: []demand.ReasonCount{
			{Reason: "JobHeldUser", Class: pending.ClassHeld, Jobs: 1},
			{Reason: "Priority", Class: pending.ClassCapacity, Jobs: 1},
			{Reason: "QOSGrpCpuLimit", Class: pending.ClassLimit, Jobs: 3},
			{Reason: "Resources", Class: pending.ClassArrayThrottle, Jobs: 10},
			{Reason: "Resources", Class: pending.ClassCapacity, Jobs: 30},
			{Reason: "Resources", Class: pending.ClassUnsatisfiable, Jobs: 1},
			{Reason: "Whatever", Class: pending.ClassOther, Jobs: 1},
		},
		RunningJobs: 2, SuspendedJobs: 1, OldestPending: demandtest.Noon - 900, OldestEligible: demandtest.Noon - 400,
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
	got := demandtest.DemandOn(t, "cpu", demandtest.NewPartition("cpu"), demandtest.NewNode("n1"),
		demandtest.NewJob(1, revoked), demandtest.NewJob(2))
	if pending := got.PendingJobs; pending != 1 {
		t.Errorf("%d jobs are pending, want 1", pending)
	}
}

func TestUnknownReasonsAreReportedOnce(t *testing.T) {
	d := demandtest.ComputeDemand(demandtest.SnapshotOf(t, demandtest.NewPartition("cpu"),
		demandtest.NewJob(1, demandtest.WithReason("Zeta")), demandtest.NewJob(2, demandtest.WithReason("Alpha")),
		demandtest.NewJob(3, demandtest.WithReason("Zeta")), demandtest.NewJob(4),
		demandtest.NewJob(5, demandtest.WithReason("")),
		demandtest.NewJob(6, demandtest.WithReason("Gamma"), demandtest.RunningOn("n1")),
	))
	if diff := cmp.Diff([]string{"Alpha", "Zeta"}, d.UnknownReasons); diff != "" {
		t.Error(diff)
	}
	want := []demand.ReasonCount{
		{Reason: "Alpha", Class: pending.ClassOther, Jobs: 1},
		{Reason: "None", Class: pending.ClassUnevaluated, Jobs: 1},
		{Reason: "Resources", Class: pending.ClassCapacity, Jobs: 1},
		{Reason: "Zeta", Class: pending.ClassOther, Jobs: 2},
	}
	if diff := cmp.Diff(want, d.Partitions[0].PendingByReason); diff != "" {
		t.Error(diff)
	}
}

func TestUnsatisfiableJobsSayWhy(t *testing.T) {
	tests := map[string]struct {
		change    demandtest.JobOption
		partition demandtest.PartitionOption
		want      string
	}{
		"too many CPUs of one node": {demandtest.WithChange(func(j *slurm.Job) {
			j.CPUs = slurm.Num(5)
			j.EditDetails(func(d *slurm.JobDetails) { d.CPUsPerTask = slurm.Num(5) })
		}), nil, "no node has the CPUs"},
		"too much memory": {demandtest.WithChange(func(j *slurm.Job) { j.MemoryPerNode = slurm.Num(9000) }), nil,
			"no node has the memory"},
		"GPUs": {demandtest.WithDetails(func(d *slurm.JobDetails) { d.TRESPerNode = "gres/gpu:1" }), nil,
			"no node has the generic resources"},
		"a feature": {demandtest.WithDetails(func(d *slurm.JobDetails) { d.Features = "gold" }), nil,
			"no node has the features or the disk"},
		"too much disk": {demandtest.WithDetails(func(d *slurm.JobDetails) { d.MinTmpDiskMiB = slurm.Num(101) }), nil,
			"no node has the features or the disk"},
		"a malformed expression": {demandtest.WithDetails(func(d *slurm.JobDetails) { d.Features = "a&&b" }), nil,
			"constraint or generic resources cannot be parsed"},
		"malformed generic resources": {demandtest.WithDetails(func(d *slurm.JobDetails) { d.TRESPerTask = "gres/gpu:h100:1x" }), nil,
			"constraint or generic resources cannot be parsed"},
		"more nodes than allowed": {demandtest.OnNodes(3), func(p *slurm.Partition) { p.MaxNodes = slurm.Num(2) },
			"more nodes than the job or the partition allows"},
		"more CPUs of a node than the partition allows": {demandtest.WithChange(
			func(j *slurm.Job) {
				j.CPUs = slurm.Num(3)
				j.EditDetails(func(d *slurm.JobDetails) { d.CPUsPerTask = slurm.Num(3) })
			}),
			func(p *slurm.Partition) { p.MaxCPUsPerNode = slurm.Num(2) }, "no node has the CPUs"},
		"a whole node": {demandtest.WithDetails(func(d *slurm.JobDetails) { d.Shared = "none" }),
			func(p *slurm.Partition) { p.MaxCPUsPerNode = slurm.Num(2) },
			"a whole node has more CPUs than the partition's MaxCPUsPerNode"},
		"nodes of another partition": {demandtest.WithDetails(func(d *slurm.JobDetails) { d.RequiredNodes = "other" }), nil,
			"required nodes are not in the partition"},
		"a required node too small": {demandtest.WithChange(func(j *slurm.Job) {
			j.MemoryPerNode = slurm.Num(9000)
			j.EditDetails(func(d *slurm.JobDetails) { d.RequiredNodes = "n1" })
		}), nil, "no node has the memory"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			cpu := demandtest.NewPartition("cpu")
			if tt.partition != nil {
				tt.partition(cpu)
			}
			p := demandtest.DemandOn(t, "cpu", cpu, demandtest.NewNode("n1"),
				demandtest.NewNode("other", demandtest.InPartitions("gpu")), demandtest.NewJobs(7, 2, tt.change))
			want := []demand.Unsatisfiable{{Reason: tt.want, Jobs: 2, JobID: 7}}
			if diff := cmp.Diff(want, p.Unsatisfiable); diff != "" {
				t.Error(diff)
			}
			if p.PendingNodes != 0 || p.EligiblePendingJobs != 0 || p.PendingJobs != 2 {
				t.Errorf("unsatisfiable jobs are counted as eligible: %+v", p)
			}
			if diff := cmp.Diff([]demand.ReasonCount{{Reason: "Resources", Class: pending.ClassUnsatisfiable, Jobs: 2}},
				p.PendingByReason); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestAJobThatSlurmctldHasGivenUpOnIsNotHeld(t *testing.T) {
	p := demandtest.DemandOn(t, "cpu", demandtest.NewPartition("cpu"), demandtest.NewNode("n1"),
		demandtest.NewJobs(7, 2, demandtest.AsGivenUp))
	if diff := cmp.Diff([]demand.Unsatisfiable{{Reason: "slurmctld found no node with its constraints", Jobs: 2,
		JobID: 7}}, p.Unsatisfiable); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]demand.ReasonCount{{Reason: "BadConstraints", Class: pending.ClassUnsatisfiable, Jobs: 2}},
		p.PendingByReason); diff != "" {
		t.Error(diff)
	}
	if p.PendingNodes != 0 || p.EligiblePendingJobs != 0 || p.PendingJobs != 2 {
		t.Errorf("the jobs are counted as eligible: %+v", p)
	}
}

func TestOtherComponentsOfAnUnsatisfiableHetJobAreReported(t *testing.T) {
	p := demandtest.DemandOn(t, "cpu", demandtest.NewPartition("cpu"), demandtest.NewNode("n1"),
		demandtest.NewJob(1, demandtest.AsComponent(1, 0)), demandtest.NewJob(2, demandtest.AsComponent(1, 1),
			demandtest.WithDetails(func(d *slurm.JobDetails) { d.Features = "gold" })), demandtest.NewJob(3))
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
		first, second demandtest.JobOption
		want          pending.Class
	}{
		"both wait for capacity": {demandtest.WithReason("Resources"), demandtest.WithReason("Resources"),
			pending.ClassCapacity},
		"the second is held": {demandtest.WithReason("Resources"),
			demandtest.WithChange(func(j *slurm.Job) { j.Hold = true }), pending.ClassHeld},
		"the first waits for a license": {demandtest.WithReason("Licenses"), demandtest.WithReason("Resources"),
			pending.ClassLicense},
		"one was not evaluated separately": {demandtest.WithReason("Resources"), demandtest.WithReason("None"),
			pending.ClassCapacity},
		"no component was evaluated": {demandtest.WithReason("None"), demandtest.WithReason("None"),
			pending.ClassUnevaluated},
		"one was not evaluated, one is held": {demandtest.WithReason("None"),
			demandtest.WithChange(func(j *slurm.Job) { j.Hold = true }),
			pending.ClassHeld},
		"the first of two that block": {demandtest.WithReason("Licenses"),
			demandtest.WithChange(func(j *slurm.Job) { j.Hold = true }),
			pending.ClassLicense},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			p := demandtest.DemandOn(t, "cpu", demandtest.NewPartition("cpu"), demandtest.NewNode("n1"),
				demandtest.NewJob(1, demandtest.AsComponent(1, 0), tt.first),
				demandtest.NewJob(2, demandtest.AsComponent(1, 1), tt.second))
			for _, rc := range p.PendingByReason {
				if rc.Class != tt.want {
					t.Errorf("%s has class %q, want %q", rc.Reason, rc.Class, tt.want)
				}
			}
		})
	}
}

func TestAQOSMayLiftThePartitionsNodeLimit(t *testing.T) {
	limited := demandtest.NewPartition("cpu", func(p *slurm.Partition) { p.MaxNodes = slurm.Num(2) })
	s := demandtest.SnapshotOf(t, limited, demandtest.NewNode("n1", demandtest.WithState("ALLOCATED")),
		demandtest.NewJob(1, demandtest.OnNodes(3),
			demandtest.WithOwner(func(o *slurm.JobOwner) { o.QOS = "wide" })),
		demandtest.NewJob(2, demandtest.OnNodes(3)))
	s.QOS.Known = true
	s.QOS.Value = []slurm.QOS{{Name: "wide", Flags: []string{"PARTITION_MAXIMUM_NODE"}}, {Name: "normal"}}
	p := demandtest.ComputeDemand(s).Partitions[0]
	if p.PendingNodes != 3 || p.EligiblePendingJobs != 1 {
		t.Errorf("%d jobs request %d nodes, want 1 job and 3 nodes", p.EligiblePendingJobs, p.PendingNodes)
	}
}

func TestJobTimesAreComparedWithSlurmctldsClock(t *testing.T) {
	soon := demandtest.NewJob(1, demandtest.WithChange(func(j *slurm.Job) { j.EligibleTime = demandtest.Noon + 60 }))
	at := func(unix slurm.Time) time.Time { return time.Unix(int64(unix), 0) }
	tests := map[string]struct {
		now   time.Time
		setup func(*slurmclient.Snapshot)
		want  uint64
	}{
		"no other clock is known": {at(demandtest.Noon), func(*slurmclient.Snapshot) {}, 0},
		"our clock advances":      {at(demandtest.Noon + 60), func(*slurmclient.Snapshot) {}, 1},
		"slurmctld is two minutes ahead": {at(demandtest.Noon),
			withStats(demandtest.Noon-10+120, at(demandtest.Noon-10)), 1},
		"slurmctld is two minutes behind": {at(demandtest.Noon + 100),
			withStats(demandtest.Noon-120, at(demandtest.Noon)), 0},
		"slurmctld has reported a later time": {at(demandtest.Noon),
			func(s *slurmclient.Snapshot) { s.Jobs.ServerTime = demandtest.Noon + 61 }, 1},
		"an old server time has no effect": {at(demandtest.Noon),
			func(s *slurmclient.Snapshot) { s.Jobs.ServerTime = demandtest.Noon - 3600 }, 0},
		"its clock is truncated to whole seconds": {at(demandtest.Noon + 60).Add(100 * time.Millisecond),
			withStats(demandtest.Noon-1, at(demandtest.Noon-1).Add(900*time.Millisecond)), 1},
		"statistics without a time have no effect": {at(demandtest.Noon), withStats(0, at(demandtest.Noon-10)), 0},
		"statistics take precedence over server times": {at(demandtest.Noon),
			func(s *slurmclient.Snapshot) {
				withStats(demandtest.Noon, at(demandtest.Noon))(s)
				s.Jobs.ServerTime = demandtest.Noon + 61
			}, 0},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			s := demandtest.SnapshotOf(t, demandtest.NewPartition("cpu"), soon)
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
