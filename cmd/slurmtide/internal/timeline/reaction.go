package timeline

import "time"

// Reaction is how long something took, and from when on.
type Reaction struct {
	What string
	// From is what it is counted from.
	From string
	Took time.Duration
	// Seen is false when it has not happened; Took then means nothing.
	Seen bool
}

// Reactions tells how long the steps took from jobs to workers, and back to zero. They
// are as exact as samples are close.
func (t *Timeline) Reactions() []Reaction {
	const submit, end = "submit", "last job's end"
	done, ended := t.first(0, over)
	up := func(what string, is func(Sample) bool) Reaction {
		at, ok := t.first(0, is)
		return Reaction{what, submit, at, ok}
	}
	down := func(what string, is func(Sample) bool) Reaction {
		at, ok := t.first(done, is)
		return Reaction{what, end, at - done, ok && ended}
	}
	return []Reaction{
		up("need is seen", anySet(func(s Set) bool { return s.Required.Value > 0 })),
		up("replicas rise", anySet(func(s Set) bool { return s.Desired.Value > 0 })),
		up("first pod is made", anySet(func(s Set) bool { return len(s.Workers) > 0 })),
		up("first worker is in service", anySet(func(s Set) bool { return s.Count(Idle, Busy) > 0 })),
		up("first job runs", func(s Sample) bool { return s.Running.Value > 0 || s.Done.Value > 0 }),
		up("all jobs are done", over),
		down("replicas are 0", func(s Sample) bool { return all(s, func(set Set) bool { return set.Desired == Known(0) }) }),
		down("last pod is gone", Sample.AtZero),
	}
}

// over reports that all jobs have ended. One that can never run is in no count.
func over(s Sample) bool {
	return s.Jobs > 0 && s.Done == Known(s.Jobs)
}

func anySet(is func(Set) bool) func(Sample) bool {
	return func(s Sample) bool {
		for _, set := range s.Sets {
			if is(set) {
				return true
			}
		}
		return false
	}
}

func all(s Sample, is func(Set) bool) bool {
	for _, set := range s.Sets {
		if !is(set) {
			return false
		}
	}
	return len(s.Sets) > 0
}

// first is the time of the first sample from a time on of which something is so.
func (t *Timeline) first(from time.Duration, is func(Sample) bool) (time.Duration, bool) {
	for _, s := range t.Samples {
		if s.At >= from && is(s) {
			return s.At, true
		}
	}
	return 0, false
}
