package slurm

import (
	"testing"
	"time"
)

// TestRunTime follows the rules of squeue's TIME (src/squeue/opts.c, job_time_used).
func TestRunTime(t *testing.T) {
	const now = Time(1000)
	for _, tc := range []struct {
		name string
		job  Job
		want time.Duration
	}{
		{"a pending job that is expected to start", Job{State: ParseJobState("PENDING"), StartTime: 900}, 0},
		{"a running job", Job{State: ParseJobState("RUNNING"), StartTime: 900, EndTime: 5000}, 100},
		{"a running job past its time limit", Job{State: ParseJobState("RUNNING"), StartTime: 900, EndTime: 950}, 100},
		{"a suspended job", Job{State: ParseJobState("SUSPENDED"), StartTime: 100, SuspendTime: 150, PreSuspendSeconds: 50}, 50},
		{"a job that was resumed", Job{State: ParseJobState("RUNNING"), StartTime: 100, SuspendTime: 900, PreSuspendSeconds: 50}, 150},
		{"a job that was resumed and ended", Job{State: ParseJobState("COMPLETED"), StartTime: 100, SuspendTime: 900,
			PreSuspendSeconds: 50, EndTime: 920}, 70},
		{"a job that ended", Job{State: ParseJobState("FAILED"), StartTime: 100, EndTime: 120}, 20},
		{"a job that never started", Job{State: ParseJobState("CANCELLED"), EndTime: 120}, 0},
		{"slurmctld's clock is ahead", Job{State: ParseJobState("RUNNING"), StartTime: 1007}, 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := tc.job.RunTime(now); got != tc.want*time.Second {
				t.Errorf("it has run for %v, want %v", got, tc.want*time.Second)
			}
		})
	}
}
