package slurmrestd

import (
	"strconv"

	"github.com/slurmtide/slurmtide/slurmclient/slurm"
	"github.com/slurmtide/slurmtide/slurmclient/slurmtest/internal/slurmctld"
	"github.com/slurmtide/slurmtide/slurmclient/slurmtest/internal/template"
)

type (
	jobField = template.Field[*slurmctld.JobRecord]
	rec      = *slurmctld.JobRecord
)

func jobText(get func(rec) string) jobField         { return template.Text(get) }
func jobNumber(get func(rec) slurm.Number) jobField { return template.Number(get) }
func jobTime(get func(rec) slurm.Time) jobField     { return template.Time(get) }
func jobCount(get func(rec) uint64) jobField        { return template.Count(get) }
func jobFlag(get func(rec) bool) jobField           { return template.Flag(get) }

// jobFields returns the fields of a job record by path.
func jobFields(cfg slurmctld.Config, version string) template.Fields[*slurmctld.JobRecord] {
	fields := template.Fields[*slurmctld.JobRecord]{}
	for _, some := range []template.Fields[*slurmctld.JobRecord]{
		jobIdentityFields(cfg), jobTimeFields(), jobRequestFields(version), jobAllocationFields(version),
		jobExitFields(),
	} {
		for path, f := range some {
			fields[path] = f
		}
	}
	return fields
}

func jobIdentityFields(cfg slurmctld.Config) template.Fields[*slurmctld.JobRecord] {
	return template.Fields[*slurmctld.JobRecord]{
		"account":                   jobText(func(r rec) string { return r.Account }),
		"association_id":            jobCount(func(r rec) uint64 { return uint64(r.AssociationID) }),
		"allocating_node":           jobText(func(rec) string { return controllerName }),
		"array_job_id":              jobCount(func(r rec) uint64 { return uint64(r.ArrayJobID) }),
		"array_task_id":             jobNumber(func(r rec) slurm.Number { return r.ArrayTaskID }),
		"array_max_tasks":           jobCount(func(r rec) uint64 { return uint64(r.ArrayMaxRunning) }),
		"array_task_string":         jobText(func(r rec) string { return r.ArrayTasks }),
		"batch_flag":                jobFlag(func(r rec) bool { return r.Batch }),
		"cluster":                   jobText(func(rec) string { return cfg.ClusterName }),
		"comment":                   jobText(func(r rec) string { return r.Comment }),
		"current_working_directory": jobText(func(r rec) string { return r.Directory }),
		"flags":                     jobText(func(r rec) string { return r.Flags }),
		"group_id":                  jobCount(func(r rec) uint64 { return uint64(r.GroupID) }),
		"group_name":                jobText(func(r rec) string { return r.GroupName }),
		"het_job_id":                jobCount(func(r rec) uint64 { return uint64(r.HetJobID) }),
		"het_job_id_set":            jobText(func(r rec) string { return r.HetJobIDs }),
		"het_job_offset":            jobCount(func(r rec) uint64 { return uint64(r.HetOffset) }),
		"hold":                      jobFlag(func(r rec) bool { return r.Hold }),
		"job_id":                    jobCount(func(r rec) uint64 { return uint64(r.ID) }),
		"step_id.job_id":            jobCount(func(r rec) uint64 { return uint64(r.ID) }),
		"step_id.sluid": jobText(
			func(r rec) string { return "s" + strconv.FormatUint(1e12+uint64(r.ID), 32) }),
		"job_state":         template.Texts(func(r rec) []string { return r.State.Names() }),
		"mail_user":         jobText(func(r rec) string { return r.UserName }),
		"name":              jobText(func(r rec) string { return r.Name }),
		"nice":              template.Int(func(r rec) int64 { return int64(r.Nice) }),
		"partition":         jobText(func(r rec) string { return r.Partition }),
		"priority":          jobNumber(func(r rec) slurm.Number { return r.Priority }),
		"qos":               jobText(func(r rec) string { return r.QOS }),
		"requeue":           jobFlag(func(r rec) bool { return r.Requeue }),
		"restart_cnt":       jobCount(func(r rec) uint64 { return uint64(r.Restarts) }),
		"resv_name":         jobText(func(r rec) string { return r.Reservation }),
		"state_description": jobText(func(r rec) string { return r.ReasonText }),
		"state_reason":      jobText(func(r rec) string { return r.Reason }),
		"submit_line":       jobText(func(r rec) string { return r.SubmitLine }),
		"user_id":           jobCount(func(r rec) uint64 { return uint64(r.UserID) }),
		"user_name":         jobText(func(r rec) string { return r.UserName }),
	}
}

func jobTimeFields() template.Fields[*slurmctld.JobRecord] {
	return template.Fields[*slurmctld.JobRecord]{
		"accrue_time":           jobTime(func(r rec) slurm.Time { return r.AccrueTime }),
		"deadline":              jobTime(func(r rec) slurm.Time { return r.Deadline }),
		"eligible_time":         jobTime(func(r rec) slurm.Time { return r.EligibleTime }),
		"end_time":              jobTime(func(r rec) slurm.Time { return r.EndTime }),
		"last_sched_evaluation": jobTime(func(r rec) slurm.Time { return r.LastSchedEval }),
		"pre_sus_time":          jobTime(func(r rec) slurm.Time { return slurm.Time(r.PreSuspendSeconds) }),
		"start_time":            jobTime(func(r rec) slurm.Time { return r.StartTime }),
		"submit_time":           jobTime(func(r rec) slurm.Time { return r.SubmitTime }),
		"suspend_time":          jobTime(func(r rec) slurm.Time { return r.SuspendTime }),
		"time_limit":            jobNumber(func(r rec) slurm.Number { return r.TimeLimit }),
	}
}

func jobRequestFields(version string) template.Fields[*slurmctld.JobRecord] {
	return template.Fields[*slurmctld.JobRecord]{
		"contiguous":                jobFlag(func(r rec) bool { return r.Contiguous }),
		"cpus":                      jobNumber(func(r rec) slurm.Number { return r.CPUs }),
		"cpus_per_task":             jobNumber(func(r rec) slurm.Number { return r.CPUsPerTask }),
		"dependency":                jobText(func(r rec) string { return r.Dependency }),
		"excluded_nodes":            jobText(func(r rec) string { return r.ExcludedNodes }),
		"features":                  jobText(func(r rec) string { return r.Features }),
		"licenses":                  jobText(func(r rec) string { return r.Licenses }),
		"max_nodes":                 jobNumber(func(r rec) slurm.Number { return r.MaxNodes }),
		"memory_per_cpu":            jobNumber(func(r rec) slurm.Number { return r.MemoryPerCPU }),
		"memory_per_node":           jobNumber(func(r rec) slurm.Number { return r.MemoryPerNode }),
		"minimum_cpus_per_node":     jobNumber(func(r rec) slurm.Number { return r.MinCPUsPerNode }),
		"minimum_tmp_disk_per_node": jobNumber(func(r rec) slurm.Number { return r.MinTmpDiskMiB }),
		"network":                   jobText(func(r rec) string { return r.Network }),
		"node_count":                jobNumber(func(r rec) slurm.Number { return r.NodeCount }),
		"oversubscribe":             jobFlag(func(r rec) bool { return r.Shared == "" }),
		"prefer":                    jobText(func(r rec) string { return r.Prefer }),
		"required_nodes":            jobText(func(r rec) string { return r.RequiredNodes }),
		"shared":                    jobText(func(r rec) string { return sharedText(version, r.Shared) }),
		"exclusive":                 jobText(func(r rec) string { return exclusiveText(r.Shared) }),
		"tasks":                     jobNumber(func(r rec) slurm.Number { return r.Tasks }),
		"tasks_per_node":            jobNumber(func(r rec) slurm.Number { return r.TasksPerNode }),
		"threads_per_core":          jobNumber(func(r rec) slurm.Number { return r.ThreadsPerCore }),
		"tres_per_job":              jobText(func(r rec) string { return r.TRESPerJob }),
		"tres_per_node":             jobText(func(r rec) string { return r.TRESPerNode }),
		"tres_per_socket":           jobText(func(r rec) string { return r.TRESPerSocket }),
		"tres_per_task":             jobText(func(r rec) string { return r.TRESPerTask }),
		"tres_req_str":              jobText(func(r rec) string { return r.TRESRequested }),
	}
}

// sharedText returns the text of "shared", which slurmrestd no longer fills in v0.0.45.
func sharedText(version, shared string) string {
	if version == "v0.0.45" {
		return ""
	}
	return shared
}

func exclusiveText(shared string) string {
	if shared == "none" {
		return "true"
	}
	return ""
}

func jobAllocationFields(version string) template.Fields[*slurmctld.JobRecord] {
	resources := writeResources(version)
	return template.Fields[*slurmctld.JobRecord]{
		"batch_host":         jobText(func(r rec) string { return r.BatchHost }),
		"gres_detail":        template.Texts(func(r rec) []string { return r.GRES }),
		"job_resources":      template.Value(resources),
		"licenses_allocated": jobText(func(r rec) string { return r.LicensesAllocated }),
		"nodes":              jobText(func(r rec) string { return r.Nodes }),
		"scheduled_nodes":    jobText(func(r rec) string { return r.ScheduledNodes }),
		"tres_alloc_str":     jobText(func(r rec) string { return r.TRESAllocated }),
	}
}

func jobExitFields() template.Fields[*slurmctld.JobRecord] {
	return template.Fields[*slurmctld.JobRecord]{
		"failed_node":           jobText(func(r rec) string { return r.FailedNode }),
		"exit_code.status":      jobText(func(r rec) string { return exitStatus(r.Exit) }),
		"exit_code.return_code": jobNumber(func(r rec) slurm.Number { return returnCode(r.Exit) }),
		"exit_code.signal.id":   jobNumber(func(r rec) slurm.Number { return signalID(r.Exit) }),
		"exit_code.signal.name": jobText(func(r rec) string { return signalName(r.Exit) }),
	}
}

func exitStatus(e slurmctld.ExitCode) string {
	switch {
	case e.Signal != 0:
		return "SIGNALED"
	case e.Code != 0:
		return "ERROR"
	}
	return "SUCCESS"
}

func returnCode(e slurmctld.ExitCode) slurm.Number {
	if e.Signal != 0 {
		return slurm.Unset()
	}
	return slurm.Num(uint64(e.Code))
}

func signalID(e slurmctld.ExitCode) slurm.Number {
	if e.Signal == 0 {
		return slurm.Unset()
	}
	return slurm.Num(uint64(e.Signal))
}

func signalName(e slurmctld.ExitCode) string {
	names := map[uint32]string{0: "", 1: "HUP", 2: "INT", 9: "KILL", 15: "TERM"}
	if name, ok := names[e.Signal]; ok {
		return name
	}
	return strconv.FormatUint(uint64(e.Signal), 10)
}
