package view

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"
)

func TestVersions(t *testing.T) {
	for range 1000 {
		at, age := time.UnixMilli(rand.Int64N(1<<42)), time.Duration(rand.Int64N(int64(20*time.Minute)))
		replica := newReplica()
		v := newVersion(at, replica, age)
		if at.UnixMilli() > 0 && !v.at().Equal(at) || v.replica() != replica || int64(v) < 0 {
			t.Errorf("the version of %s at %s is of %s at %s", at, replica, v.at(), v.replica())
		}
		since, known := v.factsSince()
		rounding := time.Duration(2*math.Sqrt(float64(age)*float64(ageUnit))) + 2*ageUnit
		if known && (since.After(at.Add(-age)) || since.Before(at.Add(-age-rounding))) {
			t.Errorf("facts that were %s old are of %s before", age, at.Sub(since))
		}
		if !known && age < 10*time.Minute {
			t.Errorf("an age of %s is unknown", age)
		}
		if w := v.partial(); w <= v || w >= v.next() || w != w.partial() || w.replica() != replica || !w.isPartial() || v.isPartial() ||
			!w.at().Equal(v.at()) || w.next().isPartial() {
			t.Errorf("the partial version of %d is %d", v, w)
		}
		if w := v.partial().unusable(7); w <= v.partial() || w.replica() != 7 || !w.isPartial() {
			t.Errorf("the unusable version after %d is %d", v, w)
		} else if _, known := w.factsSince(); known {
			t.Errorf("the age of the unusable version %d is known", w)
		}
		if later := newVersion(at.Add(time.Millisecond), newReplica(), 0); later <= v {
			t.Errorf("%d is not later than %d, of another replica", later, v)
		}
	}
}
