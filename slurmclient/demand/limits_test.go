package demand_test

import (
	"testing"

	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

// TestLimitsThatSlurmctldDoesNotTellOfYet: at zero nodes every job waits for
// PartitionConfig, whatever else would keep it from running.
func TestLimitsThatSlurmctldDoesNotTellOfYet(t *testing.T) {
	atZero := func(user, account, qos string, more ...jobOption) jobOption {
		return with(func(j *slurm.Job) {
			j.Reason, j.UserName, j.Account, j.QOS = "PartitionConfig", user, account, qos
			for _, o := range more {
				o(j)
			}
		})
	}
	runs := func(user, account, qos string) jobOption {
		return with(func(j *slurm.Job) {
			running("n9")(j)
			j.UserName, j.Account, j.QOS = user, account, qos
		})
	}
	qos := []slurm.QOS{
		{Name: "none", MaxJobs: slurm.Num(0)}, {Name: "three", MaxJobs: slurm.Num(3)}, {Name: "user2", MaxJobsPerUser: slurm.Num(2)},
		{Name: "account1", MaxJobsPerAccount: slurm.Num(1)}, {Name: "both", MaxJobs: slurm.Num(4), MaxJobsPerUser: slurm.Num(3)}, {Name: "free"},
	}
	for name, tc := range map[string]struct {
		jobs []any
		want uint64
	}{
		"a QOS that lets no job run":               {[]any{job(1, atZero("a", "x", "none"))}, 0},
		"one that lets three run":                  {[]any{jobs(1, 9, atZero("a", "x", "three"))}, 3},
		"those that run count":                     {[]any{job(50, runs("b", "y", "three")), jobs(1, 9, atZero("a", "x", "three"))}, 2},
		"more run than it lets":                    {[]any{jobs(50, 5, runs("b", "y", "three")), jobs(1, 9, atZero("a", "x", "three"))}, 0},
		"a limit for each user":                    {[]any{jobs(1, 5, atZero("a", "x", "user2")), jobs(11, 5, atZero("b", "x", "user2")), job(50, runs("b", "x", "user2"))}, 3},
		"a limit for each account":                 {[]any{jobs(1, 5, atZero("a", "x", "account1")), jobs(11, 5, atZero("b", "y", "account1"))}, 2},
		"both":                                     {[]any{jobs(1, 9, atZero("a", "x", "both")), jobs(11, 9, atZero("b", "y", "both"))}, 4},
		"no limit":                                 {[]any{jobs(1, 9, atZero("a", "x", "free")), jobs(11, 9, atZero("b", "y", "unheard of"))}, 18},
		"tasks of an array count":                  {[]any{job(1, atZero("a", "x", "three", array(1, "1-20", 0)))}, 3},
		"as far as its throttle lets them":         {[]any{job(1, atZero("a", "x", "three", array(1, "1-20", 2)))}, 2},
		"a job that slurmctld has judged as usual": {[]any{jobs(1, 9, with(func(j *slurm.Job) { j.QOS = "none" }))}, 9},
	} {
		t.Run(name, func(t *testing.T) {
			s := snapshotOf(t, append([]any{partition("cpu")}, tc.jobs...)...)
			s.QOS.Known, s.QOS.Value = true, qos
			p := compute(s).Partitions[0]
			if p.EligiblePendingJobs != tc.want {
				t.Errorf("%d jobs are eligible, not %d: %v", p.EligiblePendingJobs, tc.want, p.PendingByReason)
			}
		})
	}
}

func TestWhichJobsGetWhatALimitLeaves(t *testing.T) {
	wide := func(id uint32, priority uint64, n uint64) *slurm.Job {
		return job(id, nodes(n), with(func(j *slurm.Job) {
			j.Reason, j.QOS, j.Priority = "PartitionConfig", "one", slurm.Num(priority)
		}))
	}
	s := snapshotOf(t, partition("cpu"), wide(1, 5, 2), wide(2, 9, 4), wide(3, 7, 8))
	s.QOS.Known, s.QOS.Value = true, []slurm.QOS{{Name: "one", MaxJobs: slurm.Num(1)}}
	if p := compute(s).Partitions[0]; p.PendingNodes != 4 {
		t.Errorf("%d nodes are asked for, not the four of the job with the highest priority", p.PendingNodes)
	}
}

func TestANodeLimitThatIsAWantOfNodes(t *testing.T) {
	for name, tc := range map[string]struct {
		total uint32
		limit slurm.Number
		want  uint64
	}{
		"the partition has fewer nodes":   {2, slurm.Infinite(), 1},
		"it has none":                     {0, slurm.Infinite(), 1},
		"it has enough":                   {4, slurm.Infinite(), 0},
		"it has fewer and allows no more": {2, slurm.Num(2), 0},
		"it has fewer and allows more":    {2, slurm.Num(4), 1},
	} {
		t.Run(name, func(t *testing.T) {
			cpu := partition("cpu", func(p *slurm.Partition) { p.TotalNodes, p.MaxNodes = tc.total, tc.limit })
			p := compute(snapshotOf(t, cpu, job(1, nodes(4), reason("PartitionNodeLimit")))).Partitions[0]
			if p.EligiblePendingJobs != tc.want {
				t.Errorf("%d jobs are eligible, not %d", p.EligiblePendingJobs, tc.want)
			}
		})
	}
}
