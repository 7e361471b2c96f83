package slurmrestd

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/slurmtide/slurmtide/slurmclient/slurm"
	"github.com/slurmtide/slurmtide/slurmclient/slurmtest/internal/errno"
	"github.com/slurmtide/slurmtide/slurmclient/slurmtest/internal/slurmctld"
)

// parseUpdateTime parses update_time; 0 means none. If it is invalid, parseUpdateTime answers with
// an error and returns false.
func (k *call) parseUpdateTime(status int) (slurm.Time, bool) {
	text := k.r.URL.Query().Get("update_time")
	if text == "" || text == "0" {
		return 0, true
	}
	epoch, uts := strings.CutPrefix(text, "uts")
	n, err := strconv.ParseInt(epoch, 10, 64)
	plainRefused := k.version < "v0.0.42"
	if err != nil || plainRefused && !uts {
		number := -1
		if status == http.StatusUnprocessableEntity {
			number = 9000
		}
		k.failAbout(status, number, "Parsing of "+text+" for timestamp failed")
		return 0, false
	}
	return slurm.Time(n), true
}

// isUnchanged is slurmctld's rule, whose resolution is one second.
func isUnchanged(since, changed slurm.Time) bool { return since > 0 && since-1 >= changed }

// answerNotModified answers an unchanged list of nodes, partitions or reservations.
func (k *call) answerNotModified() { k.w.WriteHeader(http.StatusNotModified) }

// answerNoJobChanges answers an unchanged list of jobs: a list without jobs, and a warning.
func (k *call) answerNoJobChanges(since slurm.Time) {
	text := fmt.Sprintf("No job changes since update_time[%d]=%s", since,
		since.Time().UTC().Format("2006-01-02T15:04:05"))
	k.answer(http.StatusOK, func(o *answerWriter) {
		writeList(o, "jobs", k.recordWriters.job, nil)
		writeTime(o, "last_backfill", 0)
		writeTime(o, "last_update", 0)
	}, nil, []problem{{description: text, source: "op_handler_jobs"}})
}

// showFlags is the parsed ?flags=.
type showFlags struct {
	future, mixed bool
	// status is the HTTP status of the answer: an unknown word is an error with a full body.
	status int
	errs   []problem
}

// parseShowFlags parses ?flags=, which may be repeated. If the words are joined by commas, it
// answers with an error and returns false.
func (k *call) parseShowFlags() (showFlags, bool) {
	f := showFlags{mixed: true, status: http.StatusOK}
	words := k.r.URL.Query()["flags"]
	if len(words) == 0 {
		return f, true
	}
	if strings.Contains(k.r.URL.RawQuery, ",") {
		status, text := http.StatusInternalServerError, "Unspecified error"
		if k.cfg.Release == slurmctld.Release2411 {
			status, text = http.StatusBadRequest, "Bad request"
		}
		writePlainText(k.w, status, text)
		return f, false
	}
	f.mixed = false
	for _, word := range words {
		switch word {
		case "FUTURE":
			f.future = true
		case "MIXED":
			f.mixed = true
		case "ALL", "DETAIL", "LOCAL", "SIBLING", "FEDERATION":
		default:
			if k.version >= "v0.0.41" {
				f.status = http.StatusInternalServerError
				f.errs = []problem{{-1, errno.Text(-1), "Unknown flag " + word, "data_parser"}}
			}
		}
	}
	return f, true
}

// sleepUnlessDone sleeps for d and reports whether it did. It returns false early when the request
// ends.
func sleepUnlessDone(r *http.Request, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-r.Context().Done():
		return false
	case <-t.C:
		return true
	}
}
