package behaviour

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/slurmtide/slurmtide/slurmclient/demand"
	"github.com/slurmtide/slurmtide/slurmclient/demand/demandtest"
	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

// endedOn makes a job end on nodes some seconds ago, with a flag of its state or 0.
func endedOn(nodes string, ago slurm.Time, flags slurm.JobFlags) demandtest.JobOption {
	return func(j *slurm.Job) {
		demandtest.RunningOn(nodes)(j)
		j.State = slurm.JobState{Base: slurm.JobCompleted, Flags: flags}
		j.EndTime, j.NodeCount, j.CPUs = demandtest.Noon-ago, slurm.Num(1), slurm.Num(4)
	}
}

// has makes a running job have resources of its node.
func has(cpus uint64, tres string) demandtest.JobOption {
	return func(j *slurm.Job) { j.CPUs, j.TRESAllocated = slurm.Num(cpus), tres }
}

func TestNodesThatJobsJustLeftAreSoonFree(t *testing.T) {
	const completing = slurm.JobCompleting
	pool := demandtest.NewPool("w")
	whole := demandtest.NewJob(1, demandtest.WithTasks(4))
	node := func(state string, cpus uint32, memory uint64) *slurm.Node {
		return demandtest.NewWorker("w1", demandtest.WithState(state),
			func(n *slurm.Node) { n.AllocCPUs, n.AllocMemoryMiB = cpus, memory })
	}
	more := demandtest.PoolFigures{Required: 2, Busy: 1, Pending: 1, Eligible: 1}
	same := demandtest.PoolFigures{Required: 1, Busy: 1, Eligible: 1}
	half := demandtest.NewJob(9, demandtest.RunningOn("w1"), has(2, "cpu=2,mem=1000M"))
	for name, tt := range map[string]struct {
		nouns []any
		want  demandtest.PoolFigures
	}{
		"a node that completes a job of a second ago": {[]any{node("IDLE+COMPLETING", 4, 8000),
			demandtest.NewJob(9, endedOn("w1", 1, completing))}, same},
		"a node that completes a job of half a minute ago": {[]any{node("IDLE+COMPLETING", 4, 8000),
			demandtest.NewJob(9, endedOn("w1", 30, completing))}, same},
		"a node that completes a job for longer": {[]any{node("IDLE+COMPLETING", 4, 8000),
			demandtest.NewJob(9, endedOn("w1", 31, completing))}, more},
		"a node that completes two jobs, one of them for longer": {[]any{node("IDLE+COMPLETING", 4, 8000),
			demandtest.NewJob(8, endedOn("w1", 1, completing)), demandtest.NewJob(9, endedOn("w1", 31, completing))}, more},
		"a node that completes a job of an unknown end": {[]any{node("IDLE+COMPLETING", 4, 8000),
			demandtest.NewJob(9, endedOn("w1", demandtest.Noon, completing))}, more},
		"a node that completes a job that ends in an hour": {[]any{node("IDLE+COMPLETING", 4, 8000),
			demandtest.NewJob(9, endedOn("w1", -3600, completing))}, more},
		"a node that completes a job of which nothing is known": {[]any{node("IDLE+COMPLETING", 4, 8000)}, more},
		"a node that completes a job that is queued again": {[]any{node("IDLE+COMPLETING", 4, 8000),
			demandtest.NewJob(9, endedOn("w1", 1, completing), demandtest.WithReason("BeginTime"),
				func(j *slurm.Job) { j.State.Base = slurm.JobPending })}, demandtest.PoolFigures{Required: 3, Busy: 1, Pending: 2, Eligible: 2}},
		"a node that was read before its job ended": {[]any{node("ALLOCATED", 4, 8000),
			demandtest.NewJob(9, endedOn("w1", 1, 0))}, same},
		"a node whose job ended long ago": {[]any{node("ALLOCATED", 4, 8000),
			demandtest.NewJob(9, endedOn("w1", 31, 0))}, more},
		"one of two nodes of a job":   {[]any{node("ALLOCATED", 4, 8000), demandtest.NewJob(9, endedOn("w[0-1]", 1, completing))}, same},
		"another node":                {[]any{node("IDLE+COMPLETING", 4, 8000), demandtest.NewJob(9, endedOn("w2", 1, completing))}, more},
		"a node that another job has": {[]any{node("ALLOCATED", 4, 8000), demandtest.NewJob(8, endedOn("w1", 1, completing)), half}, more},
		"a node that a job still holds": {[]any{node("MIXED+COMPLETING", 4, 8000),
			demandtest.NewJob(8, endedOn("w1", 1, completing)), half}, more},
		"a node whose other job is suspended": {[]any{node("ALLOCATED", 4, 8000), demandtest.NewJob(8, endedOn("w1", 1, completing)),
			demandtest.NewJob(9, demandtest.RunningOn("w1"), has(2, "cpu=2"),
				func(j *slurm.Job) { j.State.Base = slurm.JobSuspended })}, more},
		"a draining node": {[]any{node("IDLE+COMPLETING+DRAIN", 4, 8000), demandtest.NewJob(9, endedOn("w1", 1, completing))}, more},
		"a reserved node": {[]any{node("IDLE+COMPLETING", 4, 8000), demandtest.NewJob(9, endedOn("w1", 1, completing)),
			&slurm.Reservation{Name: "r", StartTime: demandtest.Noon - 10, EndTime: demandtest.Noon + 10, Nodes: "w1"}}, more},
		"a node that does not respond": {[]any{node("IDLE+COMPLETING+NOT_RESPONDING", 4, 8000),
			demandtest.NewJob(9, endedOn("w1", 1, completing))}, more},
		"an idle node beside it is taken first": {[]any{node("IDLE+COMPLETING", 4, 8000), demandtest.NewWorker("w2"),
			demandtest.NewJob(9, endedOn("w1", 1, completing))},
			demandtest.PoolFigures{Required: 2, Busy: 1, Idle: 1, Claimed: 1, Eligible: 1}},
	} {
		t.Run(name, func(t *testing.T) {
			s, pools := demandtest.SplitPools(t, append(tt.nouns, pool, whole, demandtest.NewPartition("cpu"))...)
			p, _ := demandtest.ComputePools(s, pools).Pool("w")
			if diff := cmp.Diff(tt.want, demandtest.FiguresOf(p)); diff != "" {
				t.Error(diff)
			}
			if part, _ := demandtest.ComputePools(s, pools).Partition("cpu"); part.PendingNodes != tt.want.Pending {
				t.Errorf("the partition needs %d more nodes", part.PendingNodes)
			}
		})
	}
}

func TestTheRoomThatRunningJobsLeave(t *testing.T) {
	gpus := demandtest.WithGRES("gpu:4")
	pool := demandtest.NewPool("w", demandtest.WithShape(&demand.Shape{CPUs: 4, MemoryMiB: 8000, GRES: "gpu:4"}))
	left := demandtest.NewJob(8, endedOn("w1", 1, slurm.JobCompleting))
	running := func(options ...demandtest.JobOption) *slurm.Job {
		return demandtest.NewJob(9, append([]demandtest.JobOption{demandtest.RunningOn("w1"), has(2, "cpu=2,mem=1000M")}, options...)...)
	}
	full := func(state string) *slurm.Node {
		return demandtest.NewWorker("w1", gpus, demandtest.WithState(state), func(n *slurm.Node) {
			n.AllocCPUs, n.AllocMemoryMiB, n.GRESUsed, n.TRESUsed = 4, 8000, "gpu:4", "cpu=4,gres/gpu=4"
		})
	}
	half := demandtest.NewJob(1, demandtest.WithTasks(2), func(j *slurm.Job) { j.MemoryPerNode = slurm.Num(7000) })
	withGPUs := func(n string) *slurm.Job {
		return demandtest.NewJob(1, func(j *slurm.Job) { j.EditDetails(func(d *slurm.JobDetails) { d.TRESPerNode = "gres/gpu:" + n }) })
	}
	for name, tt := range map[string]struct {
		node    *slurm.Node
		running *slurm.Job
		pending *slurm.Job
		want    uint64
	}{
		"two CPUs for a job of two":             {full("MIXED+COMPLETING"), running(), half, 1},
		"also before the node completes":        {full("ALLOCATED"), running(), half, 1},
		"two CPUs for a job of three":           {full("MIXED+COMPLETING"), running(), demandtest.NewJob(1, demandtest.WithTasks(3)), 2},
		"less memory than a job requests":       {full("MIXED+COMPLETING"), running(has(2, "cpu=2,mem=1001M")), half, 2},
		"two GPUs for a job of two":             {full("MIXED+COMPLETING"), running(has(2, "cpu=2,gres/gpu=2")), withGPUs("2"), 1},
		"two GPUs for a job of three":           {full("MIXED+COMPLETING"), running(has(2, "cpu=2,gres/gpu=2")), withGPUs("3"), 2},
		"a job on several nodes is not counted": {full("ALLOCATED"), running(func(j *slurm.Job) { j.NodeCount = slurm.Num(2) }), half, 2},
		"a job with GPUs of unknown number": {full("ALLOCATED"), running(func(j *slurm.Job) {
			j.EditDetails(func(d *slurm.JobDetails) { d.TRESPerSocket = "gres/gpu:1" })
		}), half, 2},
		"the node is another user's": {demandtest.NewWorker("w1", demandtest.WithState("ALLOCATED"),
			func(n *slurm.Node) { n.Owner = "ada" }), running(), half, 2},
	} {
		t.Run(name, func(t *testing.T) {
			s, pools := demandtest.SplitPools(t, pool, demandtest.NewPartition("cpu"), tt.node, left, tt.running, tt.pending)
			if p, _ := demandtest.ComputePools(s, pools).Pool("w"); p.Required != tt.want {
				t.Errorf("%d workers are required, want %d", p.Required, tt.want)
			}
		})
	}
}

// TestAnArrayThatTurnsOverNeedsNoThirdNode: two of its tasks may run at a time.
func TestAnArrayThatTurnsOverNeedsNoThirdNode(t *testing.T) {
	full := demandtest.WithTasks(4)
	task := func(id uint32, options ...demandtest.JobOption) *slurm.Job {
		return demandtest.NewJob(id, append(options, full, demandtest.AsArrayTask(100, uint64(id)),
			func(j *slurm.Job) {
				j.EditDetails(func(d *slurm.JobDetails) { d.ArrayMaxRunning = 2 })
			})...)
	}
	waiting := demandtest.NewJob(100, demandtest.WithArray(100, "3-40", 2), full, demandtest.WithReason("JobArrayTaskLimit"))
	allocated := func(name string) *slurm.Node { return demandtest.NewWorker(name, demandtest.WithState("ALLOCATED")) }
	completing := demandtest.NewWorker("w1", demandtest.WithState("IDLE+COMPLETING"), func(n *slurm.Node) { n.AllocCPUs = 4 })
	ended := task(1, endedOn("w1", 1, slurm.JobCompleting))
	for name, nouns := range map[string][]any{
		"both run":               {allocated("w1"), allocated("w2"), task(1, demandtest.RunningOn("w1")), task(2, demandtest.RunningOn("w2"))},
		"one is read as ended":   {allocated("w1"), allocated("w2"), ended, task(2, demandtest.RunningOn("w2"))},
		"one completes":          {completing, allocated("w2"), ended, task(2, demandtest.RunningOn("w2"))},
		"both are read as ended": {allocated("w1"), allocated("w2"), ended, task(2, endedOn("w2", 1, 0))},
		"one has ended": {demandtest.NewWorker("w1"), allocated("w2"), task(1, endedOn("w1", 1, 0)),
			task(2, demandtest.RunningOn("w2"))},
	} {
		t.Run(name, func(t *testing.T) {
			s, pools := demandtest.SplitPools(t, append(nouns, demandtest.NewPool("w"), demandtest.NewPartition("cpu"), waiting)...)
			s.Nodes.ReadAt = time.Unix(int64(demandtest.Noon)-1, 0)
			if p, _ := demandtest.ComputePools(s, pools).Pool("w"); p.Required != 2 {
				t.Errorf("%d workers are required: %+v", p.Required, demandtest.FiguresOf(p))
			}
		})
	}
}
