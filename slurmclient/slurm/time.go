package slurm

import (
	"math"
	"time"
)

// Time is a time in Unix seconds by slurmctld's clock. The zero value is an unset time: a job that has not started has
// StartTime 0.
type Time int64

// Never is the Time of something that does not happen, such as the end of a job without a time limit.
const Never Time = math.MaxInt64

// At returns the Time of t, truncated to whole seconds. It returns 0 for the zero time.Time.
func At(t time.Time) Time {
	if t.IsZero() {
		return 0
	}
	return Time(t.Unix())
}

// IsSet reports whether there is a time. It is true for Never.
func (t Time) IsSet() bool { return t > 0 }

// Time returns the time as a time.Time, which is zero if t is not set or Never.
func (t Time) Time() time.Time {
	if t <= 0 || t == Never {
		return time.Time{}
	}
	return time.Unix(int64(t), 0)
}

// Sub returns t-u as a duration. Both must be set and not Never.
func (t Time) Sub(u Time) time.Duration { return time.Duration(t-u) * time.Second }
