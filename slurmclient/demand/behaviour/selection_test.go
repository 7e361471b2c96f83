package behaviour

import (
	"testing"

	"github.com/slurmtide/slurmtide/slurmclient/demand"
	"github.com/slurmtide/slurmtide/slurmclient/demand/demandtest"
	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

// withThreads sets the CPUs of a node, two of them per core.
func withThreads(cpus uint32) demandtest.NodeOption {
	return func(n *slurm.Node) {
		demandtest.WithSize(cpus, 16_000)(n)
		n.Boards, n.Sockets, n.CoresPerSocket, n.ThreadsPerCore = 1, 1, cpus/2, 2
	}
}

// TestWhatJobsAllocateOnTheirNodes expects what slurmctld 24.11 and 26.05 allocated.
func TestWhatJobsAllocateOnTheirNodes(t *testing.T) {
	memory := func(node, cpu slurm.Number) demandtest.JobOption {
		return demandtest.WithChange(func(j *slurm.Job) { j.MemoryPerNode, j.MemoryPerCPU = node, cpu })
	}
	down := demandtest.WithState("DOWN")
	selecting := func(words ...string) slurm.Conf { return slurm.Conf{SelectTypeParameters: words} }
	coreMemory := selecting("CR_CORE_MEMORY")
	gpuNode := demandtest.NewNode("g", down, demandtest.WithGRES("gpu:4"), demandtest.WithSize(16, 64_000))
	for name, tc := range map[string]struct {
		conf    []any
		node    *slurm.Node
		jobs    []*slurm.Job
		pending uint64
		why     string
	}{
		"jobs of one CPU get a core each": {nil, demandtest.NewNode("t", down, withThreads(8)),
			demandtest.NewJobs(1, 8), 2,
			""},
		"jobs of three CPUs get two cores": {nil, demandtest.NewNode("t", down, withThreads(8)),
			demandtest.NewJobs(1, 4,
				demandtest.WithChange(func(j *slurm.Job) {
					j.CPUs = slurm.Num(3)
					j.EditDetails(func(d *slurm.JobDetails) { d.CPUsPerTask = slurm.Num(3) })
				})), 2,
			""},
		"single CPUs with CR_CPU": {[]any{selecting("CR_CPU")},
			demandtest.NewNode("t", down, withThreads(8)), demandtest.NewJobs(1, 8), 1, ""},
		"one thread of each core": {nil, demandtest.NewNode("t", down, withThreads(8)),
			demandtest.NewJobs(1, 2, demandtest.WithTasks(4),
				demandtest.WithDetails(func(d *slurm.JobDetails) { d.ThreadsPerCore = slurm.Num(1) })), 2, ""},
		"more tasks than cores with one thread of each": {nil, demandtest.NewNode("t", down, withThreads(8)),
			demandtest.NewJobs(1, 1, demandtest.WithTasks(5),
				demandtest.WithDetails(func(d *slurm.JobDetails) { d.ThreadsPerCore, d.MaxNodes = slurm.Num(1), slurm.Num(1) })), 0,
			"more nodes than the job or the partition allows"},
		"memory for the CPUs of whole cores": {nil, demandtest.NewNode("t", down, withThreads(8)),
			demandtest.NewJobs(1, 4, memory(slurm.Unset(), slurm.Num(4000))), 2, ""},
		"specialized cores (CoreSpecCount)": {nil,
			demandtest.NewNode("t", down, withThreads(8), func(n *slurm.Node) { n.EffectiveCPUs = 6 }),
			demandtest.NewJobs(1, 4), 2, ""},
		"all the memory": {[]any{coreMemory}, demandtest.NewNode("m", down),
			demandtest.NewJobs(1, 3, memory(slurm.Num(0), slurm.Unset())), 3, ""},
		"all the memory, where it is not allocated": {[]any{selecting("CR_CORE")}, demandtest.NewNode("m", down),
			demandtest.NewJobs(1, 3, memory(slurm.Num(0), slurm.Unset())), 1, ""},
		"all the memory, as a running job shows": {nil, demandtest.NewNode("m", down),
			append(demandtest.NewJobs(1, 3, memory(slurm.Num(0), slurm.Unset())),
				demandtest.NewJob(9, demandtest.RunningOn("x"), withTRES("cpu=1,mem=8000M,node=1"))), 3, ""},
		"no memory by default": {[]any{coreMemory}, demandtest.NewNode("m", down),
			demandtest.NewJobs(1, 3, memory(slurm.Unset(), slurm.Num(0))), 1, ""},
		"memory that is not allocated": {[]any{selecting("CR_CORE")}, demandtest.NewNode("m", down),
			demandtest.NewJobs(1, 3, memory(slurm.Num(8000), slurm.Unset())), 1, ""},
		"memory that is not allocated must exist": {[]any{selecting("CR_CORE")}, demandtest.NewNode("m", down),
			demandtest.NewJobs(1, 1, memory(slurm.Num(9000), slurm.Unset())), 0, "no node has the memory"},
		"tasks of three GPUs on nodes of four": {nil, gpuNode,
			demandtest.NewJobs(1, 1, demandtest.WithTasks(4),
				demandtest.WithChange(func(j *slurm.Job) {
					j.TRESRequested = "cpu=4,node=1,gres/gpu=12"
					j.EditDetails(func(d *slurm.JobDetails) { d.TRESPerTask = "gres/gpu=3" })
				})), 4, ""},
		"tasks of three GPUs on one node": {nil, gpuNode,
			demandtest.NewJobs(1, 1, demandtest.WithTasks(4),
				demandtest.WithDetails(func(d *slurm.JobDetails) { d.TRESPerTask, d.MaxNodes = "gres/gpu=3", slurm.Num(1) })),
			0,
			"more nodes than the job or the partition allows"},
		"tasks of five GPUs": {nil, gpuNode,
			demandtest.NewJobs(1, 1, demandtest.WithTasks(4),
				demandtest.WithDetails(func(d *slurm.JobDetails) { d.TRESPerTask = "gres/gpu=5" })), 0,
			"no node has the generic resources"},
		"memory per GPU": {nil, gpuNode,
			demandtest.NewJobs(1, 2, memory(slurm.Num(20_000), slurm.Unset()),
				demandtest.WithDetails(func(d *slurm.JobDetails) { d.TRESPerJob, d.MemoryPerTRES = "gres/gpu:2", "gres/gpu:20000" })), 2,
			""},
		"CPUs per GPU": {nil, gpuNode,
			demandtest.NewJobs(1, 2,
				demandtest.WithChange(func(j *slurm.Job) {
					j.CPUs = slurm.Num(12)
					j.EditDetails(func(d *slurm.JobDetails) { d.TRESPerJob = "gres/gpu:2" })
				})), 2,
			""},
	} {
		t.Run(name, func(t *testing.T) {
			s := demandtest.SnapshotOf(t, demandtest.NewPartition("cpu"), tc.node, tc.jobs)
			demandtest.SetLimits(s, tc.conf...)
			p := demandtest.ComputeDemand(s).Partitions[0]
			if p.PendingNodes != tc.pending {
				t.Errorf("%d nodes are requested, want %d: %+v", p.PendingNodes, tc.pending, p)
			}
			if why := whyNot(p.Unsatisfiable); why != tc.why {
				t.Errorf("the jobs cannot run since %q, want %q", why, tc.why)
			}
		})
	}
}

func whyNot(list []demand.Unsatisfiable) string {
	if len(list) == 0 {
		return ""
	}
	return list[0].Reason
}
