package demand_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/slurmtide/slurmtide/slurmclient"
	"github.com/slurmtide/slurmtide/slurmclient/demand"
	"github.com/slurmtide/slurmtide/slurmclient/demand/demandtest"
	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

// newPool returns a pool of at most 10 workers with 4 CPUs, 8,000 MiB and the feature of its name,
// in partition cpu, changed by the options.
func newPool(name string, options ...poolOption) demand.Pool {
	p := demand.Pool{
		Name: name, Feature: name, Partitions: []string{"cpu"}, Max: 10,
		Shape: &demand.Shape{CPUs: 4, MemoryMiB: 8000},
	}
	for _, o := range options {
		o(&p)
	}
	return p
}

type poolOption func(*demand.Pool)

func servingPartitions(partitions ...string) poolOption {
	return func(p *demand.Pool) { p.Partitions = partitions }
}

func withShape(s *demand.Shape) poolOption { return func(p *demand.Pool) { p.Shape = s } }

func withBounds(low, high uint64) poolOption {
	return func(p *demand.Pool) { p.Min, p.Max = low, high }
}

func withReplicas(n uint64) poolOption { return func(p *demand.Pool) { p.Replicas = n } }

func withIdleGrace(d time.Duration) poolOption { return func(p *demand.Pool) { p.IdleGrace = d } }

func withLead(d time.Duration) poolOption { return func(p *demand.Pool) { p.ReservationLead = d } }

// newWorker returns a node of pool w.
func newWorker(name string, options ...demandtest.NodeOption) *slurm.Node {
	return demandtest.NewNode(name, append([]demandtest.NodeOption{demandtest.WithFeatures("w")}, options...)...)
}

// idleSince sets when the last job of the node ended.
func idleSince(ago slurm.Time) demandtest.NodeOption {
	return func(n *slurm.Node) { n.LastBusy = demandtest.Noon - ago }
}

func asExclusive(j *slurm.Job) { j.Shared = "none" }

func withConstraint(text string) demandtest.JobOption {
	return func(j *slurm.Job) { j.Features = text }
}

func asHeld(j *slurm.Job) { j.Hold = true }

// demandsOf computes the demand on the pools among the objects.
func demandsOf(t *testing.T, nouns ...any) demand.Demand {
	t.Helper()
	s, pools := splitPools(t, nouns...)
	return demand.Compute(time.Unix(int64(demandtest.Noon), 0), s, pools...)
}

func splitPools(t *testing.T, nouns ...any) (*slurmclient.Snapshot, []demand.Pool) {
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
	return demandtest.SnapshotOf(t, rest...), pools
}

// poolFigures are the numbers of a pool that tests compare.
type poolFigures struct {
	Required, Busy, Idle, Booting, Unusable, Off, Pending, Claimed, Grace, Replacements, Eligible uint64
}

func figuresOf(p demand.PoolDemand) poolFigures {
	return poolFigures{
		p.Required, p.Busy, p.Idle, p.Booting, p.Unusable, p.Off, p.Pending, p.Claimed, p.Grace,
		p.Replacements, p.EligiblePendingJobs,
	}
}

func TestTheNodesOfAPool(t *testing.T) {
	soon := func(from, to slurm.Time) *slurm.Reservation {
		return &slurm.Reservation{Name: "r", StartTime: demandtest.Noon + from, EndTime: demandtest.Noon + to, Nodes: "w[1-2]"}
	}
	hour := withLead(time.Hour)
	tests := map[string]struct {
		nouns []any
		want  poolFigures
	}{
		"without records there are no nodes": {[]any{newPool("w")}, poolFigures{}},
		"a node without the feature does not count": {[]any{newPool("w"), demandtest.NewNode("n1", demandtest.WithState("ALLOCATED"))},
			poolFigures{}},
		"the first feature identifies the pool": {[]any{newPool("w"), newPool("v"),
			demandtest.NewNode("n1", demandtest.WithFeatures("w", "v"), demandtest.WithState("ALLOCATED"))}, poolFigures{Required: 1, Busy: 1}},
		"an active feature identifies the pool": {[]any{newPool("w"),
			demandtest.NewNode("n1", demandtest.WithState("ALLOCATED"), func(n *slurm.Node) { n.ActiveFeatures = []string{"w", "x"} })},
			poolFigures{Required: 1, Busy: 1}},
		"allocated, mixed and completing are busy": {
			[]any{newPool("w"), newWorker("w1", demandtest.WithState("ALLOCATED")), newWorker("w2", demandtest.WithUsage(1, 0)),
				newWorker("w3", demandtest.WithState("IDLE+COMPLETING"))}, poolFigures{Required: 3, Busy: 3},
		},
		"a draining worker with work is busy": {[]any{newPool("w"),
			newWorker("w1", demandtest.WithState("MIXED+DRAIN"), demandtest.WithUsage(1, 0))}, poolFigures{Required: 1, Busy: 1}},
		"a suspended job keeps its node busy": {[]any{newPool("w"), newWorker("w1"),
			demandtest.NewJob(1, demandtest.RunningOn("w1"), demandtest.WithChange(func(j *slurm.Job) { j.State.Base = slurm.JobSuspended }))},
			poolFigures{Required: 1, Busy: 1}},
		"a configuring job keeps its node busy": {[]any{newPool("w"), newWorker("w1"),
			demandtest.NewJob(1, demandtest.RunningOn("w1"), demandtest.WithChange(func(j *slurm.Job) { j.State.Flags = slurm.JobConfiguring }))},
			poolFigures{Required: 1, Busy: 1}},
		"an idle worker is not required": {[]any{newPool("w"), newWorker("w1")}, poolFigures{Idle: 1}},
		"a booting worker is not required": {[]any{newPool("w"),
			newWorker("w1", demandtest.WithState("IDLE+POWERING_UP"))}, poolFigures{Booting: 1}},
		"down and drained workers are not required": {[]any{newPool("w", withReplicas(2)),
			newWorker("w1", demandtest.WithState("DOWN")), newWorker("w2", demandtest.WithState("IDLE+DRAIN"))}, poolFigures{Unusable: 2}},
		"FUTURE records are off": {[]any{newPool("w"),
			newWorker("w1", demandtest.WithState("FUTURE+DYNAMIC_NORM"))}, poolFigures{Off: 1}},

		"an active reservation makes its nodes busy": {[]any{newPool("w"), newWorker("w1"), newWorker("w2"),
			newWorker("w3"), soon(-10, 10)}, poolFigures{Required: 2, Busy: 2, Idle: 1}},
		"a reservation within the lead makes its nodes busy": {[]any{newPool("w", hour), newWorker("w1"),
			newWorker("w2"), newWorker("w3"), soon(3600, 7200)}, poolFigures{Required: 2, Busy: 2, Idle: 1}},
		"a later reservation does not": {[]any{newPool("w", hour), newWorker("w1"),
			newWorker("w2"), soon(3601, 7200)}, poolFigures{Idle: 2}},
		"a past reservation does not": {[]any{newPool("w", hour), newWorker("w1"),
			newWorker("w2"), soon(-20, -10)}, poolFigures{Idle: 2}},
		"each pool has its own lead": {[]any{newPool("v", hour), newPool("w"), newWorker("w1"),
			soon(60, 70)}, poolFigures{Idle: 1}},
		"a down node of a reservation stays unusable": {[]any{newPool("w", hour),
			newWorker("w1", demandtest.WithState("DOWN")), soon(60, 70)}, poolFigures{Unusable: 1}},

		"an idle worker in its grace is required": {[]any{newPool("w", withIdleGrace(time.Minute)),
			newWorker("w1", idleSince(59)), newWorker("w2", idleSince(60))},
			poolFigures{Required: 1, Idle: 2, Grace: 1}},
		"without a grace no clock matters": {[]any{newPool("w"), newWorker("w1", idleSince(-2))},
			poolFigures{Idle: 1}},
		"a new worker has its grace": {[]any{newPool("w", withIdleGrace(time.Minute)),
			newWorker("w1", func(n *slurm.Node) { n.SlurmdStartTime = demandtest.Noon - 5 })},
			poolFigures{Required: 1, Idle: 1, Grace: 1}},
		"an unknown idle time has no grace": {[]any{newPool("w", withIdleGrace(time.Minute)), newWorker("w1")},
			poolFigures{Idle: 1}},
		"jobs take the nodes in their grace first": {
			[]any{newPool("w", withIdleGrace(time.Minute)), newWorker("w1", idleSince(5)), newWorker("w2"),
				demandtest.NewJobs(1, 4)}, poolFigures{Required: 1, Idle: 2, Grace: 1, Claimed: 1, Eligible: 4},
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			p, _ := demandsOf(t, append(tt.nouns, demandtest.NewPartition("cpu"))...).Pool("w")
			if diff := cmp.Diff(tt.want, figuresOf(p)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestAJobThatBeganAfterTheNodesWereRead uses a job list that is newer than the node list: the job
// is no longer pending, and its nodes look as if it had not started.
func TestAJobThatBeganAfterTheNodesWereRead(t *testing.T) {
	began := func(ago slurm.Time) any {
		return demandtest.NewJob(1, demandtest.RunningOn("w[1-2]"), demandtest.WithChange(func(j *slurm.Job) { j.StartTime = demandtest.Noon - ago }))
	}
	for name, tt := range map[string]struct {
		nouns []any
		want  poolFigures
	}{
		"its nodes are busy although they look idle": {[]any{newWorker("w1"), newWorker("w2"),
			newWorker("w3"), began(9)}, poolFigures{Required: 2, Busy: 2, Idle: 1}},
		"its nodes are busy although they look booting or FUTURE": {[]any{newWorker("w1",
			demandtest.WithState("IDLE+POWERING_UP")), newWorker("w2", demandtest.WithState("FUTURE")), began(9)},
			poolFigures{Required: 2, Busy: 2}},
		"a difference of a second has no effect": {[]any{newWorker("w1"), newWorker("w2"), began(12)},
			poolFigures{Required: 2, Busy: 2}},
		"nodes that were read later take precedence": {[]any{newWorker("w1"), newWorker("w2"), began(13)},
			poolFigures{Idle: 2}},
		"a job without a start time has no effect": {[]any{newWorker("w1"), newWorker("w2"),
			began(demandtest.Noon)}, poolFigures{Idle: 2}},
	} {
		t.Run(name, func(t *testing.T) {
			s, pools := splitPools(t, append(tt.nouns, newPool("w"), demandtest.NewPartition("cpu"))...)
			s.Nodes.ReadAt = time.Unix(int64(demandtest.Noon-10), 0)
			p, _ := demand.Compute(time.Unix(int64(demandtest.Noon), 0), s, pools...).Pool("w")
			if diff := cmp.Diff(tt.want, figuresOf(p)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestANodeThatGotWorkAfterTheJobsWereRead uses a node list that is newer than the job list: a job
// that is pending in one list can be what runs in the other.
func TestANodeThatGotWorkAfterTheJobsWereRead(t *testing.T) {
	const readBefore = 20 // seconds ago, when the nodes did not have the work
	full, half := newWorker("w1", demandtest.WithState("ALLOCATED")), newWorker("w1", demandtest.WithUsage(2, 0))
	for name, tt := range map[string]struct {
		was   *slurm.Node
		nouns []any
		want  poolFigures
	}{
		"the pending job can be what it runs": {newWorker("w1"), []any{full, demandtest.NewJobs(1, 4)},
			poolFigures{Required: 1, Busy: 1, Eligible: 4}},
		"what does not fit on it requests more": {newWorker("w1"), []any{full, demandtest.NewJobs(1, 5)},
			poolFigures{Required: 2, Busy: 1, Pending: 1, Eligible: 5}},
		"what does not fit on it takes an idle worker": {newWorker("w1"), []any{full, newWorker("w2"), newWorker("w3"),
			demandtest.NewJobs(1, 5)}, poolFigures{Required: 2, Busy: 1, Idle: 2, Claimed: 1, Eligible: 5}},
		"it can be new": {nil, []any{full, demandtest.NewJobs(1, 4)},
			poolFigures{Required: 1, Busy: 1, Eligible: 4}},
		"it can have been FUTURE": {newWorker("w1", demandtest.WithState("FUTURE")),
			[]any{full, demandtest.NewJobs(1, 4)}, poolFigures{Required: 1, Busy: 1, Eligible: 4}},
		"earlier work leaves less room": {half, []any{full, demandtest.NewJobs(1, 4)},
			poolFigures{Required: 2, Busy: 1, Pending: 1, Eligible: 4}},
		"an exclusive job can be what it runs": {newWorker("w1"),
			[]any{full, demandtest.NewJobs(1, 2, asExclusive)}, poolFigures{Required: 2, Busy: 1, Pending: 1, Eligible: 2}},
		"a larger job cannot be what it runs": {newWorker("w1"),
			[]any{full, demandtest.NewJob(1, demandtest.OnNodes(2))}, poolFigures{Required: 2, Busy: 1, Pending: 1, Eligible: 1}},
		"nothing is pending": {newWorker("w1"), []any{full},
			poolFigures{Required: 1, Busy: 1}},
		"a job that the list shows there explains the work": {newWorker("w1"),
			[]any{full, demandtest.NewJobs(1, 4),
				demandtest.NewJob(9, demandtest.RunningOn("w1"), demandtest.WithChange(func(j *slurm.Job) { j.StartTime = demandtest.Noon - readBefore }))},
			poolFigures{Required: 2, Busy: 1, Pending: 1, Eligible: 4}},
		"a job that started long before does not explain the work": {newWorker("w1"),
			[]any{full, demandtest.NewJobs(1, 4),
				demandtest.NewJob(9, demandtest.RunningOn("w1"), demandtest.WithChange(func(j *slurm.Job) { j.StartTime = demandtest.Noon - readBefore - 3 }))},
			poolFigures{Required: 1, Busy: 1, Eligible: 4}},
		"a drained node takes nothing": {newWorker("w1"),
			[]any{newWorker("w1", demandtest.WithState("IDLE+DRAIN")), demandtest.NewJobs(1, 4)},
			poolFigures{Required: 1, Unusable: 1, Pending: 1, Eligible: 4}},
	} {
		t.Run(name, func(t *testing.T) {
			s, pools := splitPools(t, append(tt.nouns, newPool("w"), demandtest.NewPartition("cpu"))...)
			at := func(ago slurm.Time) time.Time { return time.Unix(int64(demandtest.Noon-ago), 0) }
			s.BusySinceJobs = map[string]slurmclient.BusyNode{"w1": {Before: tt.was, BeforeReadAt: at(readBefore),
				BusyAt: at(1)}}
			p, _ := demand.Compute(at(0), s, pools...).Pool("w")
			if diff := cmp.Diff(tt.want, figuresOf(p)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestDemandOfJobsOnAPool(t *testing.T) {
	gpu := withShape(&demand.Shape{CPUs: 16, MemoryMiB: 64000, GRES: "gpu:h100:4"})
	tests := map[string]struct {
		nouns []any
		want  poolFigures
	}{
		"at zero nodes jobs share new workers": {[]any{newPool("w"), demandtest.NewJobs(1, 9)},
			poolFigures{Required: 3, Pending: 3, Eligible: 9}},
		"the reasons at zero nodes mean capacity": {[]any{newPool("w"),
			demandtest.NewJob(1, demandtest.WithReason("PartitionConfig"), demandtest.WithTasks(4)),
			demandtest.NewJob(2, demandtest.WithReason("ReqNodeNotAvail"), demandtest.WithTasks(4)),
			demandtest.NewJob(3, demandtest.WithReason("None"), demandtest.WithTasks(4), demandtest.WithChange(func(j *slurm.Job) {
				j.ReasonText = "Nodes required for job are DOWN, DRAINED or reserved for jobs in higher priority partitions"
			}))}, poolFigures{Required: 3, Pending: 3, Eligible: 3}},
		"the node limit at zero nodes means capacity": {[]any{newPool("w"),
			demandtest.NewJob(1, demandtest.OnNodes(2), demandtest.WithReason("PartitionNodeLimit"), demandtest.WithChange(func(j *slurm.Job) {
				j.ReasonText = "Nodes required for job are DOWN, DRAINED or reserved for jobs in higher priority partitions"
			}))}, poolFigures{Required: 2, Pending: 2, Eligible: 1}},
		"jobs that wait for other things request nothing": {[]any{newPool("w"), demandtest.NewJob(1, asHeld),
			demandtest.NewJob(2, demandtest.WithReason("Licenses")), demandtest.NewJob(3, demandtest.WithReason("QOSMaxCpuPerUserLimit")),
			demandtest.NewJob(4, demandtest.WithChange(func(j *slurm.Job) { j.Dependency = "afterok:9" })),
			demandtest.NewJob(5, demandtest.WithChange(func(j *slurm.Job) { j.EligibleTime = demandtest.Noon + 9 }))}, poolFigures{}},
		"idle workers that jobs will use stay": {[]any{newPool("w"), newWorker("w1"), newWorker("w2"),
			demandtest.NewJobs(1, 4)}, poolFigures{Required: 1, Idle: 2, Claimed: 1, Eligible: 4}},
		"booting workers that jobs will use stay": {[]any{newPool("w"),
			newWorker("w1", demandtest.WithState("IDLE+POWERING_UP")), newWorker("w2", demandtest.WithState("IDLE+NOT_RESPONDING")),
			demandtest.NewJobs(1, 5)}, poolFigures{Required: 2, Booting: 2, Claimed: 2, Eligible: 5}},
		"idle ones are used before booting ones": {[]any{newPool("w", withIdleGrace(time.Minute)),
			newWorker("w2", idleSince(1)), newWorker("w1", demandtest.WithState("IDLE+POWERING_UP")), demandtest.NewJobs(1, 4)},
			poolFigures{Required: 1, Idle: 1, Booting: 1, Claimed: 1, Grace: 1, Eligible: 4}},
		"a booting worker that is the only fit stays": {[]any{newPool("w", withIdleGrace(time.Minute)),
			newWorker("w2", idleSince(1)), newWorker("w1", demandtest.WithState("IDLE+POWERING_UP")),
			demandtest.NewJob(1, demandtest.WithChange(func(j *slurm.Job) { j.ExcludedNodes = "w2" }))},
			poolFigures{Required: 2, Idle: 1, Booting: 1, Claimed: 1, Grace: 1, Eligible: 1}},
		"busy workers with room are used": {[]any{newPool("w"), newWorker("w1", demandtest.WithUsage(2, 0)),
			demandtest.NewJobs(1, 3)}, poolFigures{Required: 2, Busy: 1, Pending: 1, Eligible: 3}},
		"busy, claimed and new ones add up": {[]any{newPool("w"),
			newWorker("w1", demandtest.WithState("ALLOCATED")), newWorker("w2"), demandtest.NewJob(1, demandtest.OnNodes(3))},
			poolFigures{Required: 4, Busy: 1, Idle: 1, Claimed: 1, Pending: 2, Eligible: 1}},
		"-N 4 needs four": {[]any{newPool("w"), demandtest.NewJob(1, demandtest.OnNodes(4))},
			poolFigures{Required: 4, Pending: 4, Eligible: 1}},
		"exclusive jobs do not share nodes": {[]any{newPool("w"), demandtest.NewJobs(1, 3, asExclusive)},
			poolFigures{Required: 3, Pending: 3, Eligible: 3}},
		"an array requests up to its throttle": {[]any{newPool("w"),
			demandtest.NewJob(1, demandtest.WithArray(1, "1-20%4", 4), asExclusive)}, poolFigures{Required: 4, Pending: 4, Eligible: 4}},
		"running tasks count in the throttle": {[]any{newPool("w"),
			newWorker("w1", demandtest.WithState("ALLOCATED")), demandtest.NewJob(1, demandtest.WithArray(1, "2-20%4", 4), asExclusive),
			demandtest.NewJob(2, demandtest.AsArrayTask(1, 1), demandtest.RunningOn("w1"))}, poolFigures{Required: 4, Busy: 1, Pending: 3, Eligible: 3}},
		"het components all count": {[]any{newPool("w"),
			demandtest.NewJob(1, asComponent(1, 0), demandtest.WithTasks(4)), demandtest.NewJob(2, asComponent(1, 1), demandtest.OnNodes(2), demandtest.WithTasks(8))},
			poolFigures{Required: 3, Pending: 3, Eligible: 2}},
		"a het job with a held component requests nothing": {[]any{newPool("w"), demandtest.NewJob(1, asComponent(1, 0)),
			demandtest.NewJob(2, asComponent(1, 1), asHeld)}, poolFigures{}},
		"memory is packed": {[]any{newPool("w"),
			demandtest.NewJobs(1, 3, demandtest.WithChange(func(j *slurm.Job) { j.MemoryPerNode = slurm.Num(5000) }))},
			poolFigures{Required: 3, Pending: 3, Eligible: 3}},
		"GRES are packed": {[]any{newPool("w", gpu),
			demandtest.NewJobs(1, 5, demandtest.WithChange(func(j *slurm.Job) { j.TRESPerNode = "gres/gpu:2" }))},
			poolFigures{Required: 3, Pending: 3, Eligible: 5}},
		"its own feature counts": {[]any{newPool("w"), demandtest.NewJob(1, withConstraint("w"))},
			poolFigures{Required: 1, Pending: 1, Eligible: 1}},
		"the features of its shape count": {[]any{newPool("w",
			withShape(&demand.Shape{CPUs: 4, Features: []string{"x86"}})), demandtest.NewJob(1, withConstraint("w&x86"))},
			poolFigures{Required: 1, Pending: 1, Eligible: 1}},
		"a missing named node is one worker": {[]any{newPool("w"),
			demandtest.NewJobs(1, 3, demandtest.WithChange(func(j *slurm.Job) { j.RequiredNodes = "w9" }))},
			poolFigures{Required: 1, Pending: 1, Eligible: 3}},
		"an idle node that is named stays": {[]any{newPool("w"), newWorker("w1"), newWorker("w2"),
			demandtest.NewJobs(1, 3, demandtest.WithChange(func(j *slurm.Job) { j.RequiredNodes = "w2" }))},
			poolFigures{Required: 2, Idle: 2, Claimed: 1, Eligible: 3}},
		"an excluded idle node does not stay": {[]any{newPool("w"), newWorker("w1"),
			demandtest.NewJob(1, demandtest.WithChange(func(j *slurm.Job) { j.ExcludedNodes = "w1" }))},
			poolFigures{Required: 2, Idle: 1, Pending: 1, Eligible: 1}},
		"idle nodes outside the pool are used": {[]any{newPool("w"), demandtest.NewNode("n1"), demandtest.NewJobs(1, 8)},
			poolFigures{Required: 1, Pending: 1, Eligible: 8}},
		"jobs of another partition do not count": {[]any{newPool("w"), demandtest.NewPartition("b"),
			demandtest.NewJob(1, demandtest.InPartition("b"))}, poolFigures{}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			p, _ := demandsOf(t, append(tt.nouns, demandtest.NewPartition("cpu"))...).Pool("w")
			if diff := cmp.Diff(tt.want, figuresOf(p)); diff != "" {
				t.Error(diff)
			}
		})
	}
}
