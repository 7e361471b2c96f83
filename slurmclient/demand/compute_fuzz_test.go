package demand_test

import (
	"testing"
	"time"

	"github.com/slurmtide/slurmtide/slurmclient/demand"
	"github.com/slurmtide/slurmtide/slurmclient/demand/demandtest"
	"github.com/slurmtide/slurmtide/slurmclient/demand/pending"
	"github.com/slurmtide/slurmtide/slurmclient/hostlist"
	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

// FuzzComputeWithArbitraryJobTexts computes the demand of a job with arbitrary texts beside a small
// job. Both are counted once whatever the texts are, and no pool requires more than its maximum.
func FuzzComputeWithArbitraryJobTexts(f *testing.F) {
	f.Add("a*4294967295", "gres/gpu:99999999999999999999", "matlab:18446744073709551615",
		"cpu=4611686018427387904,node=4611686018427387904", "n[1-1000]", "0-4294967295%1", uint64(1))
	f.Add("[a*2&b]|c", "gres/gpu=4611686018427387904,gres/gpu:a=9", "a|b",
		"mem=999999999P,gres/gpu=4611686018427387904", "", "", uint64(1)<<63)
	f.Add("", "gres/gpu:2", "", "cpu=2,mem=10,node=1,gres/gpu=2", "gpu-0", "1-9%2", uint64(1)<<32)
	f.Fuzz(func(t *testing.T, features, gres, licenses, tres, required, list string, count uint64) {
		if n, _ := hostlist.Count(required); n > 10_000 {
			return // slurmctld refuses names of unknown nodes
		}
		hostile := demandtest.NewJob(1, demandtest.WithArray(1, list, 0), demandtest.WithChange(func(j *slurm.Job) {
			j.Partition = "gpu"
			j.TRESRequested = tres
			j.EditDetails(func(d *slurm.JobDetails) { d.Features, d.Licenses, d.RequiredNodes = features, licenses, required })
			j.EditDetails(func(d *slurm.JobDetails) { d.TRESPerNode, d.TRESPerJob, d.TRESPerTask = gres, gres, gres })
			j.Tasks, j.CPUs, j.NodeCount = slurm.Num(count), slurm.Num(count), slurm.Num(count)
			j.EditDetails(func(d *slurm.JobDetails) { d.CPUsPerTask = slurm.Num(count) })
			j.MemoryPerCPU, j.MemoryPerNode = slurm.Num(count), slurm.Num(count)
		}))
		small := demandtest.NewJob(2, demandtest.InPartition("gpu"))
		s := demandtest.SnapshotOf(t, demandtest.NewPartition("gpu"),
			demandtest.NewNode("gpu-0", demandtest.InPartitions("gpu"), demandtest.WithFeatures("gpu", "a"),
				demandtest.WithGRES("gpu:2")), hostile, small)
		pools := []demand.Pool{demandtest.NodeSetPool("gpu", func(p *demand.Pool) { p.Max, p.Replicas = 5, 1 })}
		start := time.Now()
		d := demand.Compute(demandtest.Noon.Time(), s, pools...)
		if took := time.Since(start); took > 20*time.Second {
			t.Errorf("Compute took %s", took)
		}
		tasks, _ := pending.CountTasks(hostile)
		p := d.Pools[0]
		if p.Required > 5 || p.PendingJobs != tasks+1 {
			t.Errorf("%d workers of at most 5 are required for %d jobs, want %d jobs", p.Required, p.PendingJobs,
				tasks+1)
		}
		var byClass uint64
		for _, n := range p.ByClass {
			byClass += n
		}
		if byClass != p.PendingJobs || p.EligiblePendingJobs > p.PendingJobs {
			t.Errorf("the classes contain %d of %d jobs, %d of them eligible", byClass, p.PendingJobs,
				p.EligiblePendingJobs)
		}
	})
}
