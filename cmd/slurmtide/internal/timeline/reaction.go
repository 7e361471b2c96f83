package timeline

import "time"

// Reaction is the time from one event to another.
type Reaction struct {
	Name string
	// From is the event at which the time starts.
	From string
	Took time.Duration
	// Happened is false when the event has not happened. Took is then 0.
	Happened bool
}

// Reactions returns the times from the submission to workers in service and back to zero. Their
// precision is the interval between samples.
func (t *Timeline) Reactions() []Reaction {
	const submit, end = "submit", "last job's end"
	done, ended := t.firstSample(0, allJobsDone)
	up := func(what string, is func(Sample) bool) Reaction {
		at, ok := t.firstSample(0, is)
		return Reaction{what, submit, at, ok}
	}
	down := func(what string, is func(Sample) bool) Reaction {
		at, ok := t.firstSample(done, is)
		return Reaction{what, end, at - done, ok && ended}
	}
	return []Reaction{
		up("demand is reported", anySet(func(s Set) bool { return s.Required.Value > 0 })),
		up("replicas rise", anySet(func(s Set) bool { return s.Desired.Value > 0 })),
		up("first pod is created", anySet(func(s Set) bool { return len(s.Workers) > 0 })),
		up("first worker is in service", anySet(func(s Set) bool { return s.Count(Idle, Busy) > 0 })),
		up("first job runs", func(s Sample) bool { return s.Running.Value > 0 || s.Done.Value > 0 }),
		up("all jobs are done", allJobsDone),
		down("replicas are 0", func(s Sample) bool {
			return everySet(s,
				func(set Set) bool { return set.Desired == Known(0) })
		}),
		down("last pod is deleted", Sample.AtZero),
	}
}

// allJobsDone reports whether all jobs have ended. Jobs that can never run do not count.
func allJobsDone(s Sample) bool {
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

func everySet(s Sample, is func(Set) bool) bool {
	for _, set := range s.Sets {
		if !is(set) {
			return false
		}
	}
	return len(s.Sets) > 0
}

// firstSample returns the time of the first sample, at or after from, for which is returns true.
func (t *Timeline) firstSample(from time.Duration, is func(Sample) bool) (time.Duration, bool) {
	for _, s := range t.Samples {
		if s.At >= from && is(s) {
			return s.At, true
		}
	}
	return 0, false
}
