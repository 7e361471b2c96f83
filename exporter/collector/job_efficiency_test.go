package collector

import (
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/slurmtide/slurmtide/slurmclient"
	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

// TestSeriesOfEndedJobsBeginAtZero: Prometheus sees no increase in the first sample of a series.
func TestSeriesOfEndedJobsBeginAtZero(t *testing.T) {
	o := newEndedJobs("account", func(j *slurm.EndedJob) string { return j.Account })
	record := func(at int64, jobs ...slurm.EndedJob) {
		s := &slurmclient.Snapshot{}
		s.EndedJobs.Value, s.EndedJobs.Poll = jobs, slurmclient.Poll{Known: true, ReadAt: time.Unix(at, 0)}
		o.Record(s)
	}
	job := slurm.EndedJob{ID: 1, Account: "ml", CPUs: 1, Start: 1, End: 2}
	record(1)
	for i, want := range []float64{0, 0, 1, 1} {
		record([]int64{200, 200, 300, 400}[i], job)
		if got := testutil.ToFloat64(o.unmeasured.WithLabelValues("ml")); got != want {
			t.Errorf("after reading %d %v jobs have ended, want %v", i, got, want)
		}
	}
}

// TestEndedJobsAreCountedOnce: readings overlap, since slurmdbd may record an end late, and the jobs of the first one ended before.
func TestEndedJobsAreCountedOnce(t *testing.T) {
	job := func(id uint32, state string, usage *slurm.JobUsage) slurm.EndedJob {
		return slurm.EndedJob{ID: id, Cluster: "c", User: "alice", Account: "ml", State: slurm.ParseJobState(strings.Split(state, ",")...),
			Start: 1000, End: 1010, Elapsed: 10 * time.Second, CPUs: 4, MemoryMiB: 2, GPUs: 2, Usage: usage}
	}
	used := &slurm.JobUsage{CPUTime: 20 * time.Second, MemoryBytes: 1 << 20, GPUTime: 5 * time.Second, HasGPUTime: true}
	withoutGPUs := &slurm.JobUsage{CPUTime: 4 * time.Second, MemoryBytes: 1 << 19}
	never := job(7, "CANCELLED", nil)
	never.Start = 0
	ofOthers := job(8, "COMPLETED", used)
	ofOthers.Cluster = "other"
	again := job(2, "COMPLETED", withoutGPUs) // the second run of job 2
	again.Start, again.End = 1020, 1030
	o := newEndedJobs("account", func(j *slurm.EndedJob) string { return j.Account })
	for i, jobs := range [][]slurm.EndedJob{
		{job(1, "COMPLETED", used)},
		{job(1, "COMPLETED", used), job(2, "PENDING,REQUEUED", used), job(3, "FAILED", nil), never, ofOthers},
		{job(3, "FAILED", nil), job(2, "PENDING,REQUEUED", used), again, again},
		{again},
	} { // the first job of alice counts at the next reading
		s := &slurmclient.Snapshot{}
		s.EndedJobs.Value = jobs
		s.EndedJobs.Poll = slurmclient.Poll{Resource: slurmclient.EndedJobs, Known: true, Cluster: "c",
			ReadAt: time.Unix(int64(2000+i), 0)}
		o.Record(s)
		o.Record(s)
	}
	want := `
# HELP slurm_account_ended_jobs_total Jobs of the account that ran and have ended, by the state in which they ended.
# TYPE slurm_account_ended_jobs_total counter
slurm_account_ended_jobs_total{account="ml",state="boot_fail"} 0
slurm_account_ended_jobs_total{account="ml",state="cancelled"} 0
slurm_account_ended_jobs_total{account="ml",state="completed"} 1
slurm_account_ended_jobs_total{account="ml",state="deadline"} 0
slurm_account_ended_jobs_total{account="ml",state="failed"} 1
slurm_account_ended_jobs_total{account="ml",state="node_fail"} 0
slurm_account_ended_jobs_total{account="ml",state="out_of_memory"} 0
slurm_account_ended_jobs_total{account="ml",state="preempted"} 0
slurm_account_ended_jobs_total{account="ml",state="requeued"} 1
slurm_account_ended_jobs_total{account="ml",state="timeout"} 0
# HELP slurm_account_ended_jobs_unmeasured_total Jobs of the account that ran and have ended, whose use Slurm has not gathered.
# TYPE slurm_account_ended_jobs_unmeasured_total counter
slurm_account_ended_jobs_unmeasured_total{account="ml"} 1
# HELP slurm_account_ended_job_cpu_allocated_seconds_total Seconds of CPUs that jobs of the account had, for jobs that have ended.
# TYPE slurm_account_ended_job_cpu_allocated_seconds_total counter
slurm_account_ended_job_cpu_allocated_seconds_total{account="ml"} 80
# HELP slurm_account_ended_job_cpu_used_seconds_total User and system time in seconds of jobs of the account, for jobs that have ended.
# TYPE slurm_account_ended_job_cpu_used_seconds_total counter
slurm_account_ended_job_cpu_used_seconds_total{account="ml"} 24
# HELP slurm_account_ended_job_memory_allocated_byte_seconds_total Bytes of memory times seconds that jobs of the account had, for jobs that have ended.
# TYPE slurm_account_ended_job_memory_allocated_byte_seconds_total counter
slurm_account_ended_job_memory_allocated_byte_seconds_total{account="ml"} 4.194304e+07
# HELP slurm_account_ended_job_memory_used_byte_seconds_total Most bytes of memory used at once times seconds of jobs of the account, for jobs that have ended.
# TYPE slurm_account_ended_job_memory_used_byte_seconds_total counter
slurm_account_ended_job_memory_used_byte_seconds_total{account="ml"} 1.572864e+07
# HELP slurm_account_ended_job_gpu_allocated_seconds_total Seconds of GPUs, where their utilization was gathered, that jobs of the account had, for jobs that have ended.
# TYPE slurm_account_ended_job_gpu_allocated_seconds_total counter
slurm_account_ended_job_gpu_allocated_seconds_total{account="ml"} 20
# HELP slurm_account_ended_job_gpu_used_seconds_total Seconds of busy GPUs of jobs of the account, for jobs that have ended.
# TYPE slurm_account_ended_job_gpu_used_seconds_total counter
slurm_account_ended_job_gpu_used_seconds_total{account="ml"} 5
`
	if err := testutil.GatherAndCompare(o.registry, strings.NewReader(want)); err != nil {
		t.Error(err)
	}
}

// TestAJobCountsWhenItsStepsAreRecorded: scancel was called, and the batch script ignores SIGTERM.
func TestAJobCountsWhenItsStepsAreRecorded(t *testing.T) {
	const end = 1000
	o := newEndedJobs("account", func(j *slurm.EndedJob) string { return j.Account })
	used := &slurm.JobUsage{CPUTime: 20 * time.Second}
	for _, tc := range []struct {
		after       int64
		usage       *slurm.JobUsage
		ended, used float64
	}{{-300, nil, 0, 0}, {-1, nil, 0, 0}, {1, nil, 0, 0}, {89, nil, 0, 0}, {90, used, 1, 20}, {390, used, 1, 20}} {
		job := slurm.EndedJob{ID: 1, Account: "ml", State: slurm.ParseJobState("CANCELLED"), CPUs: 1, Start: 900, End: end, Usage: tc.usage}
		s := &slurmclient.Snapshot{}
		s.EndedJobs.Poll = slurmclient.Poll{Known: true, ReadAt: time.Unix(end+tc.after, 0)}
		if tc.after > -300 {
			s.EndedJobs.Value = []slurm.EndedJob{job}
		}
		o.Record(s)
		ended := testutil.ToFloat64(o.ended.WithLabelValues("ml", "cancelled"))
		if cpus := testutil.ToFloat64(o.cpus.used.WithLabelValues("ml")); ended != tc.ended || cpus != tc.used ||
			testutil.ToFloat64(o.unmeasured.WithLabelValues("ml")) != 0 {
			t.Errorf("%d s after its end %v jobs count, with %v s of CPUs, want %v and %v", tc.after, ended, cpus, tc.ended, tc.used)
		}
	}
}

// TestEndedJobsOfAnotherClusterAreNotNew: another cluster answers behind the same URL.
func TestEndedJobsOfAnotherClusterAreNotNew(t *testing.T) {
	o := newEndedJobs("account", func(j *slurm.EndedJob) string { return j.Account })
	for i, cluster := range []string{"a", "b", "b"} {
		s := &slurmclient.Snapshot{}
		for id := range uint32(i + 1) {
			s.EndedJobs.Value = append(s.EndedJobs.Value, slurm.EndedJob{ID: id + 1, Cluster: cluster, Account: "ml", CPUs: 1, Start: 1, End: 2})
		}
		s.EndedJobs.Poll = slurmclient.Poll{Resource: slurmclient.EndedJobs, Known: true, Cluster: cluster,
			ReadAt: time.Unix(int64(200+i), 0)}
		o.Record(s)
	}
	o.Record(&slurmclient.Snapshot{EndedJobs: slurmclient.Reading[[]slurm.EndedJob]{Poll: slurmclient.Poll{Known: true, Cluster: "b", ReadAt: time.Unix(209, 0)}}})
	if got := testutil.ToFloat64(o.unmeasured.WithLabelValues("ml")); got != 1 {
		t.Errorf("%v jobs are counted, want the one that ended since the first reading of b", got)
	}
}
