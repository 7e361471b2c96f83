package slurmtest

import (
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/slurmtide/slurmtide/slurmclient/slurm"
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
	k.mu.Lock()
	if isUnchanged(since, k.changedAt.jobs) {
		k.mu.Unlock()
		k.answerNoJobChanges(since)
		return
	}
	list := k.jobRecords(k.jobs)
	backfill, now := k.stats.lastCycle, k.now
	k.mu.Unlock()
	k.answerJobs(flags, list, backfill, now)
}

// jobRecords returns the jobs' records as they are now. The caller must hold the lock.
func (k *call) jobRecords(jobs []*job) []*jobRecord {
	k.freezeRecords()
	list := make([]*jobRecord, len(jobs))
	for i, j := range jobs {
		list[i] = j.view()
	}
	return list
}

func (k *call) answerJobs(f showFlags, list []*jobRecord, backfill, now slurm.Time) {
	k.answer(f.status, func(o *answerWriter) {
		writeList(o, "jobs", k.recordWriters.job, list)
		writeTime(o, "last_backfill", backfill)
		writeTime(o, "last_update", now)
	}, f.errs, nil)
}

func (k *call) getJob() {
	flags, ok := k.parseShowFlags()
	if !ok {
		return
	}
	k.mu.Lock()
	list := k.jobRecords(k.findJobs(k.pathValue))
	backfill, now := k.stats.lastCycle, k.now
	k.mu.Unlock()
	if len(list) == 0 {
		k.failAbout(http.StatusNotFound, 2017, "Unable to query JobId="+k.pathValue)
		return
	}
	k.answerJobs(flags, list, backfill, now)
}

// findJobs resolves an id such as "7" or "7_3". The id of an array or of a heterogeneous job
// resolves to all its records. The caller must hold the lock.
func (c *Cluster) findJobs(text string) []*job {
	number, task, isTask := strings.Cut(text, "_")
	id64, err := strconv.ParseUint(number, 10, 32)
	if err != nil {
		return nil
	}
	id := uint32(id64)
	a := c.arrays[id]
	if isTask {
		n, err := strconv.ParseUint(task, 10, 32)
		if a == nil || err != nil {
			return nil
		}
		if j := a.taskRecord(uint32(n)); j != nil {
			return []*job{j}
		}
		return nil
	}
	if a != nil {
		return a.members()
	}
	j := c.jobByID[id]
	switch {
	case j == nil:
		return nil
	case j.het != nil && j.het.leader() == j:
		return slices.DeleteFunc(slices.Clone(j.het.jobs), func(x *job) bool { return x.purged })
	}
	return []*job{j}
}

func (k *call) listJobStates() {
	ids := k.r.URL.Query()["job_id"]
	if strings.Contains(k.r.URL.RawQuery, ",") {
		writePlainText(k.w, http.StatusBadRequest, "Bad request")
		return
	}
	k.mu.Lock()
	list := k.jobs
	if len(ids) > 0 {
		list = nil
		for _, id := range ids {
			list = append(list, k.findJobs(id)...)
		}
	}
	states := k.stateRows(list)
	k.mu.Unlock()
	k.answer(http.StatusOK, func(o *answerWriter) {
		o.Key("jobs")
		o.Array()
		for _, s := range states {
			o.Item()
			o.Object()
			o.Key("job_id")
			o.String(s.id)
			o.Key("state")
			o.Strings(s.state.Names()...)
			o.EndObject()
			o.flush(maxBuffer)
		}
		o.EndArray()
	}, nil, nil)
}

type stateRow struct {
	id    string
	state slurm.JobState
}

// stateRows names the jobs as jobs/state does. A task without its own record has the array's id. A
// task with its own record has the array's id in v0.0.40 and its own id in later versions.
func (k *call) stateRows(jobs []*job) []stateRow {
	rows := make([]stateRow, 0, len(jobs))
	text := func(id uint32) string { return strconv.FormatUint(uint64(id), 10) }
	for _, j := range jobs {
		v := j.view()
		task, isTask := v.ArrayTaskID.Value()
		switch {
		case j.isBase():
			for _, t := range j.array.tasks {
				rows = append(rows, stateRow{text(j.array.id) + "_" + text(t), v.State})
			}
		case isTask && k.version == "v0.0.40":
			rows = append(rows, stateRow{text(v.ArrayJobID) + "_" + text(uint32(task)), v.State})
		case isTask:
			rows = append(rows, stateRow{text(j.id) + "_" + text(uint32(task)), v.State})
		case v.HetJobID != 0:
			rows = append(rows, stateRow{text(j.id) + "+" + text(v.HetOffset), v.State})
		default:
			rows = append(rows, stateRow{text(j.id), v.State})
		}
	}
	return rows
}
