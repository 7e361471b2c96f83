package wire

import (
	"io"
	"math"

	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

// Jobs decodes the answer to GET /jobs/ or /job/{id} of any version.
func Jobs(r io.Reader, in *Interner, yield func(*slurm.Job) error) (Envelope, error) {
	return in.jobs.list(r, "jobs", yield, func() *records[slurm.Job] {
		return newRecords(jobFields(), in, func(j *slurm.Job) bool { return j.ID != 0 })
	})
}

// jobFields maps the members of a job record to fields. Every function sets its field regardless of the
// value, since a record starts as a copy of the previous one.
func jobFields() map[string]field[slurm.Job] {
	type job = slurm.Job
	fields := map[string]field[job]{
		"job_id":                     ident(func(j *job) *uint32 { return &j.ID }),
		"name":                       word(func(j *job) *string { return &j.Name }),
		"user_name":                  word(func(j *job) *string { return &j.UserName }),
		"user_id":                    u32(func(j *job) *uint32 { return &j.UserID }),
		"group_name":                 word(func(j *job) *string { return &j.GroupName }),
		"account":                    word(func(j *job) *string { return &j.Account }),
		"qos":                        word(func(j *job) *string { return &j.QOS }),
		"partition":                  word(func(j *job) *string { return &j.Partition }),
		"job_state":                  read(func(_ *Interner, v []byte, j *job) { j.State = jobState(v) }),
		"state_reason":               word(func(j *job) *string { return &j.Reason }),
		"state_description":          word(func(j *job) *string { return &j.ReasonText }),
		"hold":                       boolean(func(j *job) *bool { return &j.Hold }),
		"priority":                   num(func(j *job) *slurm.Number { return &j.Priority }),
		"nice":                       i32(func(j *job) *int32 { return &j.Nice }),
		"requeue":                    boolean(func(j *job) *bool { return &j.Requeue }),
		"restart_cnt":                u32(func(j *job) *uint32 { return &j.Restarts }),
		"array_job_id":               u32(func(j *job) *uint32 { return &j.ArrayJobID }),
		"array_task_id":              num(func(j *job) *slurm.Number { return &j.ArrayTaskID }),
		"array_task_string":          once(func(j *job) *string { return &j.ArrayTasks }),
		"array_max_tasks":            u32(func(j *job) *uint32 { return &j.ArrayMaxRunning }),
		"het_job_id":                 u32(func(j *job) *uint32 { return &j.HetJobID }),
		"het_job_offset":             u32(func(j *job) *uint32 { return &j.HetOffset }),
		"het_job_id_set":             once(func(j *job) *string { return &j.HetJobIDs }),
		"submit_time":                at(func(j *job) *slurm.Time { return &j.SubmitTime }),
		"eligible_time":              at(func(j *job) *slurm.Time { return &j.EligibleTime }),
		"accrue_time":                at(func(j *job) *slurm.Time { return &j.AccrueTime }),
		"start_time":                 at(func(j *job) *slurm.Time { return &j.StartTime }),
		"end_time":                   at(func(j *job) *slurm.Time { return &j.EndTime }),
		"suspend_time":               at(func(j *job) *slurm.Time { return &j.SuspendTime }),
		"last_sched_evaluation":      at(func(j *job) *slurm.Time { return &j.LastSchedEval }),
		"deadline":                   at(func(j *job) *slurm.Time { return &j.Deadline }),
		"time_limit":                 num(func(j *job) *slurm.Number { return &j.TimeLimit }),
		"nodes":                      word(func(j *job) *string { return &j.Nodes }),
		"scheduled_nodes":            word(func(j *job) *string { return &j.ScheduledNodes }),
		"batch_host":                 word(func(j *job) *string { return &j.BatchHost }),
		"required_nodes":             word(func(j *job) *string { return &j.RequiredNodes }),
		"excluded_nodes":             word(func(j *job) *string { return &j.ExcludedNodes }),
		"features":                   word(func(j *job) *string { return &j.Features }),
		"prefer":                     word(func(j *job) *string { return &j.Prefer }),
		"node_count":                 num(func(j *job) *slurm.Number { return &j.NodeCount }),
		"max_nodes":                  num(func(j *job) *slurm.Number { return &j.MaxNodes }),
		"cpus":                       num(func(j *job) *slurm.Number { return &j.CPUs }),
		"tasks":                      num(func(j *job) *slurm.Number { return &j.Tasks }),
		"cpus_per_task":              num(func(j *job) *slurm.Number { return &j.CPUsPerTask }),
		"tasks_per_node":             num(func(j *job) *slurm.Number { return &j.TasksPerNode }),
		"minimum_cpus_per_node":      num(func(j *job) *slurm.Number { return &j.MinCPUsPerNode }),
		"minimum_tmp_disk_per_node":  num(func(j *job) *slurm.Number { return &j.MinTmpDiskMiB }),
		"memory_per_cpu":             num(func(j *job) *slurm.Number { return &j.MemoryPerCPU }),
		"memory_per_node":            num(func(j *job) *slurm.Number { return &j.MemoryPerNode }),
		"threads_per_core":           num(func(j *job) *slurm.Number { return &j.ThreadsPerCore }),
		"contiguous":                 boolean(func(j *job) *bool { return &j.Contiguous }),
		"shared":                     wordsField(func(j *job) *string { return &j.Shared }),
		"tres_req_str":               word(func(j *job) *string { return &j.TRESRequested }),
		"tres_alloc_str":             word(func(j *job) *string { return &j.TRESAllocated }),
		"tres_per_job":               word(func(j *job) *string { return &j.TRESPerJob }),
		"tres_per_node":              word(func(j *job) *string { return &j.TRESPerNode }),
		"tres_per_socket":            word(func(j *job) *string { return &j.TRESPerSocket }),
		"memory_per_tres":            word(func(j *job) *string { return &j.MemoryPerTRES }),
		"federation_siblings_viable": word(func(j *job) *string { return &j.Siblings }),
		"tres_per_task":              word(func(j *job) *string { return &j.TRESPerTask }),
		"licenses":                   word(func(j *job) *string { return &j.Licenses }),
		"dependency":                 once(func(j *job) *string { return &j.Dependency }),
		"resv_name":                  word(func(j *job) *string { return &j.Reservation }),
		"network":                    word(func(j *job) *string { return &j.Network }),
		"flags":                      wordsField(func(j *job) *string { return &j.Flags }),
	}
	return fields
}

func jobState(v []byte) slurm.JobState {
	var names [8]string
	list := names[:0]
	words(v, func(w []byte) { list = append(list, string(w)) })
	return slurm.ParseJobState(list...)
}

// anyField returns a field that accepts a value of any type.
func read[T any](f func(in *Interner, value []byte, dst *T)) field[T] { return field[T]{read: f} }

func word[T any](at func(*T) *string) field[T] {
	return read(func(in *Interner, v []byte, t *T) { *at(t) = in.text(text(v)) })
}

// wordsField returns a field that joins the words of a list with commas.
func wordsField[T any](at func(*T) *string) field[T] {
	return read(func(in *Interner, v []byte, t *T) { *at(t) = in.text([]byte(joined(v))) })
}

// rareTextField is textField for texts that rarely occur twice; they are not interned.
func once[T any](at func(*T) *string) field[T] {
	return read(func(_ *Interner, v []byte, t *T) { *at(t) = string(text(v)) })
}

func num[T any](at func(*T) *slurm.Number) field[T] {
	return read(func(_ *Interner, v []byte, t *T) { *at(t) = number(v) })
}

func at[T any](at func(*T) *slurm.Time) field[T] {
	return read(func(_ *Interner, v []byte, t *T) { *at(t) = moment(v) })
}

func boolean[T any](at func(*T) *bool) field[T] {
	return field[T]{
		read:  func(_ *Interner, v []byte, t *T) { *at(t) = string(v) == "true" },
		valid: func(v []byte) bool { return string(v) == "true" || string(v) == "false" || string(v) == "null" },
	}
}

// uint32Field reads a plain number or a noVal object into a count, in which unset means 0.
func u32[T any](at func(*T) *uint32) field[T] {
	return field[T]{
		read:  func(_ *Interner, v []byte, t *T) { *at(t) = uint32(min(number(v).Or(0), 1<<32-1)) },
		valid: isCount,
	}
}

// idField is uint32Field for ids: an id that does not fit into 32 bits is an error.
func ident[T any](at func(*T) *uint32) field[T] {
	f := u32(at)
	f.valid = func(v []byte) bool { return isCount(v) && number(v).Or(0) <= math.MaxUint32 }
	return f
}

func u64[T any](at func(*T) *uint64) field[T] {
	return field[T]{read: func(_ *Interner, v []byte, t *T) { *at(t) = number(v).Or(0) }, valid: isCount}
}

func i32[T any](at func(*T) *int32) field[T] {
	return field[T]{
		read: func(_ *Interner, v []byte, t *T) {
			n, _ := signed(v)
			*at(t) = int32(min(max(n, math.MinInt32), math.MaxInt32))
		},
		valid: func(v []byte) bool { _, ok := signed(v); return ok || string(v) == "null" },
	}
}

// isCount reports whether a value is a number, a noVal object, or null. Negative numbers count, since
// old servers use them for "unset".
func isCount(v []byte) bool {
	if string(v) == "null" || !number(v).IsAbsent() {
		return true
	}
	_, ok := signed(v)
	return ok
}
