package delta

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/slurmtide/slurmtide/slurmclient/internal/records"
	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

// doubts contains the pending jobs whose record may have changed although their state did not. It maps each to the time when the record was
// last known to be right. Other jobs need not be read, since no event could have changed their record.
type doubts map[uint32]time.Time

const (
	// For records in doubt, one poll reads the largest of these: 1/doubtDivisor of the jobs, minDoubtBatch records, and the records that take
	// doubtTime.
	doubtDivisor  = 6
	minDoubtBatch = 1000
	doubtTime     = 15 * time.Second
	// maxUnevaluated is how many new jobs one poll reads again because the scheduler has not evaluated them. newJobSeconds is how long a job
	// counts as new, in seconds.
	maxUnevaluated = 256
	newJobSeconds  = 600
)

// raise puts a job in doubt since a time, unless it is in doubt already.
func (d doubts) raise(id uint32, since time.Time) {
	if _, there := d[id]; !there {
		d[id] = since
	}
}

// oldestFact returns when the oldest fact in doubt was last known to be right, or now without doubts.
func (d doubts) oldestFact(now time.Time) time.Time {
	for _, t := range d {
		if t.Before(now) {
			now = t
		}
	}
	return now
}

// settle drops the jobs that the poll has read and those that are no longer pending.
func (d doubts) settle(p *poll) {
	maps.DeleteFunc(d, func(id uint32, _ time.Time) bool {
		j := records.FindJob(p.old, id)
		return p.hasRead(id) || j == nil || j.State.Base != slurm.JobPending
	})
}

// nextBatch lists the jobs in doubt that one poll reads, beginning with the oldest doubts. Each takes recordTime. Reading an array also
// returns the records of its split tasks, which count against the batch.
func (d doubts) nextBatch(p *poll, recordTime time.Duration) []uint32 {
	ids := slices.SortedFunc(maps.Keys(d), func(a, b uint32) int {
		return cmp.Or(d[a].Compare(d[b]), cmp.Compare(a, b))
	})
	split := p.splitTasks()
	budget := max(minDoubtBatch, len(p.old)/doubtDivisor, int(doubtTime/max(leastRecordTime, recordTime)))
	for i, id := range ids {
		if budget -= 1 + split[id]; budget < 0 && i > 0 {
			return ids[:i]
		}
	}
	return ids
}

// raiseAll puts every pending job in doubt. It is called after an update of a job, because slurmctld does not report which one.
func (d doubts) raiseAll(p *poll, since time.Time) {
	for _, j := range p.old {
		if j.State.Base == slurm.JobPending {
			d.raise(j.ID, since)
		}
	}
}

// evaluationTimeout is how long slurmctld may take to evaluate a job again after the end of the job that it waited for. slurmctld evaluates
// dependencies and limits when it schedules, by default at least once a minute (slurm.conf(5), SchedulerParameters=sched_interval).
const evaluationTimeout = 90 * time.Second

// releasedJobs are the pending jobs, by id, that the end of another job may have released. They are
// in doubt until slurmctld changes their record or evaluationTimeout has passed. A poll that reads
// them at once finds the old record.
type releasedJobs map[uint32]releasedJob

// releasedJob contains the record of a job at the end of another job.
type releasedJob struct {
	dependency, reason string
	until              time.Time
}

// add adds the jobs with these ids, with their last read state.
func (w releasedJobs) add(p *poll, ids []uint32, now time.Time) {
	for _, id := range ids {
		if j := records.FindJob(p.old, id); j != nil {
			w[id] = releasedJob{j.Dependency, j.Reason, now.Add(evaluationTimeout)}
		}
	}
}

// settle drops the jobs whose record changed or whose time has passed.
func (w releasedJobs) settle(p *poll, now time.Time) {
	maps.DeleteFunc(w, func(id uint32, was releasedJob) bool {
		j := records.FindJob(p.old, id)
		return j == nil || j.State.Base != slurm.JobPending ||
			j.Dependency != was.dependency || j.Reason != was.reason || now.After(was.until)
	})
}

// dependentJobs lists the pending jobs that a changed job may have released. These are jobs that name it as a dependency, and one job for
// each limit that holds jobs back, the cheapest one to read. It omits an array of which only tasks changed, since the states of its tasks
// show how many of them wait.
func dependentJobs(p *poll) (ids []uint32) {
	moved := p.findMoved()
	if len(moved.ids) == 0 {
		return nil
	}
	split := p.splitTasks()
	held := map[limitKind]uint32{}
	for _, j := range p.old {
		if j.State.Base != slurm.JobPending {
			continue
		}
		if moved.mayRelease(j) {
			ids = append(ids, j.ID)
			continue
		}
		if !heldByLimit(j) {
			continue
		}
		kind := limitKindOf(j)
		if other, there := held[kind]; !there || split[j.ID] < split[other] {
			held[kind] = j.ID
		}
	}
	return slices.AppendSeq(ids, maps.Values(held))
}

// raiseSameLimit puts all jobs held by a limit in doubt if the limit no longer holds the job that was read for them.
func (d doubts) raiseSameLimit(p *poll, since time.Time) {
	freed := map[limitKind]bool{}
	for id := range d {
		old, now := records.FindJob(p.old, id), p.read[id]
		if old != nil && now != nil && heldByLimit(old) && now.State.Base == slurm.JobPending &&
			now.Reason != old.Reason {
			freed[limitKindOf(old)] = true
		}
	}
	if len(freed) == 0 {
		return
	}
	for _, j := range p.old {
		if j.State.Base == slurm.JobPending && heldByLimit(j) && freed[limitKindOf(j)] && !p.hasRead(j.ID) {
			d.raise(j.ID, since)
		}
	}
}

// movedJobs are the jobs whose state changed, or that ended or vanished, since the last poll.
type movedJobs struct {
	ids       map[uint32]bool // of jobs, and of the arrays that they belong to
	userNames map[string]bool // user and job name, for singletons
}

func (p *poll) findMoved() movedJobs {
	m := movedJobs{ids: map[uint32]bool{}, userNames: map[string]bool{}}
	for _, j := range p.old {
		row := p.rows[j.ID]
		if row != nil && !row.mixed && row.state == j.State {
			continue
		}
		if row == nil && j.IsArrayBase() && !p.hasRead(j.ID) {
			continue // its state was not requested
		}
		m.ids[j.ID] = true
		if j.ArrayJobID != 0 {
			m.ids[j.ArrayJobID] = true
		}
		m.userNames[j.UserName()+"\x00"+j.Name] = true
	}
	return m
}

// mayRelease reports whether a dependency of the job may be fulfilled now.
func (m movedJobs) mayRelease(j *slurm.Job) bool {
	if j.Dependency == "" {
		return false
	}
	if strings.Contains(j.Dependency, "singleton") && m.userNames[j.UserName()+"\x00"+j.Name] {
		return true
	}
	digits := func(r rune) bool { return r < '0' || r > '9' }
	for number := range strings.FieldsFuncSeq(j.Dependency, digits) {
		if id, err := strconv.ParseUint(number, 10, 32); err == nil && m.ids[uint32(id)] {
			return true
		}
	}
	return false
}

// limitKind identifies the jobs that the same limit holds.
type limitKind struct {
	reason, user, account, qos, partition, licenses string
	array                                           uint32
}

func limitKindOf(j *slurm.Job) limitKind {
	k := limitKind{reason: j.Reason, user: j.UserName(), account: j.Account(), qos: j.QOS(),
		partition: j.Partition, licenses: j.Licenses()}
	if j.Reason == "JobArrayTaskLimit" {
		k.array = j.ArrayJobID
	}
	return k
}

// heldByLimit reports whether the job, by its reason, waits for anything but nodes, a person, a time
// or another job.
func heldByLimit(j *slurm.Job) bool {
	switch j.Reason {
	case "", "None", "Priority", "Resources", "JobHeldUser", "JobHeldAdmin", "BeginTime",
		"Dependency", "DependencyNeverSatisfied":
		return false
	}
	return true
}

// unevaluated lists the newest pending jobs that the scheduler has not evaluated. Their reason is
// unknown until it has.
func (p *poll) unevaluated(now slurm.Time) []uint32 {
	var ids []uint32
	for _, j := range slices.Backward(p.old) {
		if len(ids) == maxUnevaluated {
			break
		}
		if j.State.Base == slurm.JobPending && !j.LastSchedEval.IsSet() &&
			(j.Reason == "" || j.Reason == "None") && now < j.SubmitTime+newJobSeconds {
			ids = append(ids, j.ID)
		}
	}
	return ids
}
