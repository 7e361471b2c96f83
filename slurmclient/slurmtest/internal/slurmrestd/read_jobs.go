package slurmrestd

import (
	"net/http"
	"strconv"
	"strings"

	"github.com/slurmtide/slurmtide/slurmclient/slurmtest/internal/slurmctld"
)

func (k *call) listJobs() {
	since, ok := k.parseUpdateTime(http.StatusUnprocessableEntity)
	if !ok {
		return
	}
	flags, ok := k.parseShowFlags()
	if !ok {
		return
	}
	if isUnchanged(since, k.cluster.ReadTimes().Jobs) {
		k.answerNoJobChanges(since)
		return
	}
	list, at := k.cluster.ReadJobs()
	k.answerJobs(flags, list, at)
}

func (k *call) answerJobs(f showFlags, list []*slurmctld.JobRecord, at slurmctld.Times) {
	k.answer(f.status, func(o *answerWriter) {
		writeList(o, "jobs", k.recordWriters.job, list)
		writeTime(o, "last_backfill", at.LastSchedule)
		writeTime(o, "last_update", at.Now)
	}, f.errs, nil)
}

func (k *call) getJob() {
	flags, ok := k.parseShowFlags()
	if !ok {
		return
	}
	list, at := k.cluster.ReadJob(k.pathValue)
	if len(list) == 0 {
		k.failAbout(http.StatusNotFound, 2017, "Unable to query JobId="+k.pathValue)
		return
	}
	k.answerJobs(flags, list, at)
}

func (k *call) listJobStates() {
	ids := k.r.URL.Query()["job_id"]
	if strings.Contains(k.r.URL.RawQuery, ",") {
		writePlainText(k.w, http.StatusBadRequest, "Bad request")
		return
	}
	states := k.cluster.ReadJobStates(ids)
	k.answer(http.StatusOK, func(o *answerWriter) {
		o.Key("jobs")
		o.Array()
		for _, s := range states {
			o.Item()
			o.Object()
			o.Key("job_id")
			o.String(k.formatJobID(s))
			o.Key("state")
			o.Strings(s.State.Names()...)
			o.EndObject()
			o.flush(maxBuffer)
		}
		o.EndArray()
	}, nil, nil)
}

// formatJobID names a job as jobs/state does. A task with its own record has the array's id in v0.0.40
// and its own id in later versions.
func (k *call) formatJobID(r slurmctld.JobStateRow) string {
	text := func(id uint32) string { return strconv.FormatUint(uint64(id), 10) }
	if task, ok := r.Task.Value(); ok {
		if k.version == "v0.0.40" {
			return text(r.ArrayJob) + "_" + text(uint32(task))
		}
		return text(r.Job) + "_" + text(uint32(task))
	}
	if offset, ok := r.HetOffset.Value(); ok {
		return text(r.Job) + "+" + text(uint32(offset))
	}
	return text(r.Job)
}
