package behaviour

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/slurmtide/slurmtide/slurmclient/demand"
	"github.com/slurmtide/slurmtide/slurmclient/demand/demandtest"
	"github.com/slurmtide/slurmtide/slurmclient/demand/pending"
	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

func TestRequiredKeepsItsBounds(t *testing.T) {
	busy := []any{demandtest.NewWorker("w1", demandtest.WithState("ALLOCATED")),
		demandtest.NewWorker("w2", demandtest.WithState("ALLOCATED")),
		demandtest.NewWorker("w3", demandtest.WithState("ALLOCATED"))}
	tests := map[string]struct {
		pool  demand.Pool
		nouns []any
		want  uint64
	}{
		"never less than the minimum": {demandtest.NewPool("w", demandtest.WithBounds(2, 10)), nil, 2},
		"the minimum is not added to the demand": {demandtest.NewPool("w", demandtest.WithBounds(2, 10)),
			[]any{demandtest.NewJobs(1, 12)}, 3},
		"never more than the maximum": {demandtest.NewPool("w", demandtest.WithBounds(0, 4)),
			[]any{demandtest.NewJobs(1, 100)}, 4},
		"the maximum overrides the minimum": {demandtest.NewPool("w", demandtest.WithBounds(9, 4)), nil, 4},
		"no maximum means no bound": {demandtest.NewPool("w", demandtest.WithBounds(0, 0)),
			[]any{demandtest.NewJobs(1, 100)}, 25},
		"busy nodes override the maximum": {demandtest.NewPool("w", demandtest.WithBounds(0, 2)), busy, 3},
		"busy nodes above the maximum get no addition": {demandtest.NewPool("w", demandtest.WithBounds(0, 2)),
			append([]any{demandtest.NewJobs(1, 9)}, busy...), 3},
		"a job that waits for others to end adds nothing": {demandtest.NewPool("w", demandtest.WithBounds(0, 4)),
			append([]any{demandtest.NewJob(1, demandtest.OnNodes(4))}, busy...), 3},
		"a job that waits for others to end keeps the existing workers": {demandtest.NewPool("w",
			demandtest.WithBounds(0, 5)),
			append([]any{demandtest.NewJob(1, demandtest.OnNodes(5)),
				demandtest.NewWorker("w4", demandtest.WithState("IDLE"))}, busy...), 4},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			p, _ := demandtest.DemandsOf(t, append(tt.nouns, tt.pool, demandtest.NewPartition("cpu"))...).Pool("w")
			if p.Required != tt.want {
				t.Errorf("required %d, want %d\n%+v", p.Required, tt.want, p)
			}
		})
	}
}

func TestUnusableWorkersAreReplacedWhileThereIsDemand(t *testing.T) {
	down := func(name string) *slurm.Node { return demandtest.NewWorker(name, demandtest.WithState("DOWN")) }
	drained := func(name string, options ...demandtest.NodeOption) *slurm.Node {
		return demandtest.NewWorker(name, append(options, demandtest.WithState("IDLE+DRAIN"))...)
	}
	why := func(reason string) demandtest.NodeOption { return func(n *slurm.Node) { n.Reason = reason } }
	leavingFor := func(reasons ...string) demandtest.PoolOption {
		return func(p *demand.Pool) { p.ScaleInReasons = reasons }
	}
	busy := demandtest.NewWorker("b1", demandtest.WithState("ALLOCATED"))
	tests := map[string]struct {
		pool  demand.Pool
		nouns []any
		want  demandtest.PoolFigures
	}{
		"a down worker occupies the place of a replica": {
			demandtest.NewPool("w", demandtest.WithReplicas(2)), []any{busy, down("w1"), demandtest.NewJobs(1, 4)},
			demandtest.PoolFigures{Required: 3, Busy: 1, Unusable: 1, Pending: 1, Replacements: 1, Eligible: 4},
		},
		"the replacement stays once it has work": {
			demandtest.NewPool("w", demandtest.WithReplicas(3)),
			[]any{busy, down("w1"), demandtest.NewWorker("b2", demandtest.WithState("ALLOCATED"))},
			demandtest.PoolFigures{Required: 3, Busy: 2, Unusable: 1, Replacements: 1},
		},
		"unusable workers by themselves keep nothing up": {
			demandtest.NewPool("w", demandtest.WithReplicas(2)), []any{down("w1"), drained("w2")},
			demandtest.PoolFigures{Unusable: 2},
		},
		"the minimum by itself replaces nothing": {
			demandtest.NewPool("w", demandtest.WithReplicas(2), demandtest.WithBounds(1, 10)),
			[]any{down("w1"), drained("w2")},
			demandtest.PoolFigures{Required: 1, Unusable: 2},
		},
		"an idle worker in its grace causes replacements": {
			demandtest.NewPool("w", demandtest.WithReplicas(2), demandtest.WithIdleGrace(time.Minute)),
			[]any{down("w1"), demandtest.NewWorker("w2", demandtest.IdleSince(1))},
			demandtest.PoolFigures{Required: 2, Idle: 1, Grace: 1, Unusable: 1, Replacements: 1},
		},
		"a worker that scale-in drains is not replaced": {
			demandtest.NewPool("w", demandtest.WithReplicas(1)), []any{busy, drained("w1")},
			demandtest.PoolFigures{Required: 1, Busy: 1, Unusable: 1},
		},
		"an idle worker does not turn workers drained by scale-in into lost ones": {
			demandtest.NewPool("w", demandtest.WithReplicas(2), leavingFor("go")),
			[]any{busy, demandtest.NewWorker("w1"), drained("w2", why("go")), drained("w3", why("go"))},
			demandtest.PoolFigures{Required: 1, Busy: 1, Idle: 1, Unusable: 2},
		},
		"reasons may have a part that differs from worker to worker": {
			demandtest.NewPool("w", demandtest.WithReplicas(2), leavingFor("go", "Pod * must go")),
			[]any{busy, demandtest.NewWorker("w1"), drained("w2", why("Pod (a/b) must go")), drained("w3", why("go"))},
			demandtest.PoolFigures{Required: 1, Busy: 1, Idle: 1, Unusable: 2},
		},
		"a part that differs is not the whole reason": {
			demandtest.NewPool("w", demandtest.WithReplicas(2), leavingFor("Pod * must go")),
			[]any{busy, drained("w1", why("Pod must stay, Pod b must go home"))},
			demandtest.PoolFigures{Required: 2, Busy: 1, Unusable: 1, Replacements: 1},
		},
		"a worker drained for another reason is lost": {
			demandtest.NewPool("w", demandtest.WithReplicas(2), leavingFor("go")),
			[]any{busy, drained("w1", why("broken"))},
			demandtest.PoolFigures{Required: 2, Busy: 1, Unusable: 1, Replacements: 1},
		},
		"a worker with that reason that is down and not drained is lost": {
			demandtest.NewPool("w", demandtest.WithReplicas(2), leavingFor("go")),
			[]any{busy, demandtest.NewWorker("w1", demandtest.WithState("DOWN"), why("go"))},
			demandtest.PoolFigures{Required: 2, Busy: 1, Unusable: 1, Replacements: 1},
		},
		"a record that scale-in left behind is not replaced": {
			demandtest.NewPool("w", demandtest.WithReplicas(1)), []any{busy, down("w1"), down("w2")},
			demandtest.PoolFigures{Required: 1, Busy: 1, Unusable: 2},
		},
		"a drained record without a pod is not replaced": {
			demandtest.NewPool("team/w", demandtest.WithReplicas(1)), []any{demandtest.NewJobs(1, 4),
				drained("w2", why("broken"), func(n *slurm.Node) {
					n.Comment = `{"namespace":"team","podName":"","node":"k","nodeSetName":"w","nodeSetUID":"u"}`
				})},
			demandtest.PoolFigures{Required: 1, Off: 1, Pending: 1, Eligible: 4},
		},
		"a drained worker with a pod is replaced": {
			demandtest.NewPool("team/w", demandtest.WithReplicas(1)), []any{demandtest.NewJobs(1, 4),
				drained("w2", why("broken"), func(n *slurm.Node) {
					n.Comment = `{"namespace":"team","podName":"w-2","node":"k","nodeSetName":"w","nodeSetUID":"u"}`
				})},
			demandtest.PoolFigures{Required: 2, Unusable: 1, Pending: 1, Replacements: 1, Eligible: 4},
		},
		"workers beyond the replicas are being removed": {
			demandtest.NewPool("w", demandtest.WithReplicas(2)), []any{busy, down("w1"), drained("w2")},
			demandtest.PoolFigures{Required: 2, Busy: 1, Unusable: 2, Replacements: 1},
		},
		"missing replicas do not count as removed": {
			demandtest.NewPool("w", demandtest.WithReplicas(6)), []any{busy, down("w1")},
			demandtest.PoolFigures{Required: 2, Busy: 1, Unusable: 1, Replacements: 1},
		},
		"replacements stay within the maximum": {
			demandtest.NewPool("w", demandtest.WithReplicas(3), demandtest.WithBounds(0, 3)),
			[]any{busy, down("w1"), down("w2"), demandtest.NewJobs(1, 40)},
			demandtest.PoolFigures{Required: 3, Busy: 1, Unusable: 2, Pending: 10, Replacements: 2, Eligible: 40},
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			p, _ := demandtest.DemandsOf(t, append(tt.nouns, tt.pool, demandtest.NewPartition("cpu"))...).Pool(tt.pool.Name)
			if diff := cmp.Diff(tt.want, demandtest.FiguresOf(p)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestJobsThatAPoolCanNeverRun(t *testing.T) {
	const tooMany = "more nodes than the pool's maximum"
	none := []demand.Unsatisfiable(nil)
	because := func(reason string, jobs uint64) []demand.Unsatisfiable {
		return []demand.Unsatisfiable{{Reason: reason, Jobs: jobs, JobID: 1}}
	}
	small := demandtest.NewPool("w", demandtest.WithBounds(0, 3))
	gpuPool := demandtest.NewPool("g", demandtest.WithShape(&demand.Shape{CPUs: 64, MemoryMiB: 1 << 20, GRES: "gpu:4"}))
	tests := map[string]struct {
		nouns []any
		want  []demand.Unsatisfiable
	}{
		"-N 4 of three": {[]any{small, demandtest.NewJob(1, demandtest.OnNodes(4))},
			because(tooMany, 1)},
		"-N 3 of three": {[]any{small, demandtest.NewJob(1, demandtest.OnNodes(3))}, none},
		"13 tasks on three nodes of four": {[]any{small, demandtest.NewJob(1, demandtest.WithTasks(13))},
			because(tooMany, 1)},
		"any number of nodes without a maximum": {[]any{demandtest.NewPool("w", demandtest.WithBounds(0, 0)),
			demandtest.NewJob(1, demandtest.WithTasks(1300))},
			none},
		"more named nodes than the maximum": {[]any{small,
			demandtest.NewJob(1, demandtest.OnNodes(4),
				demandtest.WithDetails(func(d *slurm.JobDetails) { d.RequiredNodes = "w[1-4]" }))},
			because(tooMany, 1)},
		"nodes outside the pool count": {[]any{small, demandtest.NewNode("n1"),
			demandtest.NewJob(1, demandtest.OnNodes(4))}, none},
		"down nodes outside the pool do not count": {[]any{small,
			demandtest.NewNode("n1", demandtest.WithState("DOWN")),
			demandtest.NewJob(1, demandtest.OnNodes(4))}, because(tooMany, 1)},
		"a feature": {[]any{small, demandtest.NewJob(1, demandtest.WithConstraint("gold"))},
			because("no node has the features or the disk", 1)},
		"a worker that is too small": {[]any{small,
			demandtest.NewJobs(1, 2, demandtest.WithChange(func(j *slurm.Job) { j.MemoryPerNode = slurm.Num(9000) }))},
			because("no node has the memory", 2)},
		"another pool that can run it": {[]any{small, gpuPool,
			demandtest.NewJobs(1, 2, demandtest.WithChange(func(j *slurm.Job) { j.MemoryPerNode = slurm.Num(9000) }))},
			none},
		"other nodes that can run it": {[]any{small,
			demandtest.NewNode("n1", demandtest.WithSize(4, 16000), demandtest.WithState("ALLOCATED")),
			demandtest.NewJobs(1, 2, demandtest.WithChange(func(j *slurm.Job) { j.MemoryPerNode = slurm.Num(9000) }))},
			none},
		"an existing worker that is larger than new ones": {[]any{small,
			demandtest.NewWorker("w1", demandtest.WithSize(4, 16000), demandtest.WithState("ALLOCATED")),
			demandtest.NewJobs(1, 2, demandtest.WithChange(func(j *slurm.Job) { j.MemoryPerNode = slurm.Num(9000) }))},
			none},
		"more nodes than the larger workers that exist": {[]any{small,
			demandtest.NewWorker("w1", demandtest.WithSize(4, 16000), demandtest.WithState("IDLE")),
			demandtest.NewJobs(1, 2, demandtest.OnNodes(2),
				demandtest.WithChange(func(j *slurm.Job) { j.MemoryPerNode = slurm.Num(9000) }))},
			because("no node has the memory", 2)},
		"another partition that can run it": {[]any{small, demandtest.NewPartition("b"),
			demandtest.NewPool("g", demandtest.ServingPartitions("b")),
			demandtest.NewJob(1, demandtest.InPartition("cpu,b"), demandtest.OnNodes(5))}, none},
		"a pool in another partition does not help": {[]any{small, demandtest.NewPartition("b"),
			demandtest.NewPool("g", demandtest.ServingPartitions("b")), demandtest.NewJob(1, demandtest.OnNodes(5))},
			because(tooMany, 1)},
		"het components beyond the maximum": {[]any{small, demandtest.NewJob(1, demandtest.AsComponent(1, 0),
			demandtest.OnNodes(2),
			demandtest.AsExclusive), demandtest.NewJob(2, demandtest.AsComponent(1, 1), demandtest.OnNodes(2),
			demandtest.AsExclusive)}, because(tooMany, 2)},
		"het components that can share nodes": {[]any{small, demandtest.NewJob(1, demandtest.AsComponent(1, 0),
			demandtest.OnNodes(2)),
			demandtest.NewJob(2, demandtest.AsComponent(1, 1), demandtest.OnNodes(2))}, none},
		"het components that can use a second pool": {[]any{small, demandtest.NewPool("z"),
			demandtest.NewJob(1, demandtest.AsComponent(1, 0), demandtest.OnNodes(2), demandtest.AsExclusive),
			demandtest.NewJob(2, demandtest.AsComponent(1, 1), demandtest.OnNodes(2), demandtest.AsExclusive)}, none},
		"het components of two pools": {[]any{small, gpuPool,
			demandtest.NewJob(1, demandtest.AsComponent(1, 0), demandtest.OnNodes(2), demandtest.AsExclusive),
			demandtest.NewJob(2, demandtest.AsComponent(1, 1), demandtest.OnNodes(2), demandtest.AsExclusive)}, none},
		"slurmctld has given up on it": {[]any{small, demandtest.NewJobs(1, 2, demandtest.AsGivenUp)},
			because("slurmctld found no node with its constraints", 2)},
		"slurmctld still evaluates the job": {[]any{small,
			demandtest.NewJob(1, demandtest.WithReason("BadConstraints"))},
			none},
		"a het job with one component that is too large": {[]any{small,
			demandtest.NewJob(1, demandtest.AsComponent(1, 0)),
			demandtest.NewJob(2, demandtest.AsComponent(1, 1), demandtest.OnNodes(4))}, []demand.Unsatisfiable{
			{Reason: "another component of the job cannot run", Jobs: 1, JobID: 1},
			{Reason: tooMany, Jobs: 1, JobID: 2},
		}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			p, _ := demandtest.DemandsOf(t, append(tt.nouns, demandtest.NewPartition("cpu"))...).Pool("w")
			if diff := cmp.Diff(tt.want, p.Unsatisfiable); diff != "" {
				t.Error(diff)
			}
			if tt.want != nil && (p.Pending != 0 || p.EligiblePendingJobs != 0 || p.Required != 0) {
				t.Errorf("the jobs request nodes: %+v", p)
			}
			var unsatisfiable uint64
			for _, u := range p.Unsatisfiable {
				unsatisfiable += u.Jobs
			}
			if p.ByClass[pending.ClassUnsatisfiable] != unsatisfiable {
				t.Errorf("%d unsatisfiable jobs in total, want %d", p.ByClass[pending.ClassUnsatisfiable],
					unsatisfiable)
			}
		})
	}
}

// TestAReservationDoesNotScaleToTheMaximum: missing workers under a maintenance reservation do not count towards the
// maximum, with or without FUTURE records.
func TestAReservationDoesNotScaleToTheMaximum(t *testing.T) {
	for _, records := range [][]string{nil, {"w-0", "w-1"}, {"w-0", "w-1", "w-2", "w-3"}} {
		for reserved, want := range map[string]uint64{"": 4, "w-[2-3]": 2, "w-[0-3]": 0, "w-[4-9],x-[0-3]": 4} {
			nouns := []any{
				demandtest.NewPartition("cpu"),
				demandtest.NewPool("w", demandtest.WithBounds(0, 4), func(p *demand.Pool) { p.WorkerPrefix = "w-" }),
				demandtest.NewJobs(1, 9, demandtest.WithDetails(func(d *slurm.JobDetails) { d.Shared = "none" })),
			}
			for _, name := range records {
				nouns = append(nouns, demandtest.NewWorker(name, demandtest.WithState("FUTURE")))
			}
			if reserved != "" {
				nouns = append(nouns, &slurm.Reservation{Name: "maint", StartTime: demandtest.Noon - 60,
					EndTime: demandtest.Noon + 3600,
					Nodes:   reserved, Flags: []string{"MAINT"}})
			}
			if p, _ := demandtest.DemandsOf(t, nouns...).Pool("w"); p.Required != want {
				t.Errorf("with records of %v and %q reserved, %d workers are required, want %d: %+v", records, reserved,
					p.Required, want, p)
			}
		}
	}
}
