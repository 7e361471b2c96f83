package plan

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"time"
)

// The loss when a worker is removed, smallest first.
const (
	rankUnscheduled = iota
	rankNotRunning
	rankNotInService // not registered, down, or drained, without work
	rankIdle
	rankBusy
)

// rankOf ranks the loss when the worker is removed. Without a fresh reading every scheduled worker may be
// busy.
func (s *SlurmReading) rankOf(w *Worker) int {
	record, known := s.Records[w.SlurmName]
	switch {
	case w.KubeNode == "":
		return rankUnscheduled
	case !s.Fresh, record.Busy, s.Work[w.SlurmName].Jobs > 0:
		return rankBusy
	case !w.Running:
		return rankNotRunning
	case !known, record.Future, record.Down, record.DownByOthers:
		return rankNotInService
	}
	return rankIdle
}

// compare orders workers by removal: the one to remove first is less. It compares the loss, whether the
// worker already drains, the deletion cost, how long it has been idle or when its work ends, and the ordinal,
// highest first.
func (s *SlurmReading) compare(a, b *Worker) int {
	ra, rb := s.rankOf(a), s.rankOf(b)
	return cmp.Or(
		cmp.Compare(ra, rb),
		cmp.Compare(s.drainRank(a), s.drainRank(b)),
		cmp.Compare(a.DeletionCost, b.DeletionCost),
		s.tieBreakTime(a, ra).Compare(s.tieBreakTime(b, rb)),
		cmp.Compare(b.Slot.Ordinal, a.Slot.Ordinal),
		strings.Compare(b.Pod, a.Pod),
	)
}

// drainRank returns 0 for a worker that already drains, for any reason, else 1.
func (s *SlurmReading) drainRank(w *Worker) int {
	if w.DrainMark.Cause != "" || w.CordonReason != "" || s.Records[w.SlurmName].Drain {
		return 0
	}
	return 1
}

// tieBreakTime returns since when a worker is idle, or when its work ends.
func (s *SlurmReading) tieBreakTime(w *Worker, rank int) time.Time {
	switch rank {
	case rankIdle:
		return s.Records[w.SlurmName].IdleSince
	case rankBusy:
		if end := s.Work[w.SlurmName].End; !end.IsZero() {
			return end
		}
		return time.Unix(math.MaxInt32, 0) // without a limit it ends last
	}
	return time.Time{}
}

func (s *SlurmReading) sorted(workers []*Worker) []*Worker {
	return slices.SortedFunc(slices.Values(workers), s.compare)
}
