package plan

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"time"
)

// What a worker loses by going, least first.
const (
	unscheduled = iota
	notRunning
	notInService // not registered, down, or drained, without work
	idle
	busy
)

// rank says how much would be lost with the worker. Without a fresh reading every
// scheduled one may be busy.
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

// order compares two workers: the one that goes first is less. First what would be
// lost, then those that drain already, lower deletion cost, idle for longer or
// work that ends sooner, higher ordinal.
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

// steady is 0 for a worker that drains already, for whatever reason, else 1.
func (s *Slurm) steady(w *Worker) int {
	if w.Note.Cause != "" || w.Cordon != "" || s.Records[w.SlurmName].Drain {
		return 0
	}
	return 1
}

// moment is since when a worker is idle, or when its work ends.
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
