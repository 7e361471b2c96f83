package slurmclient

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/slurmtide/slurmtide/slurmclient/internal/delta"
	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

const (
	// hiddenCheckInterval is how often jobs are looked for that the user of the token may not see.
	hiddenCheckInterval = 5 * time.Minute
	// maxHiddenSuspects is how many jobs that no list has are looked at. The oldest come first: new ones are no suspects for long.
	maxHiddenSuspects = 3
	// recountAfter is the pause before a count that is too high is checked again. ordinaryDifference is how many jobs may have ended between
	// the two readings.
	recountAfter       = time.Minute
	ordinaryDifference = 1000
)

// hiddenJobs detects whether slurmctld hides the jobs of other users. With PrivateData=jobs, users see only their own job records, except
// for SlurmUser, root, operators and administrators. But slurmctld sends the states and the number of all jobs to every user (measured,
// docs/development/slurm.md, "PrivateData"). All versions of the API have states.
type hiddenJobs struct {
	client *Client
	now    func() time.Time
	due    time.Time
	// found is the error of the last check that came to a result, nil if no jobs are hidden.
	found error
	// doubtful is set while slurmctld counts many more jobs than it sends.
	doubtful bool
}

// checkComplete returns an error if job records are hidden. It checks at intervals, and in each poll while records are hidden. If a check
// fails, the last result remains valid and the next poll tries again.
func (h *hiddenJobs) checkComplete(ctx context.Context, jobs []*slurm.Job) error {
	if h.now().Before(h.due) {
		return nil
	}
	if result, known := h.findHidden(ctx, jobs); known {
		h.found = result
	}
	return h.found
}

// findHidden returns an error if the records of jobs are hidden; known is false if slurmctld did not answer.
func (h *hiddenJobs) findHidden(ctx context.Context, jobs []*slurm.Job) (result error, known bool) { //nolint:revive // the error is the result
	stats, err := h.client.Stats(ctx)
	if err != nil {
		return nil, false
	}
	if !delta.AreStatesCheap(jobs, stats) {
		return h.checkNumber(stats.JobsPending+stats.JobsRunning, delta.CountTasks(jobs)), true
	}
	states, err := h.client.allJobStates(ctx)
	if err != nil {
		return nil, false
	}
	for _, id := range suspectsOf(states, jobs) {
		hidden, err := h.isHidden(ctx, id)
		if err != nil {
			return nil, false
		}
		if hidden {
			return hiddenError("job %d has a state and no record", id), true
		}
	}
	h.due = h.now().Add(hiddenCheckInterval)
	return nil, true
}

// checkNumber returns an error if slurmctld counts many more jobs and array tasks than it sends, twice in a row. It waits between the two
// checks because slurmctld's count is up to half a minute old.
func (h *hiddenJobs) checkNumber(counted, sent uint64) error {
	isDoubtful := counted > 2*sent+ordinaryDifference
	switch {
	case isDoubtful && h.doubtful:
		return hiddenError("slurmctld counts %d jobs and array tasks, and sends %d", counted, sent)
	case isDoubtful:
		h.doubtful, h.due = true, h.now().Add(recountAfter)
	default:
		h.doubtful, h.due = false, h.now().Add(hiddenCheckInterval)
	}
	return nil
}

func hiddenError(format string, args ...any) error {
	return &Error{Code: CodeUnauthorized, Op: "listing jobs", Message: fmt.Sprintf(format, args...) + ": PrivateData hides jobs from the " +
		"user of the token, who must be SlurmUser, an operator or an administrator (sacctmgr modify user NAME set adminlevel=Operator)"}
}

// isHidden reports whether a job exists and has no record. It may be new, or have been purged.
func (h *hiddenJobs) isHidden(ctx context.Context, id uint32) (bool, error) {
	_, err := h.client.Job(ctx, id)
	if err == nil || !IsNotFound(err) {
		return false, err
	}
	states, err := h.client.JobStates(ctx, id)
	return len(states) > 0, err
}

// suspectsOf returns a few jobs that have a state and no record, the oldest first.
func suspectsOf(states []slurm.JobStatus, jobs []*slurm.Job) []uint32 {
	has := make(map[uint32]bool, len(jobs))
	for _, j := range jobs {
		has[cmp.Or(j.ArrayJobID, j.HetJobID, j.ID)] = true
	}
	var out []uint32
	for i := range states {
		if id := states[i].ID; !has[id] {
			has[id] = true
			out = append(out, id)
		}
	}
	slices.Sort(out)
	return out[:min(len(out), maxHiddenSuspects)]
}
