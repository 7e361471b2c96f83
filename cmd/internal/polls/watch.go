// Package polls logs the state of the polling of a Slurm cluster.
package polls

import (
	"context"
	"errors"
	"time"

	"github.com/slurmtide/slurmtide/cmd/internal/lines"
	"github.com/slurmtide/slurmtide/slurmclient"
)

// Watch logs changes in the polling until ctx ends: the first response, failures and recoveries. It
// logs a failure that several resources share once, and it does not repeat failures.
func Watch(ctx context.Context, cache *slurmclient.Cache, log lines.Logger) {
	w := newWatcher(log)
	var after uint64
	for {
		s, err := cache.Next(ctx, after)
		if err != nil {
			return
		}
		after = s.Sequence
		w.logChanges(s)
	}
}

type watcher struct {
	log              lines.Logger
	version, release string
	reader           slurmclient.JobsReader
	// withoutSlurmdbd is whether the cluster was logged as having no slurmdbd.
	withoutSlurmdbd bool
	// failing maps the causes of the logged failures that persist to their start times.
	failing  map[string]time.Time
	panicLog *PanicLog
}

func newWatcher(log lines.Logger) *watcher {
	return &watcher{log: log, failing: map[string]time.Time{}, panicLog: NewPanicLog(log)}
}

func (w *watcher) logChanges(s *slurmclient.Snapshot) {
	if s.Version != "" && s.Server.Release != "" && (s.Version != w.version || s.Server.Release != w.release) {
		w.version, w.release = s.Version, s.Server.Release
		w.log.Info("reading a cluster", "name", s.Server.Cluster, "release", s.Server.Release, "version", s.Version)
	}
	if by := s.Jobs.Reader; by != "" && by != w.reader {
		w.reader = by
		w.log.Info("reading jobs", "reader", by)
	}
	if lonely := s.QOS.Absent || s.Associations.Absent; lonely != w.withoutSlurmdbd {
		w.withoutSlurmdbd = lonely
		if lonely {
			w.log.Info("the cluster has no slurmdbd, so there are no limits of QOS and associations")
		}
	}
	now := map[string]bool{}
	for _, p := range s.Polls() {
		if p.Err == nil {
			continue
		}
		cause, hint := explainFailure(p.Resource, p.Err)
		now[cause] = true
		if _, logged := w.failing[cause]; !logged {
			w.failing[cause] = p.FailingSince
			if slurmclient.PanicOf(p.Err) != nil {
				w.panicLog.Log(p.Err, "what", cause)
			}
			w.log.Warn("polling fails, serving the last values", "what", cause, "err", p.Err, "hint", hint)
		}
	}
	for cause, since := range w.failing {
		if !now[cause] {
			delete(w.failing, cause)
			w.log.Info("polling works again", "what", cause, "after", time.Since(since).Round(time.Second))
		}
	}
}

// accessDenied is Slurm's error number (ESLURM_ACCESS_DENIED) for a valid token of a user without the required rights.
const accessDenied = 2002

// explainFailure returns the cause of a failing poll and a hint. Polls with the same cause count as
// one failure.
func explainFailure(r slurmclient.Resource, err error) (cause, hint string) {
	var e *slurmclient.Error
	switch slurmclient.CodeOf(err) {
	case slurmclient.CodeUnauthorized:
		if errors.As(err, &e) && e.Number == accessDenied {
			return "rights", "PrivateData of slurm.conf hides this from the token's user: give the user AdminLevel=Operator"
		}
		return "token", "check the token: it may be expired, signed with another key, or belong to a user without " +
			"permission"
	case slurmclient.CodeUnsupported:
		if ofSlurmdbd(r) {
			return "slurmdbd", "start slurmrestd with the slurmdbd plugins too, such as -s slurmctld,slurmdbd: the " +
				"limits of QOS and associations are unknown without them"
		}
		return "version", "drop --slurm.api-version, or use a slurmrestd of Slurm 23.11 or later"
	case slurmclient.CodeUnavailable:
		if errors.As(err, &e) && e.Status == 0 {
			return "slurmrestd", "check that slurmrestd runs and that its address is right"
		}
	}
	if ofSlurmdbd(r) {
		return string(r), "check slurmdbd"
	}
	return string(r), "check that slurmctld runs and what slurmrestd logs"
}

// ofSlurmdbd reports whether the resource comes from slurmdbd.
func ofSlurmdbd(r slurmclient.Resource) bool {
	switch r {
	case slurmclient.QOS, slurmclient.Associations, slurmclient.Accounts, slurmclient.Users:
		return true
	}
	return false
}
