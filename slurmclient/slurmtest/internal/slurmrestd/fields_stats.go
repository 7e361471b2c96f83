package slurmrestd

import (
	"github.com/slurmtide/slurmtide/slurmclient/slurm"
	"github.com/slurmtide/slurmtide/slurmclient/slurmtest/internal/slurmctld"
	"github.com/slurmtide/slurmtide/slurmclient/slurmtest/internal/template"
)

// statsRecord is the output of sdiag at one moment.
type statsRecord struct {
	slurmctld.Stats
	now                slurm.Time
	rpcTypes, rpcUsers []rpcRecord
}

func statsFields(types, users *template.Template[rpcRecord]) template.Fields[statsRecord] {
	type s = statsRecord
	count := template.Count[s]
	return template.Fields[statsRecord]{
		"req_time":                  template.Time(func(s s) slurm.Time { return s.now }),
		"req_time_start":            template.Time(func(s s) slurm.Time { return s.Since }),
		"schedule_cycle_max":        count(func(s s) uint64 { return s.MaxCycleMicros }),
		"schedule_cycle_last":       count(func(s s) uint64 { return s.LastCycleMicros }),
		"schedule_cycle_sum":        count(func(s s) uint64 { return s.SumCycleMicros }),
		"schedule_cycle_total":      count(func(s s) uint64 { return s.Cycles }),
		"schedule_cycle_mean":       count(func(s s) uint64 { return s.SumCycleMicros / max(1, s.Cycles) }),
		"schedule_cycle_mean_depth": count(func(s s) uint64 { return s.Depth / max(1, s.Cycles) }),
		"schedule_cycle_per_minute": count(func(s s) uint64 { return s.perMinute() }),
		"schedule_cycle_depth":      count(func(s s) uint64 { return s.Depth }),
		"schedule_exit.end_job_queue": count(func(s s) uint64 {
			return s.Cycles
		}),
		"schedule_queue_length": count(func(s s) uint64 { return s.QueueLength }),
		"jobs_submitted":        count(func(s s) uint64 { return s.Submitted }),
		"jobs_started":          count(func(s s) uint64 { return s.Started }),
		"jobs_completed":        count(func(s s) uint64 { return s.Completed }),
		"jobs_canceled":         count(func(s s) uint64 { return s.Cancelled }),
		"jobs_failed":           count(func(s s) uint64 { return s.Failed }),
		"jobs_pending":          count(func(s s) uint64 { return s.Pending }),
		"jobs_running":          count(func(s s) uint64 { return s.Running }),
		"job_states_ts":         template.Time(func(s s) slurm.Time { return s.JobStatesAt }),
		"bf_cycle_counter":      count(func(s s) uint64 { return s.Cycles }),
		"bf_last_depth":         count(func(s s) uint64 { return s.LastDepth }),
		"bf_queue_len":          count(func(s s) uint64 { return s.QueueLength }),
		"rpcs_by_message_type":  template.Value(func(w *template.Writer, s s) { writeAll(w, types, s.rpcTypes) }),
		"rpcs_by_user":          template.Value(func(w *template.Writer, s s) { writeAll(w, users, s.rpcUsers) }),
		"bf_when_last_cycle":    template.Time(func(s s) slurm.Time { return s.LastCycle }),
	}
}

func (s statsRecord) perMinute() uint64 {
	minutes := uint64(max(0, s.now-s.Since)) / 60
	if minutes == 0 {
		return 0
	}
	return s.Cycles / minutes
}

// pingRecord is the result of slurmrestd's ping of slurmctld.
type pingRecord struct {
	up     bool
	status string
	micros uint64
}

func pingFields() template.Fields[pingRecord] {
	type p = pingRecord
	return template.Fields[pingRecord]{
		"hostname":   template.Text(func(p) string { return controllerName }),
		"pinged":     template.Text(func(p p) string { return upDown(p.up) }),
		"responding": template.Flag(func(p p) bool { return p.up }),
		"latency":    template.Count(func(p p) uint64 { return p.micros }),
		"status":     template.Text(func(p p) string { return p.status }),
	}
}

func upDown(up bool) string {
	if up {
		return "UP"
	}
	return "DOWN"
}
