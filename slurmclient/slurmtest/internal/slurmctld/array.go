package slurmctld

import (
	"slices"
	"strconv"

	"github.com/slurmtide/slurmtide/slurmclient/slurm"
	"github.com/slurmtide/slurmtide/slurmclient/slurmtest/internal/copyonwrite"
	"github.com/slurmtide/slurmtide/slurmclient/slurmtest/internal/format"
)

// array is a job array. As in Slurm, one record, the base, represents all tasks that have no record
// of their own. The last of these tasks takes over the base record.
type array struct {
	id       uint32
	throttle uint32
	running  uint32
	// tasks are the sorted indexes of the tasks that the base represents.
	tasks      []uint32
	base       *job // nil once it is purged
	splitTasks map[*job]bool
}

// taskString returns array_task_string.
func (a *array) taskString(cut int) string {
	if len(a.tasks) == 0 {
		return ""
	}
	text := format.Ranges(a.tasks, cut)
	if a.throttle > 0 {
		text += "%" + strconv.FormatUint(uint64(a.throttle), 10)
	}
	return text
}

func (a *array) atLimit() bool { return a.throttle > 0 && a.running >= a.throttle }

// makeArray turns a new job into the base of an array. slurmctld counts each task as submitted.
func (c *Cluster) makeArray(j *job, tasks []uint32, throttle uint32) {
	a := &array{id: j.id, throttle: throttle, tasks: tasks, base: j, splitTasks: map[*job]bool{}}
	j.array = a
	c.stats.Submitted += uint64(len(tasks)) - 1
	c.arrays[a.id] = a
	r := c.edit(j)
	r.ArrayJobID, r.ArrayMaxRunning = a.id, throttle
	r.ArrayTasks = a.taskString(c.cfg.BitstrLen)
}

// splitTask gives the task its own record, or turns the base into it if the task is the last. As in
// slurmctld, the new record takes the base's position in the table and the base moves to the end.
func (c *Cluster) splitTask(a *array, task uint32) *job {
	base := a.base
	i, found := slices.BinarySearch(a.tasks, task)
	if !found {
		return nil
	}
	if len(a.tasks) == 1 {
		a.tasks = nil
		r := c.edit(base)
		r.ArrayTaskID, r.ArrayTasks = slurm.Num(uint64(task)), ""
		return base
	}
	if i == 0 {
		a.tasks = a.tasks[1:]
	} else {
		a.tasks = slices.Delete(slices.Clone(a.tasks), i, i+1)
	}
	one := *base
	one.id, one.queued, one.dependencies = c.newID(), false, slices.Clone(base.dependencies)
	rec := *base.View()
	one.Record = copyonwrite.New(&rec, c.generation)
	j := &one
	rec.ID, rec.ArrayTaskID, rec.ArrayTasks = j.id, slurm.Num(uint64(task)), ""
	c.jobs[j.index] = j
	c.jobByID[j.id] = j
	base.index = len(c.jobs)
	c.jobs = append(c.jobs, base)
	a.splitTasks[j] = true
	c.edit(base).ArrayTasks = a.taskString(c.cfg.BitstrLen)
	return j
}

// taskRecord returns the task's own record, or nil.
func (a *array) taskRecord(task uint32) *job {
	is := func(j *job) bool {
		v, ok := j.View().ArrayTaskID.Value()
		return ok && v == uint64(task)
	}
	if a.base != nil && is(a.base) {
		return a.base
	}
	for j := range a.splitTasks {
		if is(j) {
			return j
		}
	}
	return nil
}

// isBase reports whether the record represents tasks without their own record.
func (j *job) isBase() bool { return j.array != nil && j.array.base == j && len(j.array.tasks) > 0 }

// members returns the array's records in order of id.
func (a *array) members() []*job {
	var out []*job
	if a.base != nil {
		out = append(out, a.base)
	}
	for j := range a.splitTasks {
		out = append(out, j)
	}
	slices.SortFunc(out, func(x, y *job) int { return int(x.id) - int(y.id) })
	return out
}
