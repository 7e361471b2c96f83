package references_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slurmtide/slurmtide/slurmclient/references"
	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

// waitingJob returns job 5, which waits in partition cpu.
func waitingJob(change ...func(*slurm.Job)) *slurm.Job {
	j := &slurm.Job{ID: 5, Partition: "cpu", State: slurm.JobState{Base: slurm.JobPending}}
	for _, c := range change {
		c(j)
	}
	return j
}

// requesting sets how many nodes a job requests.
func requesting(nodes uint64) func(*slurm.Job) {
	return func(j *slurm.Job) { j.NodeCount = slurm.Num(nodes) }
}

func TestPendingJobsRequestNodes(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(*slurm.Job)
		nodes  int // 0 for a job that does not count
	}{
		"a job without -N":       {func(*slurm.Job) {}, 1},
		"-N 6":                   {func(j *slurm.Job) { j.NodeCount, j.TRESRequested = slurm.Num(6), "cpu=6,node=6" }, 6},
		"-N 2-6":                 {func(j *slurm.Job) { j.NodeCount, j.TRESRequested = slurm.Num(6), "cpu=2,node=2" }, 2},
		"without requested TRES": {requesting(6), 6},
		"with TRES that cannot be read": {func(j *slurm.Job) { j.NodeCount, j.TRESRequested = slurm.Num(6), "node=x" },
			6},
		"more nodes than anybody has": {requesting(1 << 60), 1 << 30},
		"-n 7 --ntasks-per-node=2": {func(j *slurm.Job) {
			j.Tasks, j.TRESRequested = slurm.Num(7), "cpu=7,node=1"
			j.EditDetails(func(d *slurm.JobDetails) { d.TasksPerNode = slurm.Num(2) })
		}, 4},
		"held": {func(j *slurm.Job) { j.Hold, j.Priority, j.NodeCount = true, slurm.Num(0), slurm.Num(6) }, 6},
		"waiting for another": {func(j *slurm.Job) { j.Dependency, j.NodeCount = "afterok:4(unfulfilled)", slurm.Num(6) },
			6},
		"an array": {func(j *slurm.Job) { j.ArrayJobID, j.ArrayTasks, j.NodeCount = 5, "1-9", slurm.Num(6) }, 6},
		"a component of a heterogeneous job": {func(j *slurm.Job) { j.HetJobID, j.HetOffset, j.NodeCount = 4, 1, slurm.Num(6) },
			6},
		"a job that is requeued": {func(j *slurm.Job) {
			j.State, j.NodeCount = slurm.JobState{Base: slurm.JobNodeFail, Flags: slurm.JobRequeued}, slurm.Num(6)
		}, 6},
		"a job of unknown state": {func(j *slurm.Job) { j.State.Base = slurm.JobUnknown }, 1},
		"a running job":          {func(j *slurm.Job) { j.State.Base = slurm.JobRunning }, 0},
		"a suspended job":        {func(j *slurm.Job) { j.State.Base = slurm.JobSuspended }, 0},
		"a completing job": {func(j *slurm.Job) {
			j.State = slurm.JobState{Base: slurm.JobCompleted, Flags: slurm.JobCompleting}
		}, 0},
		"a finished job": {func(j *slurm.Job) { j.State.Base = slurm.JobCompleted }, 0},
	} {
		t.Run(name, func(t *testing.T) {
			want := references.Pending{}
			if tc.nodes > 0 {
				want["cpu"] = map[string]references.Request{"": {Nodes: tc.nodes, Largest: 5, First: 5}}
			}
			got := references.PendingByPartition([]*slurm.Job{waitingJob(tc.change)})
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestPendingJobsByPartition(t *testing.T) {
	jobs := []*slurm.Job{
		waitingJob(requesting(3), func(j *slurm.Job) { j.ID = 9; j.EditDetails(func(d *slurm.JobDetails) { d.Features = "a100" }) }),
		waitingJob(requesting(3), func(j *slurm.Job) { j.ID = 7; j.EditDetails(func(d *slurm.JobDetails) { d.Features = "a100" }) }),
		waitingJob(func(j *slurm.Job) { j.ID = 6; j.EditDetails(func(d *slurm.JobDetails) { d.Features = "a100" }) }),
		waitingJob(func(j *slurm.Job) { j.ID, j.Partition = 8, "cpu,gpu" }),
	}
	one := references.Request{Nodes: 1, Largest: 8, First: 8}
	want := references.Pending{
		"cpu": {"a100": {Nodes: 3, Largest: 7, First: 6}, "": one},
		"gpu": {"": one},
	}
	for range jobs {
		if diff := cmp.Diff(want, references.PendingByPartition(jobs)); diff != "" {
			t.Error(diff)
		}
		jobs = append(jobs[1:], jobs[0])
	}
}

// TestJobThatNeedsARecord removes three of six nodes of partition cpu with the feature a100. The partition has two others.
func TestJobThatNeedsARecord(t *testing.T) {
	nodes := func(alike, others int) references.Nodes {
		out := references.Nodes{}
		for range alike {
			out.Add([]string{"cpu", "all"}, []string{"a100", "big"})
		}
		for range others {
			out.Add([]string{"cpu"}, []string{"h100"})
		}
		return out
	}
	constrained := func(text string) func(*slurm.Job) {
		return func(j *slurm.Job) { j.EditDetails(func(d *slurm.JobDetails) { d.Features = text }) }
	}
	preferring := func(text string) func(*slurm.Job) {
		return func(j *slurm.Job) { j.EditDetails(func(d *slurm.JobDetails) { d.Prefer = text }) }
	}
	inPartition := func(list string) func(*slurm.Job) { return func(j *slurm.Job) { j.Partition = list } }
	const needsSix, waits = "job 5 needs 6 nodes of partition cpu", "job 5 waits in partition cpu, and the NodeSet would have no record left"
	for name, tc := range map[string]struct {
		job  *slurm.Job
		all  bool
		want string
	}{
		"six nodes where five would remain":                            {waitingJob(requesting(6)), false, needsSix},
		"five nodes where five would remain":                           {waitingJob(requesting(5)), false, ""},
		"more nodes than there ever were":                              {waitingJob(requesting(9)), false, "job 5 needs 9 nodes of partition cpu"},
		"a job of another partition":                                   {waitingJob(requesting(6), inPartition("gpu")), false, ""},
		"one of several partitions":                                    {waitingJob(requesting(6), inPartition("gpu,cpu")), false, needsSix},
		"another partition of the record":                              {waitingJob(requesting(4), inPartition("all")), false, "job 5 needs 4 nodes of partition all"},
		"four with a feature that three would have":                    {waitingJob(requesting(4), constrained("a100")), false, "job 5 needs 4 nodes of partition cpu"},
		"three with a feature that three would have":                   {waitingJob(requesting(3), constrained("a100&big")), false, ""},
		"four with either feature":                                     {waitingJob(requesting(4), constrained("a100|h100")), false, ""},
		"four with a feature that the record lacks":                    {waitingJob(requesting(4), constrained("h100")), false, ""},
		"four that prefer a feature that three would have":             {waitingJob(requesting(4), preferring("a100")), false, "job 5 needs 4 nodes of partition cpu"},
		"three that prefer it":                                         {waitingJob(requesting(3), preferring("a100")), false, ""},
		"another feature, and a preferred one that nothing would have": {waitingJob(constrained("h100"), preferring("a100")), true, waits},
		"a mix of nodes":                                               {waitingJob(requesting(4), constrained("[a100*2&h100*2]")), false, "job 5 needs 4 nodes of partition cpu"},
		"nodes of one kind":                                            {waitingJob(requesting(4), constrained("[a100|h100]")), false, "job 5 needs 4 nodes of partition cpu"},
		"nodes of other kinds":                                         {waitingJob(requesting(2), constrained("[h100|v100]")), false, ""},
		"one node of one of some kinds":                                {waitingJob(constrained("[a100|h100]")), false, ""},
		"six with a feature that the record lacks":                     {waitingJob(requesting(6), constrained("h100")), false, needsSix},
		"a job, and nothing would remain":                              {waitingJob(), true, waits},
		"a job with its feature, and nothing remains":                  {waitingJob(constrained("a100")), true, waits},
		"a job with another feature, and nothing remains":              {waitingJob(constrained("h100")), true, ""},
		"a constraint that cannot be read":                             {waitingJob(constrained("((")), false, "job 5 needs a node of partition cpu"},
		"a job of another partition, nothing remains":                  {waitingJob(inPartition("gpu")), true, ""},
	} {
		t.Run(name, func(t *testing.T) {
			removal := references.Removal{Listed: nodes(6, 2), Removed: nodes(3, 0), All: tc.all}
			got := references.PendingByPartition([]*slurm.Job{tc.job}).
				JobThatNeeds(removal, []string{"cpu", "all"}, []string{"a100", "big"})
			if got != tc.want {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}

// TestTheFirstJobThatNeedsARecordIsNamed keeps conditions from changing with the order of jobs.
func TestTheFirstJobThatNeedsARecordIsNamed(t *testing.T) {
	removal := references.Removal{Listed: references.Nodes{}, Removed: references.Nodes{}}
	var jobs []*slurm.Job
	for id := range uint32(20) {
		jobs = append(jobs, waitingJob(func(j *slurm.Job) {
			j.ID = 30 - id
			j.EditDetails(func(d *slurm.JobDetails) { d.Features = string(rune('a' + id)) })
		}))
	}
	got := references.PendingByPartition(jobs).JobThatNeeds(removal, []string{"cpu"}, nil)
	if want := "job 11 needs a node of partition cpu"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
