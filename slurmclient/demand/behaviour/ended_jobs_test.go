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
		"a node that completes a job of a second ago": {[]any{node("IDLE+COMPLETING", 0, 0),
			demandtest.NewJob(9, endedOn("w1", 1, completing))}, same},
		"a node that completes a job but is still in use by its record": {[]any{node("IDLE+COMPLETING", 1, 100),
			demandtest.NewJob(9, endedOn("w1", 1, completing))}, more},
		"a node that completes a job, and an earlier one has left it": {[]any{node("IDLE+COMPLETING", 0, 0),
			demandtest.NewJob(8, endedOn("w1", 1, completing)), demandtest.NewJob(9, endedOn("w1", 100, 0))}, same},
		"a node that completes a job of half a minute ago": {[]any{node("IDLE+COMPLETING", 0, 0),
			demandtest.NewJob(9, endedOn("w1", 30, completing))}, same},
		"a node that completes a job for longer": {[]any{node("IDLE+COMPLETING", 0, 0),
			demandtest.NewJob(9, endedOn("w1", 31, completing))}, more},
		"a node that completes two jobs, one of them for longer": {[]any{node("IDLE+COMPLETING", 0, 0),
			demandtest.NewJob(8, endedOn("w1", 1, completing)), demandtest.NewJob(9, endedOn("w1", 31, completing))}, more},
		"a node that completes a job of an unknown end": {[]any{node("IDLE+COMPLETING", 0, 0),
			demandtest.NewJob(9, endedOn("w1", demandtest.Noon, completing))}, more},
		"a node that completes a job that ends in an hour": {[]any{node("IDLE+COMPLETING", 0, 0),
			demandtest.NewJob(9, endedOn("w1", -3600, completing))}, more},
		"a node that completes a job of which nothing is known": {[]any{node("IDLE+COMPLETING", 0, 0)}, more},
		"a node that completes a job that is queued again": {[]any{node("IDLE+COMPLETING", 0, 0),
			demandtest.NewJob(9, endedOn("w1", 1, completing), demandtest.WithReason("BeginTime"),
				func(j *slurm.Job) { j.State.Base = slurm.JobPending })}, demandtest.PoolFigures{Required: 3, Busy: 1, Pending: 2, Eligible: 2}},
		"a node that was read before its job ended": {[]any{node("ALLOCATED", 4, 8000),
			demandtest.NewJob(9, endedOn("w1", 1, 0))}, same},
		"a node whose job ended long ago": {[]any{node("ALLOCATED", 4, 8000),
			demandtest.NewJob(9, endedOn("w1", 31, 0))}, more},
		"one of two nodes of a job": {[]any{node("ALLOCATED", 4, 8000), demandtest.NewJob(9, endedOn("w[0-1]", 1, completing),
			func(j *slurm.Job) { j.NodeCount, j.CPUs = slurm.Num(2), slurm.Num(8) })}, same},
		"another node":                {[]any{node("IDLE+COMPLETING", 0, 0), demandtest.NewJob(9, endedOn("w2", 1, completing))}, more},
		"a node that another job has": {[]any{node("ALLOCATED", 4, 8000), demandtest.NewJob(8, endedOn("w1", 1, completing)), half}, more},
		"a node that a job still holds": {[]any{node("MIXED+COMPLETING", 4, 8000),
			demandtest.NewJob(8, endedOn("w1", 1, completing)), half}, more},
		"a node whose other job is suspended": {[]any{node("ALLOCATED", 4, 8000), demandtest.NewJob(8, endedOn("w1", 1, completing)),
			demandtest.NewJob(9, demandtest.RunningOn("w1"), has(2, "cpu=2"),
				func(j *slurm.Job) { j.State.Base = slurm.JobSuspended })}, more},
		"a draining node": {[]any{node("IDLE+COMPLETING+DRAIN", 0, 0), demandtest.NewJob(9, endedOn("w1", 1, completing))}, more},
		"a reserved node": {[]any{node("IDLE+COMPLETING", 0, 0), demandtest.NewJob(9, endedOn("w1", 1, completing)),
			&slurm.Reservation{Name: "r", StartTime: demandtest.Noon - 10, EndTime: demandtest.Noon + 10, Nodes: "w1"}}, more},
		"a node that does not respond": {[]any{node("IDLE+COMPLETING+NOT_RESPONDING", 0, 0),
			demandtest.NewJob(9, endedOn("w1", 1, completing))}, more},
		"an idle node beside it is taken first": {[]any{node("IDLE+COMPLETING", 0, 0), demandtest.NewWorker("w2"),
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

// TestTheRecordOfACompletingNodeIsRight: slurmctld has freed what the ended job had.
func TestTheRecordOfACompletingNodeIsRight(t *testing.T) {
	pool := demandtest.NewPool("w", demandtest.WithShape(&demand.Shape{CPUs: 4, MemoryMiB: 8000, GRES: "gpu:4"}))
	node := func(state, owner string) *slurm.Node {
		return demandtest.NewWorker("w1", demandtest.WithGRES("gpu:4"), demandtest.WithState(state), func(n *slurm.Node) {
			n.AllocCPUs, n.AllocMemoryMiB, n.GRESUsed, n.TRESUsed, n.Owner = 2, 1000, "gpu:2", "cpu=2,gres/gpu=2", owner
		})
	}
	request := func(cpus, memory uint64, gpus string) *slurm.Job {
		return demandtest.NewJob(1, demandtest.WithTasks(cpus), func(j *slurm.Job) {
			j.MemoryPerNode = slurm.Num(memory)
			j.EditDetails(func(d *slurm.JobDetails) { d.TRESPerNode = gpus })
		})
	}
	for name, tt := range map[string]struct {
		node    *slurm.Node
		pending *slurm.Job
		want    uint64
	}{
		"two CPUs for a job of two":       {node("MIXED+COMPLETING", ""), request(2, 7000, ""), 1},
		"two CPUs for a job of three":     {node("MIXED+COMPLETING", ""), request(3, 7000, ""), 2},
		"less memory than a job requests": {node("MIXED+COMPLETING", ""), request(2, 7001, ""), 2},
		"two GPUs for a job of two":       {node("MIXED+COMPLETING", ""), request(1, 100, "gres/gpu:2"), 1},
		"two GPUs for a job of three":     {node("MIXED+COMPLETING", ""), request(1, 100, "gres/gpu:3"), 2},
		"a node that is allocated":        {node("ALLOCATED+COMPLETING", ""), request(2, 7000, ""), 2},
		"another user's node":             {node("MIXED+COMPLETING", "ada"), request(2, 7000, ""), 2},
	} {
		t.Run(name, func(t *testing.T) {
			running := demandtest.NewJob(9, demandtest.RunningOn("w1"), has(2, "cpu=2,mem=1000M,gres/gpu=2"))
			s, pools := demandtest.SplitPools(t, pool, demandtest.NewPartition("cpu"), tt.node, running, tt.pending,
				demandtest.NewJob(8, endedOn("w1", 1, slurm.JobCompleting)))
			if p, _ := demandtest.ComputePools(s, pools).Pool("w"); p.Required != tt.want {
				t.Errorf("%d workers are required, want %d", p.Required, tt.want)
			}
		})
	}
}

// TestANodeThatWasReadBeforeItsJobsEnded is empty if these jobs explain its use.
func TestANodeThatWasReadBeforeItsJobsEnded(t *testing.T) {
	node := func(cpus uint32, options ...demandtest.NodeOption) *slurm.Node {
		n := demandtest.NewWorker("w1", demandtest.WithState("ALLOCATED"), demandtest.WithSize(8, 8000), func(n *slurm.Node) {
			n.AllocCPUs, n.Sockets, n.CoresPerSocket, n.ThreadsPerCore = cpus, 1, 8, 1
		})
		for _, o := range options {
			o(n)
		}
		return n
	}
	twoThreads := func(n *slurm.Node) { n.CoresPerSocket, n.ThreadsPerCore = 4, 2 }
	ended := func(cpus uint64, options ...demandtest.JobOption) *slurm.Job {
		return demandtest.NewJob(9, append([]demandtest.JobOption{endedOn("w1", 1, 0),
			func(j *slurm.Job) { j.CPUs = slurm.Num(cpus) }}, options...)...)
	}
	onNodes := func(nodes slurm.Number) demandtest.JobOption {
		return func(j *slurm.Job) { j.NodeCount = nodes }
	}
	oneThread := demandtest.WithDetails(func(d *slurm.JobDetails) { d.ThreadsPerCore = slurm.Num(1) })
	for name, tt := range map[string]struct {
		nouns []any
		want  uint64
	}{
		"all its CPUs":                       {[]any{node(8), ended(8)}, 1},
		"one CPU less":                       {[]any{node(8), ended(7)}, 2},
		"two jobs":                           {[]any{node(8), ended(7), demandtest.NewJob(8, endedOn("w1", 9, 0))}, 1},
		"a whole core":                       {[]any{node(8, twoThreads), ended(7)}, 1},
		"one thread of each core":            {[]any{node(8, twoThreads), ended(4, oneThread)}, 1},
		"one thread of three cores":          {[]any{node(8, twoThreads), ended(3, oneThread)}, 2},
		"a part of the CPUs on two nodes":    {[]any{node(8), ended(15, onNodes(slurm.Num(2)))}, 1},
		"less than half of them":             {[]any{node(8), ended(14, onNodes(slurm.Num(2)))}, 2},
		"CPUs on an unknown set of nodes":    {[]any{node(8), ended(8, onNodes(slurm.Unset()))}, 2},
		"a node that is its user's":          {[]any{node(8, func(n *slurm.Node) { n.Owner = "ada" }), ended(8)}, 1},
		"a node that has room by its record": {[]any{node(7, demandtest.WithUsage(7, 100)), ended(7)}, 2},
		"half its CPUs by a list that names it twice": {[]any{node(8),
			ended(4, func(j *slurm.Job) { j.Nodes = "w1,w1" })}, 2},
		"another job runs on unread nodes": {[]any{node(8), ended(8), demandtest.NewJob(8, demandtest.RunningOn("x[1"))}, 2},
		"another job's nodes are missing":  {[]any{node(8), ended(8), demandtest.NewJob(8, demandtest.RunningOn(""))}, 2},
		"another job completes for longer on unread nodes": {[]any{node(8), ended(8),
			demandtest.NewJob(8, endedOn("x]", 31, slurm.JobCompleting))}, 2},
		"another job left unread nodes": {[]any{node(8), ended(8), demandtest.NewJob(8, endedOn("x]", 31, 0))}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			s, pools := demandtest.SplitPools(t, append(tt.nouns, demandtest.NewPartition("cpu"),
				demandtest.NewPool("w", demandtest.WithShape(&demand.Shape{CPUs: 8, MemoryMiB: 8000})),
				demandtest.NewJob(1, demandtest.WithTasks(8)))...)
			if p, _ := demandtest.ComputePools(s, pools).Pool("w"); p.Required != tt.want {
				t.Errorf("%d workers are required, want %d", p.Required, tt.want)
			}
		})
	}
}

// TestWhatRunningJobsHaveIsNotFree: another job ended on the node a second ago.
func TestWhatRunningJobsHaveIsNotFree(t *testing.T) {
	size := func(n *slurm.Node) {
		n.CPUs, n.EffectiveCPUs, n.Sockets, n.CoresPerSocket, n.ThreadsPerCore, n.GRES = 8, 8, 1, 4, 2, "gpu:h100:4"
	}
	pool := demandtest.NewPool("w", demandtest.WithShape(&demand.Shape{CPUs: 8, MemoryMiB: 8000, ThreadsPerCore: 2, GRES: "gpu:h100:4"}))
	waiting := func(cpus uint64, gres string) *slurm.Job {
		return demandtest.NewJob(1, demandtest.WithTasks(cpus), func(j *slurm.Job) {
			j.MemoryPerNode = slurm.Num(100)
			j.EditDetails(func(d *slurm.JobDetails) { d.TRESPerNode = gres })
		})
	}
	for name, tt := range map[string]struct {
		cpus             uint32 // in use on the node
		used, tres       string
		running, waiting *slurm.Job
	}{
		"one thread of each core (--hint=nomultithread)": {6, "", "cpu=6",
			demandtest.NewJob(9, demandtest.RunningOn("w1"), has(3, "cpu=3,mem=100M"),
				demandtest.WithDetails(func(d *slurm.JobDetails) { d.ThreadsPerCore = slurm.Num(1) })), waiting(4, "")},
		"GPUs that slurmctld counts by type only": {2, "gpu:h100:2(IDX:0-1)", "cpu=2,gres/gpu:h100=2",
			demandtest.NewJob(9, demandtest.RunningOn("w1"), has(2, "cpu=2,mem=100M,gres/gpu:h100=2"),
				demandtest.WithDetails(func(d *slurm.JobDetails) { d.GRESAllocated = "gres/gpu=2,gres/gpu:h100=2" })), waiting(1, "gres/gpu:3")},
		"a job whose nodes cannot be read": {6, "", "cpu=6",
			demandtest.NewJob(9, demandtest.RunningOn("w[1"), has(6, "cpu=6,mem=100M")), waiting(4, "")},
	} {
		for _, state := range []string{"MIXED+COMPLETING", "MIXED"} {
			t.Run(name+", "+state, func(t *testing.T) {
				node := demandtest.NewWorker("w1", size, demandtest.WithState(state), func(n *slurm.Node) {
					n.AllocCPUs, n.AllocMemoryMiB, n.GRESUsed, n.TRESUsed = tt.cpus, 100, tt.used, tt.tres
				})
				left := demandtest.NewJob(8, endedOn("w1", 1, 0))
				s, pools := demandtest.SplitPools(t, pool, demandtest.NewPartition("cpu"), node, left, tt.running, tt.waiting)
				if p, _ := demandtest.ComputePools(s, pools).Pool("w"); p.Required != 2 {
					t.Errorf("%d workers are required, want 2", p.Required)
				}
			})
		}
	}
}

func TestANodeWithRoomIsStillTakenFirst(t *testing.T) {
	node := demandtest.NewWorker("w1", demandtest.WithUsage(2, 200))
	running := demandtest.NewJob(9, demandtest.RunningOn("w1"), has(1, "cpu=1,mem=100M"))
	waiting := demandtest.NewJob(1, func(j *slurm.Job) { j.MemoryPerNode = slurm.Num(100) })
	s, pools := demandtest.SplitPools(t, demandtest.NewPool("w"), demandtest.NewPartition("cpu"), node, demandtest.NewWorker("w2"),
		demandtest.NewJob(8, endedOn("w1", 1, 0)), running, waiting)
	if p, _ := demandtest.ComputePools(s, pools).Pool("w"); p.Required != 1 {
		t.Errorf("%d workers are required, want 1: the job can start on w1 at once", p.Required)
	}
}

func TestABootingWorkerStaysWhileAnotherCompletes(t *testing.T) {
	for _, booting := range []string{"w0", "w2"} {
		s, pools := demandtest.SplitPools(t, demandtest.NewPool("w"), demandtest.NewPartition("cpu"),
			demandtest.NewWorker("w1", demandtest.WithState("IDLE+COMPLETING")),
			demandtest.NewWorker(booting, demandtest.WithState("IDLE+POWERING_UP")),
			demandtest.NewJob(8, endedOn("w1", 1, slurm.JobCompleting)), demandtest.NewJob(1, demandtest.WithTasks(4)))
		if p, _ := demandtest.ComputePools(s, pools).Pool("w"); p.Required != 2 {
			t.Errorf("while %s boots, %d workers are required, want 2", booting, p.Required)
		}
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
	completing := demandtest.NewWorker("w1", demandtest.WithState("IDLE+COMPLETING"))
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
