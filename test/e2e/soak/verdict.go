package soak

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// submission is a job that sbatch accepted.
type submission struct {
	Job
	id   string
	name string
	at   time.Time
}

// record is a line of sacct for a job or a task of an array.
type record struct {
	id, name, state string
	restarts        int
	// start is the zero value for a job that never started.
	start time.Time
}

// accountingTime is how sacct writes a time, which is UTC in the pods.
const accountingTime = "2006-01-02T15:04:05"

// lossWindow is how long before a SIGKILL of slurmctld an accepted job may be lost (docs/development/slurm.md, "A killed
// slurmctld"): slurmctld writes its state every five seconds, which takes up to a second here.
const lossWindow = 6 * time.Second

// judgeJobs returns the faults in the records of the jobs, and the jobs that Slurm may have lost with a killed slurmctld. These are jobs
// that were accepted right before the kill, jobs whose id was given twice, and jobs named in lostEnds.
func judgeJobs(jobs []submission, records []record, kills []time.Time, lostEnds []string) (faults, lost []string) {
	given := map[string]int{}
	for _, job := range jobs {
		given[job.id]++
	}
	for _, job := range jobs {
		fault := judgeJob(job, records)
		switch {
		case fault == "":
		case given[job.id] > 1 || isLossExcused(job, kills) || slices.Contains(lostEnds, job.name) || ranAgain(job, records, kills):
			lost = append(lost, fault)
		default:
			faults = append(faults, fault)
		}
	}
	return faults, lost
}

// followUpAfter is how long after its submission a job gets the command that it waits for.
const followUpAfter = 8 * time.Second

// isLossExcused reports whether slurmctld was killed before it had to know the job, or what became of it.
func isLossExcused(job submission, kills []time.Time) bool {
	times := []time.Time{job.at}
	if len(job.Then) > 0 {
		times = append(times, job.at.Add(followUpAfter))
	}
	return slices.ContainsFunc(times, func(at time.Time) bool { return isLost(at, kills) })
}

// isLost reports whether slurmctld was killed before it had to save what it received at a time.
func isLost(at time.Time, kills []time.Time) bool {
	return slices.ContainsFunc(kills, func(kill time.Time) bool { return !kill.Before(at) && kill.Sub(at) <= lossWindow })
}

// ranAgain reports whether a killed slurmctld started a task of a job again. Either the task ended right before the kill, of which slurmdbd
// did not hear: slurmctld starts it again when slurmd registers without it. Or it started right before the kill: slurmctld starts it once
// more, slurmd refuses it as a duplicate, and slurmctld requeues it.
func ranAgain(job submission, records []record, kills []time.Time) bool {
	return slices.ContainsFunc(records, func(r record) bool {
		end := r.start.Add(job.Sleep)
		return r.name == job.name && slices.ContainsFunc(kills, func(kill time.Time) bool {
			switch r.state {
			case "NODE_FAIL":
				return end.Add(lossWindow).After(kill) && end.Before(kill)
			case "REQUEUED":
				return job.at.Before(kill) && r.start.Add(lossWindow).After(kill) && r.start.Before(kill.Add(lossWindow))
			default:
				return false
			}
		})
	})
}

// isHeld reports whether a job ("%i %j %T %r" of squeue) is held by its owner or an administrator.
func isHeld(queued string) bool {
	queued = strings.TrimSpace(queued)
	return strings.HasSuffix(queued, " JobHeldUser") || strings.HasSuffix(queued, " JobHeldAdmin")
}

// launchFailed is the reason of a job whose batch script slurmd refused.
const launchFailed = "launch failed requeued held"

// isLostStart reports whether a killed slurmctld seems to have lost the start of a held job ("%i %j %T %r" of squeue). It then started the
// job again during the job's first start, and the reason of a node ("%N %E" of sinfo) shows it.
func isLostStart(queued, reasons string, kills []time.Time) bool {
	return len(kills) > 0 && strings.Contains(queued, launchFailed) && strings.Contains(reasons, "Duplicate jobid")
}

// lostEnd is a job that slurmctld believes to run, although slurmdbd has its end.
type lostEnd struct{ id, name string }

// findLostEnds returns the jobs that run according to a queue ("%i|%j|%T" of squeue), but that completed according to slurmdbd
// ("jobid,end,state" of sacct) shortly before slurmctld was killed.
func findLostEnds(queue, accounting string, kills []time.Time) []lostEnd {
	ended := map[string]bool{}
	for line := range strings.Lines(accounting) {
		fields := strings.Split(strings.TrimSpace(line), "|")
		if len(fields) != 3 {
			continue
		}
		state, _, _ := strings.Cut(fields[2], " ") // "CANCELLED by 0"
		if !slices.Contains([]string{"COMPLETED", "FAILED", "CANCELLED", "TIMEOUT"}, state) {
			continue
		}
		end, err := time.Parse(accountingTime, fields[1])
		ended[fields[0]] = err == nil && slices.ContainsFunc(kills, func(kill time.Time) bool {
			return end.Add(lossWindow).After(kill) && end.Before(kill.Add(time.Second))
		})
	}
	var out []lostEnd
	for line := range strings.Lines(queue) {
		if f := strings.Split(strings.TrimSpace(line), "|"); len(f) == 3 && f[2] == "RUNNING" && ended[f[0]] {
			out = append(out, lostEnd{f[0], f[1]})
		}
	}
	return out
}

// judgeJob returns the fault in the records of one job, or "".
func judgeJob(job submission, records []record) string {
	fault := func(format string, args ...any) string {
		return fmt.Sprintf("job %s (%s, %s): ", job.id, job.name, job.Kind) + fmt.Sprintf(format, args...)
	}
	count := 0
	for _, r := range records {
		if r.name != job.name {
			continue
		}
		count++
		// sacct appends the user who cancelled a job.
		if state, _, _ := strings.Cut(r.state, " "); state != job.Want {
			return fault("%s is %s, want %s", r.id, r.state, job.Want)
		}
		if r.restarts > 0 {
			return fault("%s was started %d times", r.id, r.restarts+1)
		}
	}
	if count != job.Tasks {
		return fault("%d records, want %d", count, job.Tasks)
	}
	return ""
}

// sample is the state of the cluster at one moment.
type sample struct {
	at time.Time
	// workers are the pods of workers that are not being deleted, by their UID.
	workers map[string]worker
	// needed is the number of workers that jobs use or wait for. It is -1 while Slurm does not answer.
	needed int
}

// worker is a worker's pod.
type worker struct {
	name string
	// isBusy reports whether a job is on its node, isHeld whether an administrator or a reboot took it out of service.
	isBusy, isHeld bool
}

// excessLimit is how long more workers than needed may run.
const excessLimit = time.Minute

// findExcess returns each period in which more workers ran than jobs needed for longer than excessLimit, while Slurm answered.
func findExcess(samples []sample) []string {
	var out []string
	var since time.Time
	reported := false
	for _, s := range samples {
		inService := 0
		for _, w := range s.workers {
			if !w.isHeld {
				inService++
			}
		}
		if s.needed < 0 || inService <= s.needed {
			since, reported = time.Time{}, false
			continue
		}
		if since.IsZero() {
			since = s.at
		}
		if took := s.at.Sub(since); took > excessLimit && !reported {
			reported = true
			out = append(out, fmt.Sprintf("%s: %d workers in service and %d needed for more than %v", since.Format(time.TimeOnly),
				inService, s.needed, excessLimit))
		}
	}
	return out
}

// life is the time of one pod of a worker.
type life struct {
	name        string
	first, last time.Time
	worked      bool
}

// flapLimit is how many pods of one name may end in a row without having had a job, each within flapWindow of the one before.
const (
	flapLimit  = 2
	flapWindow = time.Minute
)

// findFlaps returns the names of workers that were created and deleted again and again without a job.
func findFlaps(samples []sample) []string {
	lives := map[string]*life{}
	var order []*life
	for _, s := range samples {
		for uid, w := range s.workers {
			l := lives[uid]
			if l == nil {
				l = &life{name: w.name, first: s.at}
				lives[uid], order = l, append(order, l)
			}
			l.last, l.worked = s.at, l.worked || w.isBusy
		}
	}
	slices.SortStableFunc(order, func(a, b *life) int { return a.first.Compare(b.first) })
	idle, before := map[string]int{}, map[string]*life{}
	var out []string
	for _, l := range order {
		last := before[l.name]
		before[l.name] = l
		if l.worked || last == nil || l.first.Sub(last.last) > flapWindow {
			idle[l.name] = 0
		}
		if !l.worked {
			idle[l.name]++
		}
		if idle[l.name] == flapLimit+1 {
			out = append(out, fmt.Sprintf("%s: %d pods in a row without a job until %s", l.name, idle[l.name],
				l.last.Format(time.TimeOnly)))
		}
	}
	return out
}
