package plan

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"time"
)

// What the removal of a worker loses, least first.
const (
	unscheduled = iota
	notRunning
	notInService // not registered, down, or drained, without work
	idle
	busy
)

// rankOf ranks how much the removal of the worker would lose. Without a fresh reading every
// scheduled worker may be busy.
func (s *Slurm) rank(w *Worker) int {
	record, known := s.Records[w.SlurmName]
	switch {
	case w.KubeNode == "":
		return unscheduled
	case !s.Fresh, record.Busy, s.Work[w.SlurmName].Jobs > 0:
		return busy
	case !w.Running:
		return notRunning
	case !known, record.Future, record.Down, record.Held:
		return notInService
	}
	return idle
}

// compare orders workers by removal: the one to remove first is less. It compares what would be
// lost, whether the worker already drains, the deletion cost, how long it has been idle or when its
// work ends, and the ordinal, highest first.
func (s *Slurm) order(a, b *Worker) int {
	ra, rb := s.rank(a), s.rank(b)
	return cmp.Or(
		cmp.Compare(ra, rb),
		cmp.Compare(s.steady(a), s.steady(b)),
		cmp.Compare(a.Cost, b.Cost),
		s.moment(a, ra).Compare(s.moment(b, rb)),
		cmp.Compare(b.Slot.Ordinal, a.Slot.Ordinal),
		strings.Compare(b.Pod, a.Pod),
	)
}

// drainRank returns 0 for a worker that already drains, for whatever reason, else 1.
func (s *Slurm) steady(w *Worker) int {
	if w.Note.Cause != "" || w.Cordon != "" || s.Records[w.SlurmName].Drain {
		return 0
	}
	return 1
}

// tieBreakTime returns since when a worker is idle, or when its work ends.
func (s *Slurm) moment(w *Worker, rank int) time.Time {
	switch rank {
	case idle:
		return s.Records[w.SlurmName].IdleSince
	case busy:
		if end := s.Work[w.SlurmName].End; !end.IsZero() {
			return end
		}
		return time.Unix(math.MaxInt32, 0) // without a limit it ends last
	}
	return time.Time{}
}

func (s *Slurm) sorted(workers []*Worker) []*Worker {
	return slices.SortedFunc(slices.Values(workers), s.order)
}
