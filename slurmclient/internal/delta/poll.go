package delta

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/slurmtide/slurmtide/slurmclient/internal/records"
	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

// poll is one poll of the delta reader: the jobs known from before, the states, and the records
// that were read. It does no I/O.
type poll struct {
	old []*slurm.Job // sorted by id
	// split maps array tasks to their records, for tasks with their own record. API v0.0.40 names such tasks by their array, later versions by
	// their record.
	split map[arrayTask]uint32
	// rows are the states that were read, by record id. The base record of an array combines the
	// rows of all tasks that are not split off.
	rows map[uint32]*stateRow
	// inWindow are the ids found in the window, and fresh are the new ones among them. wantedIDs are the ids whose record must be read.
	inWindow  map[uint32]bool
	fresh     map[uint32]bool
	wantedIDs map[uint32]bool
	// read contains the records read in this poll; nil marks a record that is gone.
	read map[uint32]*slurm.Job
	// unfinished counts the known jobs that had not finished, and vanished counts how many of them are gone.
	vanished, unfinished int
	// newestComplete is the newest id up to which every record is known.
	newestComplete uint32
	// wantsAll is whether the records of known jobs are read although their states are the same.
	wantsAll bool
	// firstUnread is the first id that had no job before the ids were read, 0 if they were not read one by one. From this id on, jobs
	// submitted meanwhile may be missing.
	firstUnread uint32
}

// arrayTask identifies a task by the job id of its array and its index.
type arrayTask struct {
	array uint32
	task  uint64
}

type stateRow struct {
	state slurm.JobState
	// tasks are the array indexes of the rows with this id.
	tasks []uint64
	mixed bool // the rows differ in state
}

func newPoll(old []*slurm.Job) *poll {
	p := &poll{
		old: old, split: map[arrayTask]uint32{}, rows: map[uint32]*stateRow{}, inWindow: map[uint32]bool{},
		fresh: map[uint32]bool{}, wantedIDs: map[uint32]bool{}, read: map[uint32]*slurm.Job{},
	}
	for _, j := range old {
		p.indexTask(j)
	}
	return p
}

func (p *poll) indexTask(j *slurm.Job) {
	if task, ok := j.ArrayTaskID.Value(); ok && j.ArrayJobID != 0 {
		p.split[arrayTask{j.ArrayJobID, task}] = j.ID
	}
}

// recordOf returns the id of the record that a row belongs to, as far as known.
func (p *poll) recordOf(r slurm.JobStatus) (id uint32, ownRecord bool) {
	if task, ok := r.TaskID.Value(); ok {
		if id, ok := p.split[arrayTask{r.ID, task}]; ok {
			return id, true
		}
	}
	return r.ID, false
}

// stateIDs lists the ids whose states are requested. If reading the base record of an array is cheaper, it leaves the record out and marks
// it as wanted.
func (p *poll) stateIDs() []string {
	split := p.splitTasks()
	ids := make([]string, 0, len(p.old))
	for _, j := range p.old {
		switch task, isTask := j.ArrayTaskID.Value(); {
		case j.ArrayJobID != j.ID:
			ids = append(ids, strconv.FormatUint(uint64(j.ID), 10))
		case isTask:
			// The array's last task has the id of the array, and that id alone would request all tasks.
			ids = append(ids, taskID(j.ID, task))
		case !j.IsArrayBase():
			// For an array without tasks ("7_*"), the answer includes the states of its split tasks.
			ids = append(ids, strconv.FormatUint(uint64(j.ID), 10))
		case recordIsCheaper(j, split[j.ID]):
			p.wantedIDs[j.ID] = true
		default:
			first, _, _ := taskBounds(j.ArrayTasks)
			ids = append(ids, taskID(j.ID, first))
		}
	}
	return ids
}

func taskID(id uint32, task uint64) string {
	return strconv.FormatUint(uint64(id), 10) + "_" + strconv.FormatUint(task, 10)
}

// splitTasks counts the split records of each array.
func (p *poll) splitTasks() map[uint32]int {
	split := map[uint32]int{}
	for _, j := range p.old {
		if j.ArrayJobID != 0 && j.ArrayJobID != j.ID {
			split[j.ArrayJobID]++
		}
	}
	return split
}

// recordIsCheaper decides how the base record of an array is checked. A request for its state returns
// a row for every task that is not split off. A request for its record returns that record and one
// for every split task, about 800 µs each.
func recordIsCheaper(base *slurm.Job, split int) bool {
	_, count, exact := taskBounds(base.ArrayTasks)
	if !exact {
		return true
	}
	const recordCost = 800 * time.Microsecond
	return time.Duration(1+split)*recordCost < statesCost(count)
}

func (p *poll) addStates(rows []slurm.JobStatus) {
	for _, r := range rows {
		id, own := p.recordOf(r)
		seen := p.rows[id]
		if seen == nil {
			seen = &stateRow{state: r.State}
			p.rows[id] = seen
		} else if seen.state != r.State {
			seen.mixed = true
		}
		if task, ok := r.TaskID.Value(); ok && !own {
			seen.tasks = append(seen.tasks, task)
		}
	}
}

// addWindow adds the rows of the window. An array task that is named by its array has a new record,
// which a request for the array returns.
func (p *poll) addWindow(rows []slurm.JobStatus) {
	for _, r := range rows {
		id, _ := p.recordOf(r)
		p.inWindow[id] = true
		if records.FindJob(p.old, id) == nil {
			p.fresh[id] = true
		}
		if records.FindJob(p.old, id) == nil || id == r.ID {
			p.wantedIDs[id] = true
		}
	}
}

// compareKnown marks the known jobs that are gone or changed.
func (p *poll) compareKnown() {
	for _, j := range p.old {
		finished := j.State.Base.Finished()
		if !finished {
			p.unfinished++
		}
		if p.wantedIDs[j.ID] {
			continue
		}
		row := p.rows[j.ID]
		switch {
		case row == nil && j.IsArrayBase():
			p.wantedIDs[j.ID] = true
		case row == nil:
			p.markGone(j.ID)
			if !finished {
				p.vanished++
			}
		case p.wantsAll || p.hasChanged(j, row):
			p.wantedIDs[j.ID] = true
		}
	}
}

// compareAll is compareKnown for rows that cover all jobs; it also marks the new jobs.
func (p *poll) compareAll() {
	p.compareKnown()
	for id := range p.rows {
		if records.FindJob(p.old, id) == nil {
			p.wantedIDs[id] = true
		}
	}
}

func (p *poll) hasChanged(j *slurm.Job, row *stateRow) bool {
	if row.mixed || row.state != j.State {
		return true
	}
	if !j.IsArrayBase() {
		return false
	}
	_, count, exact := taskBounds(j.ArrayTasks)
	return !exact || uint64(len(row.tasks)) != count
}

// isSuspicious reports whether the poll is inconsistent. Unfinished jobs vanish only if they end and are purged between two polls, so many
// of them at once indicate a new job table. A poll is also suspicious if jobs were submitted but the window contains none.
func (p *poll) isSuspicious(old, now *slurm.Stats) bool {
	if p.vanished > 8 && p.vanished > p.unfinished/10 {
		return true
	}
	return now.JobsSubmitted > old.JobsSubmitted && len(p.fresh) == 0
}

// wantedRecords lists the ids whose record must be read.
func (p *poll) wantedRecords() []uint32 { return slices.Sorted(maps.Keys(p.wantedIDs)) }

// shrunkArray returns the array that the new record id was split off, if the array's base record has
// not been read in this poll.
func (p *poll) shrunkArray(id uint32) (array uint32, ok bool) {
	j := p.read[id]
	if j == nil || j.ArrayJobID == 0 || j.ArrayJobID == id || p.hasRead(j.ArrayJobID) {
		return 0, false
	}
	return j.ArrayJobID, records.FindJob(p.old, id) == nil
}

// dueIDs lists a fraction of all jobs to read again in turn: the jobs after the id after, in order of id, wrapping around at the end. It
// includes finished jobs, since slurmctld changes some of them when it restarts. It leaves out arrays with many split tasks, since reading
// one returns all those tasks; see wantLargeArrays.
func (p *poll) dueIDs(after uint32, part int) []uint32 {
	split := p.splitTasks()
	n := min(len(p.old), max(minDue, len(p.old)/part))
	start, _ := slices.BinarySearchFunc(p.old, after+1, func(j *slurm.Job, id uint32) int {
		return cmp.Compare(j.ID, id)
	})
	out := make([]uint32, 0, n)
	for i := range n {
		if id := p.old[(start+i)%len(p.old)].ID; split[id] <= maxSplitTasks {
			out = append(out, id)
		}
	}
	return out
}

// pollsPerRound returns the number of polls after which every record has been read again, provided
// that the queue does not change.
func (p *poll) pollsPerRound() int {
	for _, n := range p.splitTasks() {
		if n > maxSplitTasks {
			return fullEvery
		}
	}
	n := max(minDue, len(p.old)/dueDivisor)
	return (len(p.old) + n - 1) / n
}

// wantLargeArrays marks the arrays that dueIDs leaves out as wanted.
func (p *poll) wantLargeArrays() {
	for id, n := range p.splitTasks() {
		if n > maxSplitTasks && records.FindJob(p.old, id) != nil {
			p.wantedIDs[id] = true
		}
	}
}

func (p *poll) hasRead(id uint32) bool {
	_, ok := p.read[id]
	return ok
}

func (p *poll) markGone(id uint32) { p.read[id] = nil }

// addRecords adds the records that a request for an id returned. A request for an array may return
// only the records of its tasks, if its base record no longer exists.
func (p *poll) addRecords(id uint32, jobs []*slurm.Job) {
	for _, j := range jobs {
		p.read[j.ID] = j
		p.indexTask(j)
	}
	if !p.hasRead(id) {
		p.markGone(id)
	}
}

// newestRead returns the newest id of the read records that are new or in the window. Other records do not count, since ids may have
// started over.
func (p *poll) newestRead() uint32 {
	var top uint32
	for id, j := range p.read {
		if j != nil && (p.inWindow[id] || records.FindJob(p.old, id) == nil) {
			top = max(top, id)
		}
	}
	return top
}

// missedIDs lists the ids to read for rows whose record has not been read; before is the first new
// id. An array may have split off a task since it was read, and API v0.0.40 names that task by the
// array.
func (p *poll) missedIDs(before uint32, rows []slurm.JobStatus) []uint32 {
	ids := map[uint32]bool{}
	for _, r := range rows {
		id, own := p.recordOf(r)
		switch {
		case own || p.hasRead(id) && id >= before || records.FindJob(p.old, id) != nil && id >= before:
		case id < before:
			delete(p.read, id) // read it again
			ids[id] = true
		default:
			ids[id] = true
		}
	}
	return slices.Sorted(maps.Keys(ids))
}

// nextCursor returns the id after which the next window begins. After a full reading it is the id of the last submitted job among the jobs
// whose state was read, since ids may have started over. It is then less than firstUnread.
func (p *poll) nextCursor(cursor uint32, full bool) uint32 {
	if !full {
		return max(cursor, p.newestComplete)
	}
	var last *slurm.Job
	jobs, _ := p.mergeJobs()
	for _, j := range jobs {
		if p.rows[j.ID] == nil {
			continue
		}
		if last == nil || j.SubmitTime > last.SubmitTime || j.SubmitTime == last.SubmitTime && j.ID > last.ID {
			last = j
		}
	}
	if last == nil {
		return 0
	}
	if p.firstUnread > 0 {
		return min(last.ID, p.firstUnread-1)
	}
	return last.ID
}

// mergeJobs merges the records that were read into the known jobs. If changed is false, the jobs are
// the old ones and the same objects.
func (p *poll) mergeJobs() (jobs []*slurm.Job, changed bool) {
	m := records.NewJobMerger(p.old)
	for _, j := range p.old {
		if !p.hasRead(j.ID) {
			m.Keep(j)
		}
	}
	for _, j := range p.read {
		if j != nil {
			m.Add(j)
		}
	}
	return m.Merge()
}

// taskBounds returns the first index and the number of tasks of an array's task text, such as
// "2-9,12-20:4%2". exact is false if the text is truncated or cannot be read.
func taskBounds(text string) (first, count uint64, exact bool) {
	tasks, ok := slurm.ParseArrayTasks(text)
	return tasks.First, tasks.Count, ok
}
