package timeline

import (
	"cmp"
	"slices"
	"strings"
	"time"
)

// Interval is a time during which a worker stayed in one state.
type Interval struct {
	From, To time.Duration
	State    State
}

// Lane is the history of one worker.
type Lane struct {
	Set, Worker string
	Intervals   []Interval
}

// Lanes returns the history of every worker, ordered by set and name. Times at which the set was
// not read belong to no interval.
func (t *Timeline) Lanes() []Lane {
	var lanes []Lane
	at := map[string]int{}
	for i, sample := range t.Samples {
		end := sample.At
		if i+1 < len(t.Samples) {
			end = t.Samples[i+1].At
		}
		for _, set := range sample.Sets {
			for _, w := range set.Workers {
				key := set.Name + "/" + w.Name
				n, ok := at[key]
				if !ok {
					n = len(lanes)
					at[key] = n
					lanes = append(lanes, Lane{Set: set.Name, Worker: w.Name})
				}
				lanes[n].addInterval(Interval{sample.At, end, w.State})
			}
		}
	}
	order := t.setOrder()
	slices.SortStableFunc(lanes, func(a, b Lane) int {
		if a.Set != b.Set {
			return order[a.Set] - order[b.Set]
		}
		return CompareNumbered(a.Worker, b.Worker)
	})
	return lanes
}

// addInterval extends the last interval or starts a new one.
func (l *Lane) addInterval(s Interval) {
	if n := len(l.Intervals); n > 0 && l.Intervals[n-1].To == s.From && l.Intervals[n-1].State == s.State {
		l.Intervals[n-1].To = s.To
		return
	}
	l.Intervals = append(l.Intervals, s)
}

// setOrder returns the position of each set in the samples.
func (t *Timeline) setOrder() map[string]int {
	order := map[string]int{}
	for _, sample := range t.Samples {
		for _, set := range sample.Sets {
			if _, ok := order[set.Name]; !ok {
				order[set.Name] = len(order)
			}
		}
	}
	return order
}

// CompareNumbered compares names such as cpu-2 and cpu-10: by what precedes the number at the end,
// then by the number.
func CompareNumbered(a, b string) int {
	prefixA, numberA := splitNumber(a)
	prefixB, numberB := splitNumber(b)
	return cmp.Or(strings.Compare(prefixA, prefixB), cmp.Compare(len(numberA), len(numberB)),
		strings.Compare(numberA, numberB), strings.Compare(a, b))
}

// splitNumber splits the number at the end from a name. It drops leading zeros, so that a longer
// number is larger.
func splitNumber(name string) (prefix, number string) {
	prefix = strings.TrimRight(name, "0123456789")
	return prefix, strings.TrimLeft(name[len(prefix):], "0")
}
