package wire

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

// TestDecodeEndedJobs compares what slurmrestd sent with what sacct printed of the same jobs.
func TestDecodeEndedJobs(t *testing.T) {
	completed, failed, cancelled := slurm.ParseJobState("COMPLETED"), slurm.ParseJobState("FAILED"), slurm.ParseJobState("CANCELLED")
	for file, want := range map[string][]slurm.EndedJob{
		"ended_jobs_v0045.json": {
			// 1|alice|ml|normal|COMPLETED|ElapsedRaw 8|TotalCPU 00:04.069; TRESUsageInTot mem=15392K and mem=6552K
			{ID: 1, Cluster: "eff26", User: "alice", Account: "ml", QOS: "normal", State: completed, Start: 1795994452, End: 1795994460,
				Elapsed: 8 * time.Second, CPUs: 2, MemoryMiB: 200, GPUs: 2,
				Usage: &slurm.JobUsage{CPUTime: 4069 * time.Millisecond, MemoryBytes: 15392 << 10}},
			{ID: 2, Cluster: "eff26", User: "bob", Account: "hpc", QOS: "normal", State: failed, Start: 1795994452, End: 1795994458,
				Elapsed: 6 * time.Second, CPUs: 4, MemoryMiB: 100, Usage: &slurm.JobUsage{CPUTime: 3 * time.Millisecond, MemoryBytes: 3264 << 10}},
			{ID: 4, Cluster: "eff26", User: "bob", Account: "hpc", QOS: "normal", State: cancelled, Start: 1795994452, End: 1795994470,
				Elapsed: 18 * time.Second, CPUs: 1, MemoryMiB: 100,
				Usage: &slurm.JobUsage{CPUTime: 2 * time.Millisecond, MemoryBytes: 3276 << 10}},
		},
		"ended_jobs_v0040.json": {
			{ID: 1, Cluster: "eff24", User: "alice", Account: "ml", QOS: "normal", State: completed, Start: 1795994480, End: 1795994491,
				Elapsed: 11 * time.Second, CPUs: 2, MemoryMiB: 200, GPUs: 2,
				Usage: &slurm.JobUsage{CPUTime: 4043 * time.Millisecond, MemoryBytes: 13920 << 10}},
			{ID: 2, Cluster: "eff24", User: "bob", Account: "hpc", QOS: "normal", State: failed, Start: 1795994480, End: 1795994486,
				Elapsed: 6 * time.Second, CPUs: 4, MemoryMiB: 100, Usage: &slurm.JobUsage{CPUTime: 3 * time.Millisecond, MemoryBytes: 3084 << 10}},
			{ID: 4, Cluster: "eff24", User: "bob", Account: "hpc", QOS: "normal", State: cancelled, Start: 1795994480, End: 1795994498,
				Elapsed: 18 * time.Second, CPUs: 1, MemoryMiB: 100,
				Usage: &slurm.JobUsage{CPUTime: 2 * time.Millisecond, MemoryBytes: 3120 << 10}},
		},
	} {
		t.Run(file, func(t *testing.T) {
			body, err := os.ReadFile("testdata/" + file)
			if err != nil {
				t.Fatal(err)
			}
			got, err := decodeEndedJobs(body)
			if err != nil {
				t.Fatal(err)
			}
			for _, j := range got { // sacct prints milliseconds
				j.Usage.CPUTime = j.Usage.CPUTime.Truncate(time.Millisecond)
			}
			if diff := cmp.Diff(want, got, cmp.AllowUnexported(slurm.JobState{})); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestUsageOf: a step that was not measured makes the use of its job unknown.
func TestUsageOf(t *testing.T) {
	const measured = `{"time":{"elapsed":10,"total":{"seconds":1,"microseconds":500000}},"tres":{
		"requested":{"total":[{"type":"mem","name":"","count":1024}%s]},"allocated":[{"type":"gres","name":"gpu","count":2}]}}`
	for name, tc := range map[string]struct {
		steps string
		want  *slurm.JobUsage
	}{
		"no step":            {``, nil},
		"one of two":         {measured + `,{"time":{"elapsed":10},"tres":{"requested":{"total":[]}}}`, nil},
		"both":               {measured + "," + measured, &slurm.JobUsage{CPUTime: 3 * time.Second, MemoryBytes: 1024}},
		"half of two GPUs":   {withGPUUtilization(measured, 100), &slurm.JobUsage{CPUTime: 1500 * time.Millisecond, MemoryBytes: 1024, GPUTime: 10 * time.Second, HasGPUTime: true}},
		"more than its GPUs": {withGPUUtilization(measured, 900), &slurm.JobUsage{CPUTime: 1500 * time.Millisecond, MemoryBytes: 1024, GPUTime: 20 * time.Second, HasGPUTime: true}},
		"unknown GPUs":       {withGPUUtilization(measured, 1.8446744073709551614e19), &slurm.JobUsage{CPUTime: 1500 * time.Millisecond, MemoryBytes: 1024}},
	} {
		t.Run(name, func(t *testing.T) {
			text := strings.ReplaceAll(tc.steps, "%s", "")
			got, err := decodeEndedJobs([]byte(`{"jobs":[{"job_id":1,"steps":[` + text + `]}]}`))
			if err != nil || len(got) != 1 {
				t.Fatal(got, err)
			}
			if diff := cmp.Diff(tc.want, got[0].Usage); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// withGPUUtilization adds a utilization of GPUs to a step.
func withGPUUtilization(step string, percent float64) string {
	return strings.Replace(step, "%s", fmt.Sprintf(`,{"type":"gres","name":"gpuutil","count":%g}`, percent), 1)
}
