// Package polls logs how the polling of a Slurm cluster goes.
package polls

import (
	"context"
	"errors"
	"time"

	"github.com/slurmtide/slurmtide/cmd/internal/lines"
	"github.com/slurmtide/slurmtide/slurmclient"
)

// Watch logs what changes in the polling: the first answer, what begins to fail
// and what recovers. A failure that many resources share is told once, and none
// is repeated.
func Watch(ctx context.Context, cache *slurmclient.Cache, log lines.Logger) {
	w := newWatcher(log)
	var after uint64
	for {
		s, err := cache.Next(ctx, after)
		if err != nil {
			return
		}
		after = s.Sequence
		w.see(s)
	}
}

type watcher struct {
	log              lines.Logger
	version, release string
	reader           slurmclient.JobsReader
	// lonely is whether the cluster was told to have no slurmdbd.
	lonely bool
	// failing holds the failures told and not over yet, by cause.
	failing map[string]time.Time
	stacks  *Stacks
}

func newWatcher(log lines.Logger) *watcher {
	return &watcher{log: log, failing: map[string]time.Time{}, stacks: NewStacks(log)}
}

func (w *watcher) see(s *slurmclient.Snapshot) {
	if s.Version != "" && s.Server.Release != "" && (s.Version != w.version || s.Server.Release != w.release) {
		w.version, w.release = s.Version, s.Server.Release
		w.log.Info("reading a cluster", "name", s.Server.Cluster, "release", s.Server.Release, "version", s.Version)
	}
	if by := s.Jobs.Reader; by != "" && by != w.reader {
		w.reader = by
		w.log.Info("reading jobs", "reader", by)
	}
	if lonely := s.QOS.Absent || s.Associations.Absent; lonely != w.lonely {
		w.lonely = lonely
		if lonely {
			w.log.Info("the cluster has no slurmdbd, so there are no limits of QOS and associations")
		}
	}
	now := map[string]bool{}
	for _, p := range s.Polls() {
		if p.Err == nil {
			continue
		}
		cause, hint := explain(p.Resource, p.Err)
		now[cause] = true
		if _, told := w.failing[cause]; !told {
			w.failing[cause] = p.FailingSince
			if slurmclient.PanicOf(p.Err) != nil {
				w.stacks.Log(p.Err, "what", cause)
			}
			w.log.Warn("polling fails, the last values are served meanwhile", "what", cause, "err", p.Err, "hint", hint)
		}
	}
	for cause, since := range w.failing {
		if !now[cause] {
			delete(w.failing, cause)
			w.log.Info("polling works again", "what", cause, "after", time.Since(since).Round(time.Second))
		}
	}
}

// explain names the cause of a failing poll and says what to do about it.
// Failures of one cause are one failure.
func explain(r slurmclient.Resource, err error) (cause, hint string) {
	var e *slurmclient.Error
	switch slurmclient.CodeOf(err) {
	case slurmclient.CodeUnauthorized:
		return "token", "check the token: it may be expired, signed with another key, or of a user without rights"
	case slurmclient.CodeUnsupported:
		if ofSlurmdbd(r) {
			return "slurmdbd", "let slurmrestd serve slurmdbd too, as with -s slurmctld,slurmdbd: limits of QOS and associations are unknown without it"
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

// ofSlurmdbd reports whether slurmdbd keeps the resource.
func ofSlurmdbd(r slurmclient.Resource) bool {
	switch r {
	case slurmclient.QOS, slurmclient.Associations, slurmclient.Accounts, slurmclient.Users:
		return true
	}
	return false
}
