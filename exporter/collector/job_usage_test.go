package collector

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/slurmtide/slurmtide/exporter/exportertest"
	"github.com/slurmtide/slurmtide/slurmclient"
	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

// jobReading returns a snapshot of jobs that were read at a second of noon.
func jobReading(second int, jobs ...*slurm.Job) *slurmclient.Snapshot {
	s := &slurmclient.Snapshot{}
	s.Jobs.Poll = slurmclient.Poll{Resource: slurmclient.Jobs, Enabled: true, Known: true, Cluster: "alpha", Sequence: uint64(second),
		Period: 5 * time.Second, ReadAt: time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC).Add(time.Duration(second) * time.Second)}
	s.Jobs.Value = jobs
	return s
}

// runningJob returns a job with 4 CPUs and the GPUs that runs.
func runningJob(id uint32, account string, gpus int) *slurm.Job {
	return exportertest.NewJob(id, func(j *slurm.Job) {
		exportertest.SetRunning(j)
		j.TRESAllocated = fmt.Sprintf("cpu=4,mem=1G,node=1,gres/gpu=%d", gpus)
		j.EditOwner(func(o *slurm.JobOwner) { o.Account = account })
	})
}

func recordUsage(t *testing.T, readings ...*slurmclient.Snapshot) map[string]float64 {
	t.Helper()
	o := newJobUsage(accountsOfJobs(), qosOfJobs())
	for _, s := range readings {
		o.Record(s)
	}
	return gatherSeries(t, o.registry)
}

func TestJobUsage(t *testing.T) {
	pending := exportertest.NewJob(3, func(j *slurm.Job) { j.EditOwner(func(o *slurm.JobOwner) { o.Account = "hpc" }) })
	started := runningJob(3, "hpc", 1)
	unknown := runningJob(4, "ml", 0)
	unknown.TRESAllocated = "cpu=4,mem=1G,node=1"
	unknown.EditDetails(func(d *slurm.JobDetails) { d.TRESPerSocket = "gres/gpu:1" })
	for _, tc := range []struct {
		name     string
		readings []*slurmclient.Snapshot
		want     map[string]float64
	}{
		{"a job that runs and ends", []*slurmclient.Snapshot{jobReading(0, runningJob(1, "ml", 2)), jobReading(5, runningJob(1, "ml", 2)),
			jobReading(10), jobReading(15)},
			map[string]float64{"slurm_account_cpu_seconds_total ml": 40, "slurm_account_gpu_seconds_total ml": 20,
				"slurm_qos_cpu_seconds_total normal": 40, "slurm_qos_gpu_seconds_total normal": 20}},
		{"a job that starts", []*slurmclient.Snapshot{jobReading(0, pending), jobReading(5, started), jobReading(10, started)},
			map[string]float64{"slurm_account_cpu_seconds_total hpc": 20, "slurm_account_gpu_seconds_total hpc": 5,
				"slurm_account_job_start_wait_seconds hpc": 1,
				"slurm_qos_cpu_seconds_total normal":       20, "slurm_qos_gpu_seconds_total normal": 5,
				"slurm_qos_job_start_wait_seconds normal": 1}},
		{"a gap", []*slurmclient.Snapshot{jobReading(0, runningJob(1, "ml", 2)), jobReading(600, runningJob(1, "ml", 2))},
			map[string]float64{"slurm_account_cpu_seconds_total ml": 0, "slurm_account_gpu_seconds_total ml": 0,
				"slurm_qos_cpu_seconds_total normal": 0, "slurm_qos_gpu_seconds_total normal": 0}},
		{"GPUs that are not known", []*slurmclient.Snapshot{jobReading(0, runningJob(1, "hpc", 1), unknown),
			jobReading(5, runningJob(1, "hpc", 1), unknown)},
			map[string]float64{"slurm_account_cpu_seconds_total hpc": 20, "slurm_account_gpu_seconds_total hpc": 5,
				"slurm_account_cpu_seconds_total ml": 20, "slurm_qos_cpu_seconds_total normal": 40}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, recordUsage(t, tc.readings...)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// Jobs count from their start to their end, however readings fall.
func TestJobUsageIsThatOfAccounting(t *testing.T) {
	noon := slurm.At(time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC))
	pending := exportertest.NewJob(3, func(j *slurm.Job) { j.EditOwner(func(o *slurm.JobOwner) { o.Account = "ml" }) })
	running := func(start slurm.Time) *slurm.Job {
		j := runningJob(3, "ml", 1)
		j.SubmitTime, j.EligibleTime, j.StartTime = noon-60, noon-60, noon+start
		return j
	}
	in := func(j *slurm.Job, state string, end slurm.Time) *slurm.Job {
		j.State, j.EndTime, j.SuspendTime = slurm.ParseJobState(state), noon+end, noon+end
		return j
	}
	requeued := exportertest.NewJob(3, func(j *slurm.Job) { j.EditOwner(func(o *slurm.JobOwner) { o.Account = "ml" }) })
	for _, tc := range []struct {
		name     string
		readings []*slurmclient.Snapshot
		seconds  float64 // of the job
	}{
		{"starts and ends between readings", []*slurmclient.Snapshot{jobReading(0, pending), jobReading(5, running(3)), jobReading(10, running(3)),
			jobReading(15, in(running(3), "COMPLETED", 12))}, 9},
		{"runs between two readings", []*slurmclient.Snapshot{jobReading(0), jobReading(5, in(running(1), "FAILED", 4)), jobReading(10)}, 3},
		{"ended long before it is seen", []*slurmclient.Snapshot{jobReading(600), jobReading(605, in(running(1), "COMPLETED", 4))}, 0},
		{"is suspended", []*slurmclient.Snapshot{jobReading(0, running(-5)), jobReading(5, in(running(-5), "SUSPENDED", 2)),
			jobReading(10, in(running(-5), "SUSPENDED", 2))}, 2},
		{"is requeued", []*slurmclient.Snapshot{jobReading(0, running(-5)), jobReading(5, requeued), jobReading(10, requeued)}, 5},
		{"has a record that disappears", []*slurmclient.Snapshot{jobReading(0, running(-5)), jobReading(5), jobReading(10)}, 5},
		{"starts by a clock that is late", []*slurmclient.Snapshot{jobReading(0, pending), jobReading(5, running(7)), jobReading(10, running(7))}, 5},
		{"starts by a clock that is early", []*slurmclient.Snapshot{jobReading(0, pending), jobReading(5, running(-3)), jobReading(10, running(-3))}, 10},
		{"starts in a gap", []*slurmclient.Snapshot{jobReading(0, pending), jobReading(600, running(590)), jobReading(605, running(590))}, 5},
		{"is moved to another cluster", []*slurmclient.Snapshot{jobReading(0, running(-5)), jobReading(5, in(running(-5), "REVOKED", 2))}, 5},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := recordUsage(t, tc.readings...)
			if cpus, gpus := got["slurm_account_cpu_seconds_total ml"], got["slurm_account_gpu_seconds_total ml"]; cpus != 4*tc.seconds ||
				gpus != tc.seconds {
				t.Errorf("the job had %v CPU seconds and %v GPU seconds, want %v s of 4 CPUs and 1 GPU", cpus, gpus, tc.seconds)
			}
		})
	}
}

func TestOwnersBeyondTheMostAreSummed(t *testing.T) {
	var jobs []*slurm.Job
	for i := range maxOwners + 2 {
		jobs = append(jobs, runningJob(uint32(i+1), fmt.Sprint("a", i), 1))
	}
	got := recordUsage(t, jobReading(0, jobs...), jobReading(5, jobs...))
	if n := got["slurm_account_cpu_seconds_total _rest"]; n != 2*4*5 {
		t.Errorf("the rest has %v s", n)
	}
}
