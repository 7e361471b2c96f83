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
	full := func() *slurmclient.Snapshot { return snapshotOf(t, partition("cpu"), node("n1"), job(1)) }
	forget := map[string]func(*slurmclient.Snapshot){
		"nodes":      func(s *slurmclient.Snapshot) { s.Nodes.Known = false },
		"jobs":       func(s *slurmclient.Snapshot) { s.Jobs.Known = false },
		"partitions": func(s *slurmclient.Snapshot) { s.Partitions.Known = false },
	}
	for name, f := range forget {
		s := full()
		f(s)
		if diff := cmp.Diff(demand.Demand{}, compute(s)); diff != "" {
			t.Errorf("without %s: %s", name, diff)
		}
	}
	if diff := cmp.Diff(demand.Demand{}, compute(nil)); diff != "" {
		t.Errorf("without a snapshot: %s", diff)
	}
	if d := compute(full()); !d.Known || len(d.Partitions) != 1 {
		t.Errorf("with all of them: %+v", d)
	}
}

func TestAnEmptyClusterIsKnown(t *testing.T) {
	if diff := cmp.Diff(demand.Demand{Known: true, Partitions: []demand.Partition{}},
		compute(snapshotOf(t))); diff != "" {
		t.Error(diff)
	}
}

func TestPartitionsAreSortedAndAllThere(t *testing.T) {
	d := compute(snapshotOf(t, partition("z"), partition("a"), partition("m"),
		node("n1", within("m"))))
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

func TestAPartitionOfEverything(t *testing.T) {
	got := demandOn(t, "cpu", partition("cpu"),
		node("n1", state("ALLOCATED")), node("n2"), node("n3", state("DOWN")),
		node("n4", state("FUTURE")),
		node("n5", state("IDLE+POWERING_UP")), node("n6", used(2, 0)),
		job(1, running("n1")), job(2, running("n6")),
		job(3, running("n1"), with(func(j *slurm.Job) { j.State.Base = slurm.JobSuspended })),
		job(4, withArray(4, "1-40%30", 30),
			with(func(j *slurm.Job) { j.SubmitTime, j.EligibleTime = noon-500, noon-300 })),
		job(5, reason("Priority"),
			with(func(j *slurm.Job) { j.SubmitTime, j.EligibleTime = noon-400, 0 })),
		job(6, reason("JobHeldUser"), with(func(j *slurm.Job) { j.SubmitTime = noon - 900 })),
		job(7, reason("Whatever")),
		job(8, tasks(5), with(func(j *slurm.Job) { j.MaxNodes = slurm.Num(1) })),
		job(9, withArray(9, "1,3,5...", 0), reason("QOSGrpCpuLimit")),
		job(10, with(func(j *slurm.Job) { j.State.Base = slurm.JobFailed })),
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
func TestJobsOfOtherClustersOfAFederationAskForNothing(t *testing.T) {
	revoked := func(j *slurm.Job) { j.State.Flags = slurm.JobRevoked }
	got := demandOn(t, "cpu", partition("cpu"), node("n1"), job(1, revoked), job(2))
	if pending := got.PendingJobs; pending != 1 {
		t.Errorf("%d jobs are pending, want 1", pending)
	}
}

func TestUnknownReasonsAreReportedOnce(t *testing.T) {
	d := compute(snapshotOf(t, partition("cpu"),
		job(1, reason("Zeta")), job(2, reason("Alpha")), job(3, reason("Zeta")), job(4),
		job(5, reason("")),
		job(6, reason("Gamma"), running("n1")),
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
		"too many CPUs of one node": {with(func(j *slurm.Job) { j.CPUs, j.CPUsPerTask = slurm.Num(5), slurm.Num(5) }), nil, "no node has the CPUs"},
		"too much memory":           {with(func(j *slurm.Job) { j.MemoryPerNode = slurm.Num(9000) }), nil, "no node has the memory"},
		"GPUs":                      {with(func(j *slurm.Job) { j.TRESPerNode = "gres/gpu:1" }), nil, "no node has the generic resources"},
		"a feature":                 {with(func(j *slurm.Job) { j.Features = "gold" }), nil, "no node has the features or the disk"},
		"too much disk":             {with(func(j *slurm.Job) { j.MinTmpDiskMiB = slurm.Num(101) }), nil, "no node has the features or the disk"},
		"a malformed expression":    {with(func(j *slurm.Job) { j.Features = "a&&b" }), nil, "constraint cannot be parsed"},
		"more nodes than allowed":   {nodes(3), func(p *slurm.Partition) { p.MaxNodes = slurm.Num(2) }, "more nodes than the job or the partition allows"},
		"more CPUs of a node than the partition allows": {with(func(j *slurm.Job) { j.CPUs, j.CPUsPerTask = slurm.Num(3), slurm.Num(3) }), func(p *slurm.Partition) { p.MaxCPUsPerNode = slurm.Num(2) }, "no node has the CPUs"},
		"a whole node":               {with(func(j *slurm.Job) { j.Shared = "none" }), func(p *slurm.Partition) { p.MaxCPUsPerNode = slurm.Num(2) }, "a whole node has more CPUs than the partition's MaxCPUsPerNode"},
		"nodes of another partition": {with(func(j *slurm.Job) { j.RequiredNodes = "other" }), nil, "required nodes are not in the partition"},
		"a required node too small":  {with(func(j *slurm.Job) { j.RequiredNodes, j.MemoryPerNode = "n1", slurm.Num(9000) }), nil, "no node has the memory"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			cpu := partition("cpu")
			if tt.partition != nil {
				tt.partition(cpu)
			}
			p := demandOn(t, "cpu", cpu, node("n1"), node("other", within("gpu")), jobs(7, 2, tt.change))
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
	p := demandOn(t, "cpu", partition("cpu"), node("n1"), jobs(7, 2, asGivenUp))
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

func TestTheRestOfAnUnsatisfiableHetJobSaysSo(t *testing.T) {
	p := demandOn(t, "cpu", partition("cpu"), node("n1"),
		job(1, het(1, 0)), job(2, het(1, 1),
			with(func(j *slurm.Job) { j.Features = "gold" })), job(3))
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
		"both wait for capacity":             {reason("Resources"), reason("Resources"), demand.ClassCapacity},
		"the second is held":                 {reason("Resources"), with(func(j *slurm.Job) { j.Hold = true }), demand.ClassHeld},
		"the first waits for a license":      {reason("Licenses"), reason("Resources"), demand.ClassLicense},
		"one was not evaluated separately":   {reason("Resources"), reason("None"), demand.ClassCapacity},
		"no component was evaluated":         {reason("None"), reason("None"), demand.ClassUnevaluated},
		"one was not evaluated, one is held": {reason("None"), with(func(j *slurm.Job) { j.Hold = true }), demand.ClassHeld},
		"the first of two that block":        {reason("Licenses"), with(func(j *slurm.Job) { j.Hold = true }), demand.ClassLicense},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			p := demandOn(t, "cpu", partition("cpu"), node("n1"), job(1, het(1, 0), tt.first),
				job(2, het(1, 1), tt.second))
			for _, rc := range p.PendingByReason {
				if rc.Class != tt.want {
					t.Errorf("%s has class %q, want %q", rc.Reason, rc.Class, tt.want)
				}
			}
		})
	}
}

func TestAQOSMayLiftThePartitionsNodeLimit(t *testing.T) {
	limited := partition("cpu", func(p *slurm.Partition) { p.MaxNodes = slurm.Num(2) })
	s := snapshotOf(t, limited, node("n1", state("ALLOCATED")),
		job(1, nodes(3), with(func(j *slurm.Job) { j.QOS = "wide" })), job(2, nodes(3)))
	s.QOS.Known = true
	s.QOS.Value = []slurm.QOS{{Name: "wide", Flags: []string{"PARTITION_MAXIMUM_NODE"}}, {Name: "normal"}}
	p := compute(s).Partitions[0]
	if p.PendingNodes != 3 || p.EligiblePendingJobs != 1 {
		t.Errorf("%d jobs request %d nodes, want 1 job and 3 nodes", p.EligiblePendingJobs, p.PendingNodes)
	}
}

func TestJobTimesAreComparedWithSlurmctldsClock(t *testing.T) {
	soon := job(1, with(func(j *slurm.Job) { j.EligibleTime = noon + 60 }))
	at := func(unix slurm.Time) time.Time { return time.Unix(int64(unix), 0) }
	tests := map[string]struct {
		now   time.Time
		setup func(*slurmclient.Snapshot)
		want  uint64
	}{
		"no other clock is known":                      {at(noon), func(*slurmclient.Snapshot) {}, 0},
		"our clock advances":                           {at(noon + 60), func(*slurmclient.Snapshot) {}, 1},
		"slurmctld is two minutes ahead":               {at(noon), stats(noon-10+120, at(noon-10)), 1},
		"slurmctld is two minutes behind":              {at(noon + 100), stats(noon-120, at(noon)), 0},
		"slurmctld has reported a later time":          {at(noon), func(s *slurmclient.Snapshot) { s.Jobs.ServerTime = noon + 61 }, 1},
		"an old server time has no effect":             {at(noon), func(s *slurmclient.Snapshot) { s.Jobs.ServerTime = noon - 3600 }, 0},
		"its clock is truncated to whole seconds":      {at(noon + 60).Add(100 * time.Millisecond), stats(noon-1, at(noon-1).Add(900*time.Millisecond)), 1},
		"statistics without a time have no effect":     {at(noon), stats(0, at(noon-10)), 0},
		"statistics take precedence over server times": {at(noon), func(s *slurmclient.Snapshot) { stats(noon, at(noon))(s); s.Jobs.ServerTime = noon + 61 }, 0},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			s := snapshotOf(t, partition("cpu"), soon)
			tt.setup(s)
			if got := demand.Compute(tt.now, s).Partitions[0].EligiblePendingJobs; got != tt.want {
				t.Errorf("%d eligible jobs, want %d", got, tt.want)
			}
		})
	}
}

// withStats sets slurmctld's statistics with the times of both clocks.
func stats(server slurm.Time, ours time.Time) func(*slurmclient.Snapshot) {
	return func(s *slurmclient.Snapshot) {
		s.Stats.Known, s.Stats.Value, s.Stats.ReadAt = true, &slurm.Stats{At: server}, ours
	}
}
