package wire

import (
	"bytes"
	"encoding/json"
	"io"
	"math"
	"strconv"

	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

// DecodeJobs decodes the answer to GET /jobs/ or /job/{id} of any version. slurmrestd reads user names from the passwd of its own host, and
// sends no name for users that only the hosts of other daemons know. DecodeJobs uses the uid as their name.
func DecodeJobs(r io.Reader, in *Interner, yield func(*slurm.Job) error) (Envelope, error) {
	var share jobSharer
	named := func(j *jobRecord) error {
		if j.owner.UserName == "" && j.owner.UserID != 0 { // root is known everywhere; 0 may also be a missing uid
			j.owner.UserName = in.text(strconv.AppendUint(nil, uint64(j.owner.UserID), 10))
		}
		share.complete(in, j)
		return yield(&j.Job)
	}
	return in.jobs.decodeList(r, "jobs", named, func() *recordDecoder[jobRecord] {
		return newRecords(jobFields(), in, func(j *jobRecord) bool { return j.ID != 0 })
	})
}

// jobFields maps the members of a job record to fields. Every function sets its field regardless of the
// value, since a record starts as a copy of the previous one.
func jobFields() map[string]field[jobRecord] {
	type job = jobRecord
	fields := map[string]field[job]{
		"job_id":                     idField(func(j *job) *uint32 { return &j.ID }),
		"name":                       textField(func(j *job) *string { return &j.Name }),
		"user_name":                  textField(func(j *job) *string { return &j.owner.UserName }),
		"user_id":                    uint32Field(func(j *job) *uint32 { return &j.owner.UserID }),
		"association_id":             uint32Field(func(j *job) *uint32 { return &j.owner.AssociationID }),
		"group_name":                 textField(func(j *job) *string { return &j.owner.GroupName }),
		"account":                    textField(func(j *job) *string { return &j.owner.Account }),
		"qos":                        textField(func(j *job) *string { return &j.owner.QOS }),
		"partition":                  textField(func(j *job) *string { return &j.Partition }),
		"job_state":                  anyField(func(_ *Interner, v []byte, j *job) { j.State = parseJobState(v) }),
		"state_reason":               textField(func(j *job) *string { return &j.Reason }),
		"state_description":          textField(func(j *job) *string { return &j.details.ReasonText }),
		"hold":                       boolField(func(j *job) *bool { return &j.Hold }),
		"priority":                   numberField(func(j *job) *slurm.Number { return &j.Priority }),
		"nice":                       int32Field(func(j *job) *int32 { return &j.Nice }),
		"requeue":                    boolField(func(j *job) *bool { return &j.details.Requeue }),
		"restart_cnt":                uint32Field(func(j *job) *uint32 { return &j.Restarts }),
		"array_job_id":               uint32Field(func(j *job) *uint32 { return &j.ArrayJobID }),
		"array_task_id":              numberField(func(j *job) *slurm.Number { return &j.ArrayTaskID }),
		"array_task_string":          rareTextField(func(j *job) *string { return &j.ArrayTasks }),
		"array_max_tasks":            uint32Field(func(j *job) *uint32 { return &j.details.ArrayMaxRunning }),
		"het_job_id":                 uint32Field(func(j *job) *uint32 { return &j.HetJobID }),
		"het_job_offset":             uint32Field(func(j *job) *uint32 { return &j.HetOffset }),
		"het_job_id_set":             rareTextField(func(j *job) *string { return &j.details.HetJobIDs }),
		"submit_time":                timeField(func(j *job) *slurm.Time { return &j.SubmitTime }),
		"eligible_time":              timeField(func(j *job) *slurm.Time { return &j.EligibleTime }),
		"accrue_time":                timeField(func(j *job) *slurm.Time { return &j.AccrueTime }),
		"start_time":                 timeField(func(j *job) *slurm.Time { return &j.StartTime }),
		"end_time":                   timeField(func(j *job) *slurm.Time { return &j.EndTime }),
		"suspend_time":               timeField(func(j *job) *slurm.Time { return &j.SuspendTime }),
		"pre_sus_time":               uint32Field(func(j *job) *uint32 { return &j.PreSuspendSeconds }),
		"last_sched_evaluation":      timeField(func(j *job) *slurm.Time { return &j.LastSchedEval }),
		"deadline":                   timeField(func(j *job) *slurm.Time { return &j.details.Deadline }),
		"time_limit":                 numberField(func(j *job) *slurm.Number { return &j.TimeLimit }),
		"nodes":                      textField(func(j *job) *string { return &j.Nodes }),
		"scheduled_nodes":            textField(func(j *job) *string { return &j.details.ScheduledNodes }),
		"batch_host":                 textField(func(j *job) *string { return &j.BatchHost }),
		"required_nodes":             textField(func(j *job) *string { return &j.details.RequiredNodes }),
		"excluded_nodes":             textField(func(j *job) *string { return &j.details.ExcludedNodes }),
		"features":                   textField(func(j *job) *string { return &j.details.Features }),
		"prefer":                     textField(func(j *job) *string { return &j.details.Prefer }),
		"node_count":                 numberField(func(j *job) *slurm.Number { return &j.NodeCount }),
		"max_nodes":                  numberField(func(j *job) *slurm.Number { return &j.details.MaxNodes }),
		"cpus":                       numberField(func(j *job) *slurm.Number { return &j.CPUs }),
		"tasks":                      numberField(func(j *job) *slurm.Number { return &j.Tasks }),
		"cpus_per_task":              numberField(func(j *job) *slurm.Number { return &j.details.CPUsPerTask }),
		"tasks_per_node":             numberField(func(j *job) *slurm.Number { return &j.details.TasksPerNode }),
		"minimum_cpus_per_node":      numberField(func(j *job) *slurm.Number { return &j.details.MinCPUsPerNode }),
		"minimum_tmp_disk_per_node":  numberField(func(j *job) *slurm.Number { return &j.details.MinTmpDiskMiB }),
		"memory_per_cpu":             numberField(func(j *job) *slurm.Number { return &j.MemoryPerCPU }),
		"memory_per_node":            numberField(func(j *job) *slurm.Number { return &j.MemoryPerNode }),
		"threads_per_core":           numberField(func(j *job) *slurm.Number { return &j.details.ThreadsPerCore }),
		"contiguous":                 boolField(func(j *job) *bool { return &j.details.Contiguous }),
		"shared":                     wordsField(func(j *job) *string { return &j.details.Shared }),
		"tres_req_str":               textField(func(j *job) *string { return &j.TRESRequested }),
		"tres_alloc_str":             textField(func(j *job) *string { return &j.TRESAllocated }),
		"gres_detail":                anyField(readGRESDetail),
		"exit_code":                  anyField(readExitCode),
		"tres_per_job":               textField(func(j *job) *string { return &j.details.TRESPerJob }),
		"tres_per_node":              textField(func(j *job) *string { return &j.details.TRESPerNode }),
		"tres_per_socket":            textField(func(j *job) *string { return &j.details.TRESPerSocket }),
		"memory_per_tres":            textField(func(j *job) *string { return &j.details.MemoryPerTRES }),
		"federation_siblings_viable": textField(func(j *job) *string { return &j.details.Siblings }),
		"tres_per_task":              textField(func(j *job) *string { return &j.details.TRESPerTask }),
		"licenses":                   textField(func(j *job) *string { return &j.details.Licenses }),
		"dependency":                 rareTextField(func(j *job) *string { return &j.Dependency }),
		"resv_name":                  textField(func(j *job) *string { return &j.details.Reservation }),
		"network":                    textField(func(j *job) *string { return &j.details.Network }),
		"flags":                      wordsField(func(j *job) *string { return &j.details.Flags }),
	}
	return fields
}

// readGRESDetail reads a job's generic resources on each of its nodes, such as ["gpu:h100:2(IDX:0-1)"]. It keeps only the sum, which many
// jobs share. If the text cannot be read, the job's number of GPUs is unknown.
func readGRESDetail(in *Interner, v []byte, j *jobRecord) {
	j.details.GRESAllocated = ""
	if detail := joinWords(v); detail != "" {
		if counts, err := slurm.ParseGRES(detail); err == nil {
			j.details.GRESAllocated = in.text([]byte(slurm.FormatGRES(counts)))
		}
	}
}

// readExitCode reads {"return_code": {"number": 3, …}, "signal": {"id": {"number": 9, …}, …}, …}.
func readExitCode(_ *Interner, v []byte, j *jobRecord) {
	var exit struct {
		Code   json.RawMessage `json:"return_code"`
		Signal struct {
			ID json.RawMessage `json:"id"`
		} `json:"signal"`
	}
	j.details.ExitCode, j.details.ExitSignal = slurm.Number{}, 0
	if bytes.Equal(v, []byte("null")) || json.Unmarshal(v, &exit) != nil {
		return
	}
	j.details.ExitCode, j.details.ExitSignal = parseNumber(exit.Code), uint32(min(parseNumber(exit.Signal.ID).Or(0), math.MaxUint32))
}

func parseJobState(v []byte) slurm.JobState {
	var names [8]string
	list := names[:0]
	eachWord(v, func(w []byte) { list = append(list, string(w)) })
	return slurm.ParseJobState(list...)
}

// anyField returns a field that accepts a value of any type.
func anyField[T any](f func(in *Interner, value []byte, dst *T)) field[T] { return field[T]{read: f} }

func textField[T any](at func(*T) *string) field[T] {
	return anyField(func(in *Interner, v []byte, t *T) { *at(t) = in.text(parseText(v)) })
}

// wordsField returns a field that joins the words of a list with commas.
func wordsField[T any](at func(*T) *string) field[T] {
	return anyField(func(in *Interner, v []byte, t *T) { *at(t) = in.text([]byte(joinWords(v))) })
}

// rareTextField is textField for texts that rarely occur twice; they are not interned.
func rareTextField[T any](at func(*T) *string) field[T] {
	return anyField(func(_ *Interner, v []byte, t *T) { *at(t) = string(parseText(v)) })
}

func numberField[T any](at func(*T) *slurm.Number) field[T] {
	return anyField(func(_ *Interner, v []byte, t *T) { *at(t) = parseNumber(v) })
}

func timeField[T any](at func(*T) *slurm.Time) field[T] {
	return anyField(func(_ *Interner, v []byte, t *T) { *at(t) = parseTime(v) })
}

func boolField[T any](at func(*T) *bool) field[T] {
	return field[T]{
		read:  func(_ *Interner, v []byte, t *T) { *at(t) = string(v) == "true" },
		valid: func(v []byte) bool { return string(v) == "true" || string(v) == "false" || string(v) == "null" },
	}
}

// uint32Field reads a plain number or a noVal object into a count, in which unset means 0.
func uint32Field[T any](at func(*T) *uint32) field[T] {
	return field[T]{
		read:  func(_ *Interner, v []byte, t *T) { *at(t) = uint32(min(parseNumber(v).Or(0), 1<<32-1)) },
		valid: isCount,
	}
}

// idField is uint32Field for ids: an id that does not fit into 32 bits is an error.
func idField[T any](at func(*T) *uint32) field[T] {
	f := uint32Field(at)
	f.valid = func(v []byte) bool { return isCount(v) && parseNumber(v).Or(0) <= math.MaxUint32 }
	return f
}

func uint64Field[T any](at func(*T) *uint64) field[T] {
	return field[T]{read: func(_ *Interner, v []byte, t *T) { *at(t) = parseNumber(v).Or(0) }, valid: isCount}
}

func int32Field[T any](at func(*T) *int32) field[T] {
	return field[T]{
		read: func(_ *Interner, v []byte, t *T) {
			n, _ := parseSigned(v)
			*at(t) = int32(min(max(n, math.MinInt32), math.MaxInt32))
		},
		valid: func(v []byte) bool { _, ok := parseSigned(v); return ok || string(v) == "null" },
	}
}

// isCount reports whether a value is a number, a noVal object, or null. Negative numbers count, since
// old servers use them for "unset".
func isCount(v []byte) bool {
	if string(v) == "null" || !parseNumber(v).IsAbsent() {
		return true
	}
	_, ok := parseSigned(v)
	return ok
}
