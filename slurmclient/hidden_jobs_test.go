package slurmclient

import (
	"testing"
	"time"
)

// TestNumberOfHiddenJobs: with large arrays the states of all tasks are too many to ask for. What slurmctld counts may be half a minute
// old.
func TestNumberOfHiddenJobs(t *testing.T) {
	type count struct{ counted, sent uint64 }
	for name, tc := range map[string]struct {
		counts []count
		hidden bool
		due    time.Duration
	}{
		"as many":               {[]count{{100_000, 100_000}}, false, hiddenCheckInterval},
		"more have ended since": {[]count{{100_900, 100_000}}, false, hiddenCheckInterval},
		"none of many":          {[]count{{100_000, 0}}, false, recountAfter},
		"none of many, still":   {[]count{{100_000, 0}, {99_000, 0}}, true, recountAfter},
		"an array has ended":    {[]count{{100_000, 0}, {0, 0}}, false, hiddenCheckInterval},
		"again after a while":   {[]count{{100_000, 0}, {0, 0}, {100_000, 0}}, false, recountAfter},
	} {
		now := time.Unix(1795219836, 0)
		h := hiddenJobs{now: func() time.Time { return now }}
		var err error
		for _, c := range tc.counts {
			err = h.checkNumber(c.counted, c.sent)
		}
		if hidden := CodeOf(err) == CodeUnauthorized; hidden != tc.hidden || h.due.Sub(now) != tc.due {
			t.Errorf("%s: %v, and the next check after %s", name, err, h.due.Sub(now))
		}
	}
}
