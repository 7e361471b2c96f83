package behaviour

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/slurmtide/slurmtide/slurmclient"
	"github.com/slurmtide/slurmtide/slurmclient/demand"
	"github.com/slurmtide/slurmtide/slurmclient/demand/demandtest"
	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

func TestTheNodesOfAPool(t *testing.T) {
	soon := func(from, to slurm.Time) *slurm.Reservation {
		return &slurm.Reservation{Name: "r", StartTime: demandtest.Noon + from, EndTime: demandtest.Noon + to,
			Nodes: "w[1-2]"}
	}
	hour := demandtest.WithLead(time.Hour)
	tests := map[string]struct {
		nouns []any
		want  demandtest.PoolFigures
	}{
		"without records there are no nodes": {[]any{demandtest.NewPool("w")}, demandtest.PoolFigures{}},
		"a node without the feature does not count": {[]any{demandtest.NewPool("w"),
			demandtest.NewNode("n1", demandtest.WithState("ALLOCATED"))},
			demandtest.PoolFigures{}},
		"the first feature identifies the pool": {[]any{demandtest.NewPool("w"), demandtest.NewPool("v"),
			demandtest.NewNode("n1", demandtest.WithFeatures("w", "v"), demandtest.WithState("ALLOCATED"))},
			demandtest.PoolFigures{Required: 1, Busy: 1}},
		"an active feature identifies the pool": {[]any{demandtest.NewPool("w"),
			demandtest.NewNode("n1", demandtest.WithState("ALLOCATED"),
				func(n *slurm.Node) { n.ActiveFeatures = []string{"w", "x"} })},
			demandtest.PoolFigures{Required: 1, Busy: 1}},
		"allocated, mixed and completing are busy": {
			[]any{demandtest.NewPool("w"), demandtest.NewWorker("w1", demandtest.WithState("ALLOCATED")),
				demandtest.NewWorker("w2", demandtest.WithUsage(1, 0)),
				demandtest.NewWorker("w3", demandtest.WithState("IDLE+COMPLETING"))},
			demandtest.PoolFigures{Required: 3, Busy: 3},
		},
		"a draining worker with work is busy": {[]any{demandtest.NewPool("w"),
			demandtest.NewWorker("w1", demandtest.WithState("MIXED+DRAIN"), demandtest.WithUsage(1, 0))},
			demandtest.PoolFigures{Required: 1, Busy: 1}},
		"a suspended job keeps its node busy": {[]any{demandtest.NewPool("w"), demandtest.NewWorker("w1"),
			demandtest.NewJob(1, demandtest.RunningOn("w1"),
				demandtest.WithChange(func(j *slurm.Job) { j.State.Base = slurm.JobSuspended }))},
			demandtest.PoolFigures{Required: 1, Busy: 1}},
		"a configuring job keeps its node busy": {[]any{demandtest.NewPool("w"), demandtest.NewWorker("w1"),
			demandtest.NewJob(1, demandtest.RunningOn("w1"),
				demandtest.WithChange(func(j *slurm.Job) { j.State.Flags = slurm.JobConfiguring }))},
			demandtest.PoolFigures{Required: 1, Busy: 1}},
		"an idle worker is not required": {[]any{demandtest.NewPool("w"), demandtest.NewWorker("w1")},
			demandtest.PoolFigures{Idle: 1}},
		"a booting worker is not required": {[]any{demandtest.NewPool("w"),
			demandtest.NewWorker("w1", demandtest.WithState("IDLE+POWERING_UP"))}, demandtest.PoolFigures{Booting: 1}},
		"down and drained workers are not required": {[]any{demandtest.NewPool("w", demandtest.WithReplicas(2)),
			demandtest.NewWorker("w1", demandtest.WithState("DOWN")),
			demandtest.NewWorker("w2", demandtest.WithState("IDLE+DRAIN"))}, demandtest.PoolFigures{Unusable: 2}},
		"FUTURE records are off": {[]any{demandtest.NewPool("w"),
			demandtest.NewWorker("w1", demandtest.WithState("FUTURE+DYNAMIC_NORM"))}, demandtest.PoolFigures{Off: 1}},

		"an active reservation makes its nodes busy": {[]any{demandtest.NewPool("w"), demandtest.NewWorker("w1"),
			demandtest.NewWorker("w2"),
			demandtest.NewWorker("w3"), soon(-10, 10)}, demandtest.PoolFigures{Required: 2, Busy: 2, Idle: 1}},
		"a reservation within the lead makes its nodes busy": {[]any{demandtest.NewPool("w", hour),
			demandtest.NewWorker("w1"),
			demandtest.NewWorker("w2"), demandtest.NewWorker("w3"), soon(3600, 7200)},
			demandtest.PoolFigures{Required: 2, Busy: 2, Idle: 1}},
		"a later reservation does not": {[]any{demandtest.NewPool("w", hour), demandtest.NewWorker("w1"),
			demandtest.NewWorker("w2"), soon(3601, 7200)}, demandtest.PoolFigures{Idle: 2}},
		"a past reservation does not": {[]any{demandtest.NewPool("w", hour), demandtest.NewWorker("w1"),
			demandtest.NewWorker("w2"), soon(-20, -10)}, demandtest.PoolFigures{Idle: 2}},
		"each pool has its own lead": {[]any{demandtest.NewPool("v", hour), demandtest.NewPool("w"),
			demandtest.NewWorker("w1"),
			soon(60, 70)}, demandtest.PoolFigures{Idle: 1}},
		"a down node of a reservation stays unusable": {[]any{demandtest.NewPool("w", hour),
			demandtest.NewWorker("w1", demandtest.WithState("DOWN")), soon(60, 70)},
			demandtest.PoolFigures{Unusable: 1}},

		"an idle worker in its grace is required": {[]any{demandtest.NewPool("w",
			demandtest.WithIdleGrace(time.Minute)),
			demandtest.NewWorker("w1", demandtest.IdleSince(59)), demandtest.NewWorker("w2", demandtest.IdleSince(60))},
			demandtest.PoolFigures{Required: 1, Idle: 2, Grace: 1}},
		"without a grace no clock matters": {[]any{demandtest.NewPool("w"),
			demandtest.NewWorker("w1", demandtest.IdleSince(-2))},
			demandtest.PoolFigures{Idle: 1}},
		"a new worker has its grace": {[]any{demandtest.NewPool("w", demandtest.WithIdleGrace(time.Minute)),
			demandtest.NewWorker("w1", func(n *slurm.Node) { n.SlurmdStartTime = demandtest.Noon - 5 })},
			demandtest.PoolFigures{Required: 1, Idle: 1, Grace: 1}},
		"an unknown idle time has no grace": {[]any{demandtest.NewPool("w", demandtest.WithIdleGrace(time.Minute)),
			demandtest.NewWorker("w1")},
			demandtest.PoolFigures{Idle: 1}},
		"jobs take the nodes in their grace first": {
			[]any{demandtest.NewPool("w", demandtest.WithIdleGrace(time.Minute)),
				demandtest.NewWorker("w1", demandtest.IdleSince(5)), demandtest.NewWorker("w2"),
				demandtest.NewJobs(1, 4)}, demandtest.PoolFigures{Required: 1, Idle: 2, Grace: 1, Claimed: 1,
				Eligible: 4},
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			p, _ := demandtest.DemandsOf(t, append(tt.nouns, demandtest.NewPartition("cpu"))...).Pool("w")
			if diff := cmp.Diff(tt.want, demandtest.FiguresOf(p)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestAJobThatBeganAfterTheNodesWereRead uses a job list that is newer than the node list: the job
// is no longer pending, and its nodes look as if it had not started.
func TestAJobThatBeganAfterTheNodesWereRead(t *testing.T) {
	began := func(ago slurm.Time) any {
		return demandtest.NewJob(1, demandtest.RunningOn("w[1-2]"),
			demandtest.WithChange(func(j *slurm.Job) { j.StartTime = demandtest.Noon - ago }))
	}
	for name, tt := range map[string]struct {
		nouns []any
		want  demandtest.PoolFigures
	}{
		"its nodes are busy although they look idle": {[]any{demandtest.NewWorker("w1"), demandtest.NewWorker("w2"),
			demandtest.NewWorker("w3"), began(9)}, demandtest.PoolFigures{Required: 2, Busy: 2, Idle: 1}},
		"its nodes are busy although they look booting or FUTURE": {[]any{demandtest.NewWorker("w1",
			demandtest.WithState("IDLE+POWERING_UP")), demandtest.NewWorker("w2", demandtest.WithState("FUTURE")),
			began(9)},
			demandtest.PoolFigures{Required: 2, Busy: 2}},
		"a difference of a second has no effect": {[]any{demandtest.NewWorker("w1"), demandtest.NewWorker("w2"),
			began(12)},
			demandtest.PoolFigures{Required: 2, Busy: 2}},
		"nodes that were read later take precedence": {[]any{demandtest.NewWorker("w1"), demandtest.NewWorker("w2"),
			began(13)},
			demandtest.PoolFigures{Idle: 2}},
		"a job without a start time has no effect": {[]any{demandtest.NewWorker("w1"), demandtest.NewWorker("w2"),
			began(demandtest.Noon)}, demandtest.PoolFigures{Idle: 2}},
	} {
		t.Run(name, func(t *testing.T) {
			s, pools := demandtest.SplitPools(
				t, append(tt.nouns, demandtest.NewPool("w"), demandtest.NewPartition("cpu"))...)
			s.Nodes.ReadAt = time.Unix(int64(demandtest.Noon-10), 0)
			p, _ := demand.Compute(time.Unix(int64(demandtest.Noon), 0), s, pools...).Pool("w")
			if diff := cmp.Diff(tt.want, demandtest.FiguresOf(p)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestANodeThatGotWorkAfterTheJobsWereRead uses a node list that is newer than the job list: a job that is pending in
// the job list may already run in the node list.
func TestANodeThatGotWorkAfterTheJobsWereRead(t *testing.T) {
	const readBefore = 20 // seconds ago, when the nodes did not have the work
	full, half := demandtest.NewWorker("w1", demandtest.WithState("ALLOCATED")),
		demandtest.NewWorker("w1", demandtest.WithUsage(2, 0))
	for name, tt := range map[string]struct {
		was   *slurm.Node
		nouns []any
		want  demandtest.PoolFigures
	}{
		"the pending job can be what it runs": {demandtest.NewWorker("w1"), []any{full, demandtest.NewJobs(1, 4)},
			demandtest.PoolFigures{Required: 1, Busy: 1, Eligible: 4}},
		"what does not fit on it requests more": {demandtest.NewWorker("w1"), []any{full, demandtest.NewJobs(1, 5)},
			demandtest.PoolFigures{Required: 2, Busy: 1, Pending: 1, Eligible: 5}},
		"what does not fit on it takes an idle worker": {demandtest.NewWorker("w1"),
			[]any{full, demandtest.NewWorker("w2"), demandtest.NewWorker("w3"),
				demandtest.NewJobs(1, 5)}, demandtest.PoolFigures{Required: 2, Busy: 1, Idle: 2, Claimed: 1,
				Eligible: 5}},
		"it can be new": {nil, []any{full, demandtest.NewJobs(1, 4)},
			demandtest.PoolFigures{Required: 1, Busy: 1, Eligible: 4}},
		"it can have been FUTURE": {demandtest.NewWorker("w1", demandtest.WithState("FUTURE")),
			[]any{full, demandtest.NewJobs(1, 4)}, demandtest.PoolFigures{Required: 1, Busy: 1, Eligible: 4}},
		"earlier work leaves less room": {half, []any{full, demandtest.NewJobs(1, 4)},
			demandtest.PoolFigures{Required: 2, Busy: 1, Pending: 1, Eligible: 4}},
		"an exclusive job can be what it runs": {demandtest.NewWorker("w1"),
			[]any{full, demandtest.NewJobs(1, 2, demandtest.AsExclusive)},
			demandtest.PoolFigures{Required: 2, Busy: 1, Pending: 1, Eligible: 2}},
		"a larger job cannot be what it runs": {demandtest.NewWorker("w1"),
			[]any{full, demandtest.NewJob(1, demandtest.OnNodes(2))},
			demandtest.PoolFigures{Required: 2, Busy: 1, Pending: 1, Eligible: 1}},
		"nothing is pending": {demandtest.NewWorker("w1"), []any{full},
			demandtest.PoolFigures{Required: 1, Busy: 1}},
		"a job that the list shows there explains the work": {demandtest.NewWorker("w1"),
			[]any{full, demandtest.NewJobs(1, 4),
				demandtest.NewJob(9, demandtest.RunningOn("w1"),
					demandtest.WithChange(func(j *slurm.Job) { j.StartTime = demandtest.Noon - readBefore }))},
			demandtest.PoolFigures{Required: 2, Busy: 1, Pending: 1, Eligible: 4}},
		"a job that started long before does not explain the work": {demandtest.NewWorker("w1"),
			[]any{full, demandtest.NewJobs(1, 4),
				demandtest.NewJob(9, demandtest.RunningOn("w1"),
					demandtest.WithChange(func(j *slurm.Job) { j.StartTime = demandtest.Noon - readBefore - 3 }))},
			demandtest.PoolFigures{Required: 1, Busy: 1, Eligible: 4}},
		"a drained node takes nothing": {demandtest.NewWorker("w1"),
			[]any{demandtest.NewWorker("w1", demandtest.WithState("IDLE+DRAIN")), demandtest.NewJobs(1, 4)},
			demandtest.PoolFigures{Required: 1, Unusable: 1, Pending: 1, Eligible: 4}},
	} {
		t.Run(name, func(t *testing.T) {
			s, pools := demandtest.SplitPools(
				t, append(tt.nouns, demandtest.NewPool("w"), demandtest.NewPartition("cpu"))...)
			at := func(ago slurm.Time) time.Time { return time.Unix(int64(demandtest.Noon-ago), 0) }
			s.BusySinceJobs = map[string]slurmclient.BusyNode{"w1": {Before: tt.was, BeforeReadAt: at(readBefore),
				BusyAt: at(1)}}
			p, _ := demand.Compute(at(0), s, pools...).Pool("w")
			if diff := cmp.Diff(tt.want, demandtest.FiguresOf(p)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestDemandOfJobsOnAPool(t *testing.T) {
	gpu := demandtest.WithShape(&demand.Shape{CPUs: 16, MemoryMiB: 64000, GRES: "gpu:h100:4"})
	tests := map[string]struct {
		nouns []any
		want  demandtest.PoolFigures
	}{
		"at zero nodes jobs share new workers": {[]any{demandtest.NewPool("w"), demandtest.NewJobs(1, 9)},
			demandtest.PoolFigures{Required: 3, Pending: 3, Eligible: 9}},
		"the reasons at zero nodes mean capacity": {[]any{demandtest.NewPool("w"),
			demandtest.NewJob(1, demandtest.WithReason("PartitionConfig"), demandtest.WithTasks(4)),
			demandtest.NewJob(2, demandtest.WithReason("ReqNodeNotAvail"), demandtest.WithTasks(4)),
			demandtest.NewJob(3, demandtest.WithReason("None"), demandtest.WithTasks(4),
				demandtest.WithDetails(func(d *slurm.JobDetails) {
					d.ReasonText = "Nodes required for job are DOWN, DRAINED or reserved for jobs in higher priority partitions"
				}))}, demandtest.PoolFigures{Required: 3, Pending: 3, Eligible: 3}},
		"the node limit at zero nodes means capacity": {[]any{demandtest.NewPool("w"),
			demandtest.NewJob(1, demandtest.OnNodes(2), demandtest.WithReason("PartitionNodeLimit"),
				demandtest.WithDetails(func(d *slurm.JobDetails) {
					d.ReasonText = "Nodes required for job are DOWN, DRAINED or reserved for jobs in higher priority partitions"
				}))}, demandtest.PoolFigures{Required: 2, Pending: 2, Eligible: 1}},
		"jobs that wait for other things request nothing": {[]any{demandtest.NewPool("w"),
			demandtest.NewJob(1, demandtest.AsHeld),
			demandtest.NewJob(2, demandtest.WithReason("Licenses")),
			demandtest.NewJob(3, demandtest.WithReason("QOSMaxCpuPerUserLimit")),
			demandtest.NewJob(4, demandtest.WithChange(func(j *slurm.Job) { j.Dependency = "afterok:9" })),
			demandtest.NewJob(5, demandtest.WithChange(func(j *slurm.Job) { j.EligibleTime = demandtest.Noon + 9 }))},
			demandtest.PoolFigures{}},
		"idle workers that jobs will use stay": {[]any{demandtest.NewPool("w"), demandtest.NewWorker("w1"),
			demandtest.NewWorker("w2"),
			demandtest.NewJobs(1, 4)}, demandtest.PoolFigures{Required: 1, Idle: 2, Claimed: 1, Eligible: 4}},
		"booting workers that jobs will use stay": {[]any{demandtest.NewPool("w"),
			demandtest.NewWorker("w1", demandtest.WithState("IDLE+POWERING_UP")),
			demandtest.NewWorker("w2", demandtest.WithState("IDLE+NOT_RESPONDING")),
			demandtest.NewJobs(1, 5)}, demandtest.PoolFigures{Required: 2, Booting: 2, Claimed: 2, Eligible: 5}},
		"idle ones are used before booting ones": {[]any{demandtest.NewPool("w", demandtest.WithIdleGrace(time.Minute)),
			demandtest.NewWorker("w2", demandtest.IdleSince(1)),
			demandtest.NewWorker("w1", demandtest.WithState("IDLE+POWERING_UP")), demandtest.NewJobs(1, 4)},
			demandtest.PoolFigures{Required: 1, Idle: 1, Booting: 1, Claimed: 1, Grace: 1, Eligible: 4}},
		"a booting worker that is the only fit stays": {[]any{demandtest.NewPool("w",
			demandtest.WithIdleGrace(time.Minute)),
			demandtest.NewWorker("w2", demandtest.IdleSince(1)),
			demandtest.NewWorker("w1", demandtest.WithState("IDLE+POWERING_UP")),
			demandtest.NewJob(1, demandtest.WithDetails(func(d *slurm.JobDetails) { d.ExcludedNodes = "w2" }))},
			demandtest.PoolFigures{Required: 2, Idle: 1, Booting: 1, Claimed: 1, Grace: 1, Eligible: 1}},
		"busy workers with room are used": {[]any{demandtest.NewPool("w"),
			demandtest.NewWorker("w1", demandtest.WithUsage(2, 0)),
			demandtest.NewJobs(1, 3)}, demandtest.PoolFigures{Required: 2, Busy: 1, Pending: 1, Eligible: 3}},
		"busy, claimed and new ones add up": {[]any{demandtest.NewPool("w"),
			demandtest.NewWorker("w1", demandtest.WithState("ALLOCATED")), demandtest.NewWorker("w2"),
			demandtest.NewJob(1, demandtest.OnNodes(3))},
			demandtest.PoolFigures{Required: 4, Busy: 1, Idle: 1, Claimed: 1, Pending: 2, Eligible: 1}},
		"-N 4 needs four": {[]any{demandtest.NewPool("w"), demandtest.NewJob(1, demandtest.OnNodes(4))},
			demandtest.PoolFigures{Required: 4, Pending: 4, Eligible: 1}},
		"exclusive jobs do not share nodes": {[]any{demandtest.NewPool("w"),
			demandtest.NewJobs(1, 3, demandtest.AsExclusive)},
			demandtest.PoolFigures{Required: 3, Pending: 3, Eligible: 3}},
		"an array requests up to its throttle": {[]any{demandtest.NewPool("w"),
			demandtest.NewJob(1, demandtest.WithArray(1, "1-20%4", 4), demandtest.AsExclusive)},
			demandtest.PoolFigures{Required: 4, Pending: 4, Eligible: 4}},
		"running tasks count in the throttle": {[]any{demandtest.NewPool("w"),
			demandtest.NewWorker("w1", demandtest.WithState("ALLOCATED")),
			demandtest.NewJob(1, demandtest.WithArray(1, "2-20%4", 4), demandtest.AsExclusive),
			demandtest.NewJob(2, demandtest.AsArrayTask(1, 1), demandtest.RunningOn("w1"))},
			demandtest.PoolFigures{Required: 4, Busy: 1, Pending: 3, Eligible: 3}},
		"het components all count": {[]any{demandtest.NewPool("w"),
			demandtest.NewJob(1, demandtest.AsComponent(1, 0), demandtest.WithTasks(4)),
			demandtest.NewJob(2, demandtest.AsComponent(1, 1), demandtest.OnNodes(2), demandtest.WithTasks(8))},
			demandtest.PoolFigures{Required: 3, Pending: 3, Eligible: 2}},
		"a het job with a held component requests nothing": {[]any{demandtest.NewPool("w"),
			demandtest.NewJob(1, demandtest.AsComponent(1, 0)),
			demandtest.NewJob(2, demandtest.AsComponent(1, 1), demandtest.AsHeld)}, demandtest.PoolFigures{}},
		"memory is packed": {[]any{demandtest.NewPool("w"),
			demandtest.NewJobs(1, 3, demandtest.WithChange(func(j *slurm.Job) { j.MemoryPerNode = slurm.Num(5000) }))},
			demandtest.PoolFigures{Required: 3, Pending: 3, Eligible: 3}},
		"GRES are packed": {[]any{demandtest.NewPool("w", gpu),
			demandtest.NewJobs(1, 5, demandtest.WithDetails(func(d *slurm.JobDetails) { d.TRESPerNode = "gres/gpu:2" }))},
			demandtest.PoolFigures{Required: 3, Pending: 3, Eligible: 5}},
		"its own feature counts": {[]any{demandtest.NewPool("w"), demandtest.NewJob(1, demandtest.WithConstraint("w"))},
			demandtest.PoolFigures{Required: 1, Pending: 1, Eligible: 1}},
		"the features of its shape count": {[]any{demandtest.NewPool("w",
			demandtest.WithShape(&demand.Shape{CPUs: 4, Features: []string{"x86"}})),
			demandtest.NewJob(1, demandtest.WithConstraint("w&x86"))},
			demandtest.PoolFigures{Required: 1, Pending: 1, Eligible: 1}},
		"a missing named node is one worker": {[]any{demandtest.NewPool("w"),
			demandtest.NewJobs(1, 3, demandtest.WithDetails(func(d *slurm.JobDetails) { d.RequiredNodes = "w9" }))},
			demandtest.PoolFigures{Required: 1, Pending: 1, Eligible: 3}},
		"an idle node that is named stays": {[]any{demandtest.NewPool("w"), demandtest.NewWorker("w1"),
			demandtest.NewWorker("w2"),
			demandtest.NewJobs(1, 3, demandtest.WithDetails(func(d *slurm.JobDetails) { d.RequiredNodes = "w2" }))},
			demandtest.PoolFigures{Required: 2, Idle: 2, Claimed: 1, Eligible: 3}},
		"an excluded idle node does not stay": {[]any{demandtest.NewPool("w"), demandtest.NewWorker("w1"),
			demandtest.NewJob(1, demandtest.WithDetails(func(d *slurm.JobDetails) { d.ExcludedNodes = "w1" }))},
			demandtest.PoolFigures{Required: 2, Idle: 1, Pending: 1, Eligible: 1}},
		"idle nodes outside the pool are used": {[]any{demandtest.NewPool("w"), demandtest.NewNode("n1"),
			demandtest.NewJobs(1, 8)},
			demandtest.PoolFigures{Required: 1, Pending: 1, Eligible: 8}},
		"jobs of another partition do not count": {[]any{demandtest.NewPool("w"), demandtest.NewPartition("b"),
			demandtest.NewJob(1, demandtest.InPartition("b"))}, demandtest.PoolFigures{}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			p, _ := demandtest.DemandsOf(t, append(tt.nouns, demandtest.NewPartition("cpu"))...).Pool("w")
			if diff := cmp.Diff(tt.want, demandtest.FiguresOf(p)); diff != "" {
				t.Error(diff)
			}
		})
	}
}
