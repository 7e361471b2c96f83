package plan

import (
	"slices"
	"time"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
)

// Planner decides. Its rules are its Config, and judge; tests break judge to see
// that they would notice.
type Planner struct {
	cfg   Config
	judge func(now time.Time, wish *Wish, s *Slurm, w *Worker, since time.Time) verdict
	// mayUndrain reports whether a drain may be taken back.
	mayUndrain func(Record) bool
}

// New returns a Planner.
func New(cfg Config) *Planner {
	return &Planner{cfg: cfg, judge: cfg.judge, mayUndrain: func(r Record) bool { return r.Ours }}
}

// Plan decides what to do. It is total and deterministic: the order of what was
// seen changes nothing, and once its steps have taken effect it wants no more.
func (p *Planner) Plan(now time.Time, wish Wish, seen Seen) Todo {
	b := newPass(p, now.Truncate(time.Second), &wish, &seen)
	b.chooseExits()
	b.chooseUpdates()
	b.create()
	b.note()
	b.undrain()
	b.drain()
	b.remove()
	b.records()
	b.finish()
	return b.todo
}

// pass is one run of Plan.
type pass struct {
	*Planner
	now   time.Time
	wish  *Wish
	seen  *Seen
	slurm *Slurm
	todo  Todo
	// active are the workers that count, by name; finished have ended, going are
	// deleted.
	active, finished, going []*Worker
	// cause is why an active worker is to go, by pod.
	cause map[string]string
	// taken are the Slurm names of pods, those that are about to be created too.
	taken map[string]bool
}

func newPass(p *Planner, now time.Time, wish *Wish, seen *Seen) *pass {
	b := &pass{Planner: p, now: now, wish: wish, seen: seen, slurm: &seen.Slurm, cause: map[string]string{}, taken: map[string]bool{}}
	for _, w := range sortedByName(seen.Workers) {
		b.taken[w.SlurmName] = true
		switch {
		case !w.Going.IsZero():
			b.going = append(b.going, w)
		case w.Finished:
			b.finished = append(b.finished, w)
		default:
			b.active = append(b.active, w)
			b.cause[w.Pod] = ""
		}
	}
	return b
}

func (b *pass) add(s Step) { b.todo.Steps = append(b.todo.Steps, s) }

// lookAt remembers that something is due then.
func (b *pass) lookAt(t time.Time) {
	if d := t.Sub(b.now); d > 0 && (b.todo.Again == 0 || d < b.todo.Again) {
		b.todo.Again = d
	}
}

// chooseExits decides who goes for good.
func (b *pass) chooseExits() {
	switch {
	case b.wish.Deleting:
		for _, w := range b.active {
			b.cause[w.Pod] = v1beta1.CauseDeletion
		}
	case b.wish.PerKubeNode:
		b.chooseMisplaced()
	default:
		b.chooseExcess()
	}
	for _, c := range b.cause {
		if c != "" {
			b.todo.Exits++
		}
	}
}

// chooseExcess keeps those that were chosen as long as there is an excess, and
// chooses more when it grew. Without a fresh reading only those that were never
// scheduled are chosen: any other may be busy. Among those with work none is chosen
// before it is known what work all of them have.
func (b *pass) chooseExcess() {
	var chosen, others []*Worker
	for _, w := range b.active {
		if w.Note.Cause == v1beta1.CauseScaleIn {
			chosen = append(chosen, w)
		} else {
			others = append(others, w)
		}
	}
	excess := max(0, len(b.active)-b.wish.Desired())
	chosen = b.slurm.sorted(chosen)
	for _, w := range b.slurm.sorted(others) {
		if len(chosen) >= excess {
			break
		}
		if b.slurm.rank(w) == busy && b.unlisted() {
			b.lookAt(b.now.Add(unlistedWithin))
			break
		}
		if b.slurm.Fresh || w.KubeNode == "" {
			chosen = append(chosen, w)
		}
	}
	for _, w := range chosen[:min(len(chosen), excess)] {
		b.cause[w.Pod] = v1beta1.CauseScaleIn
	}
}

// unlistedWithin is when to look again whether jobs were listed.
const unlistedWithin = 2 * time.Second

// unlisted reports that a worker has work that began after the jobs were last listed: it
// may be the one that ends first. The list comes before long.
func (b *pass) unlisted() bool {
	return b.slurm.Fresh && b.slurm.JobsReadAt.Before(b.slurm.NodesReadAt) && slices.ContainsFunc(b.active, func(w *Worker) bool {
		return b.slurm.Records[w.SlurmName].Busy && b.slurm.Work[w.SlurmName].Jobs == 0
	})
}

// chooseMisplaced chooses workers on Kubernetes nodes that should have none, and
// all but the oldest where there are several.
func (b *pass) chooseMisplaced() {
	wanted := map[string]bool{}
	for _, n := range b.wish.KubeNodes {
		wanted[n] = true
	}
	holder := map[string]*Worker{}
	for _, w := range b.active {
		if h := holder[w.Slot.KubeNode]; h == nil || w.Created.Before(h.Created) {
			holder[w.Slot.KubeNode] = w
		}
	}
	for _, w := range b.active {
		if !wanted[w.Slot.KubeNode] || holder[w.Slot.KubeNode] != w {
			b.cause[w.Pod] = v1beta1.CauseScaleIn
		}
	}
}

// outdated reports that the worker is to change to the newest revision.
func (b *pass) outdated(w *Worker) bool {
	return w.Revision != b.wish.Revision && (b.wish.PerKubeNode || w.Slot.Ordinal >= b.wish.Update.Partition)
}

// available reports that the worker is in service. It is true only of what a fresh
// reading shows.
func (b *pass) available(w *Worker) bool {
	record, known := b.slurm.Records[w.SlurmName]
	if !w.Ready || !known || record.Future || record.Down || record.Drain || w.Cordon != "" || b.cause[w.Pod] != "" {
		return false
	}
	since := w.ReadySince.Add(b.wish.MinReady)
	b.lookAt(since)
	return !b.now.Before(since)
}

// chooseUpdates decides who is replaced now, within the disruption budget that all
// causes share: so many of the desired workers may be out of service, for whatever
// reason. Workers that are so anyway cost nothing.
func (b *pass) chooseUpdates() {
	var idle, serving []*Worker
	inService := 0
	for _, w := range b.active {
		up := b.available(w)
		if up {
			inService++
		}
		switch {
		case b.cause[w.Pod] != "":
		case b.outdated(w):
			b.todo.Outdated++
			if !b.wish.Update.Open {
				continue
			}
			switch {
			case w.Note.Cause == v1beta1.CauseUpdate:
				b.cause[w.Pod] = v1beta1.CauseUpdate
				if up {
					inService-- // it is about to be drained
				}
			case up:
				serving = append(serving, w)
			default:
				idle = append(idle, w)
			}
		}
	}
	b.todo.Available = inService
	if !b.slurm.Fresh || b.wish.Deleting {
		return
	}
	for _, w := range idle {
		b.cause[w.Pod] = v1beta1.CauseUpdate
	}
	budget := b.wish.Update.MaxUnavailable - max(0, b.wish.Desired()-inService)
	serving = b.slurm.sorted(serving)
	for _, w := range serving[:min(len(serving), max(0, budget))] {
		b.cause[w.Pod] = v1beta1.CauseUpdate
	}
}
