package pacing

import (
	"math/rand/v2"
	"time"
)

// maxBackoff limits the pause after failures, so that a recovered server is noticed soon.
const maxBackoff = 30 * time.Second

// PauseAfter returns how long to pause after a poll: at least the period, and longer if polling would otherwise exceed its share of the
// time. Every failure after the first one doubles the pause, up to eight periods or maxBackoff, whichever is shorter. The duration of a
// failed poll shows how long slurmrestd waits for a silent slurmctld, not the cost of polls. It therefore extends the pause to at most that
// duration, and not beyond maxBackoff.
func PauseAfter(period, took time.Duration, share float64, failures int) time.Duration {
	if failures == 0 {
		return max(period, time.Duration(float64(took)*(1-share)/share))
	}
	most := max(period, min(8*period, maxBackoff))
	return max(min(most, period<<min(failures-1, 10)), min(took, maxBackoff))
}

// catchUpShare is the largest fraction of time that a poll may spend on records in doubt. The whole reading is as old as the oldest record
// in doubt.
const catchUpShare = 0.5

// Spent returns how much of the time of a poll counts for PauseAfter, of which it took catchUp for records in doubt.
func Spent(took, catchUp time.Duration, share float64) time.Duration {
	if share >= catchUpShare {
		return took
	}
	weight := share / (1 - share) * (1 - catchUpShare) / catchUpShare
	return took - catchUp + time.Duration(float64(catchUp)*weight)
}

// AddJitter varies the pause by up to a tenth in both directions, to spread the polls of many clients.
func AddJitter(pause time.Duration) time.Duration {
	if pause < 10 {
		return pause
	}
	return pause - pause/10 + rand.N(pause/5)
}
