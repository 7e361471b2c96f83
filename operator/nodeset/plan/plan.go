package plan

import (
	"slices"
	"time"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
)

// Planner decides. Its rules are its Config and its functions; tests break those to see
// that they would notice.
type Planner struct {
	cfg      Config
	judge    func(now time.Time, wish *Wish, s *Slurm, w *Worker, since time.Time) verdict
	protects func(s *Slurm, w *Worker) bool
	// updateLimit is how many workers may be chosen for an update at a time.
	updateLimit func(*Wish) int
	// foreign reports that somebody else took a Slurm node out of service.
	foreign func(Record) bool
	// mayAdopt reports whether a worker may be tied to the NodeSet and the namespace.
	mayAdopt func(*Worker) bool
	// identify is what may be believed of a reading.
	identify func(*Wish, []Worker, Slurm) Slurm
}

// New returns a Planner.
func New(cfg Config) *Planner {
	return &Planner{
		cfg: cfg, judge: cfg.judge, protects: protects, updateLimit: func(w *Wish) int { return w.Update.MaxUnavailable },
		foreign: Record.Foreign, mayAdopt: func(*Worker) bool { return true }, identify: identify,
	}
}

// Identify is what the NodeSet may believe of what was read of Slurm.
func (p *Planner) Identify(wish *Wish, workers []Worker, s Slurm) Slurm {
	return p.identify(wish, workers, s)
}

// Plan decides what to do. It is total and deterministic: the order of what was
// seen changes nothing, and once its steps have taken effect it wants no more.
func (p *Planner) Plan(now time.Time, wish Wish, seen Seen) Todo {
	if wish.Orphaning {
		return Todo{Finished: true}
	}
	seen.Slurm = p.identify(&wish, seen.Workers, seen.Slurm)
	b := newPass(p, now.Truncate(time.Second), &wish, &seen)
	b.adopt()
	if seen.Slurm.Clash != "" && !wish.Deleting {
		return b.todo
	}
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
	// strangers are those whose Slurm node belongs to another NodeSet.
	strangers []*Worker
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
		case b.isTaken(w):
			b.strangers = append(b.strangers, w)
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
	excess := min(len(b.active), max(0, len(b.active)+len(b.strangers)-b.wish.Desired()))
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
	if b.wish.PerKubeNode {
		return w.Revision != b.wish.Revision || b.hasOldName(w)
	}
	return w.Revision != b.wish.Revision && w.Slot.Ordinal >= b.wish.Update.Partition
}

// hasOldName reports that the worker's Kubernetes node names another Slurm node than the worker's
// (hostname-override), which its replacement can be.
func (b *pass) hasOldName(w *Worker) bool {
	name := b.wish.SlurmNameOn(w.Slot.KubeNode)
	return name != "" && name != w.SlurmName && !b.mayBeAnothers(name) &&
		!slices.ContainsFunc(b.active, func(other *Worker) bool { return other.SlurmName == name })
}

// available reports that the worker is in service. It is true only of what a fresh
// reading shows.
func (b *pass) available(w *Worker) bool {
	record, known := b.slurm.Records[w.SlurmName]
	if !w.Ready || !known || record.Future || record.Down || record.Drain || record.Held || w.Cordon != "" || b.cause[w.Pod] != "" {
		return false
	}
	since := w.ReadySince.Add(b.wish.MinReady)
	b.lookAt(since)
	return !b.now.Before(since)
}

// chooseUpdates decides who is replaced now. The disruption budget, which all causes
// share, bounds how many are chosen at a time, whatever a reading shows of the others.
// Of its own choice an update takes so many out of service that, with those that are so
// anyway, there are no more than that.
func (b *pass) chooseUpdates() {
	var c candidates
	for _, w := range b.active {
		up := b.available(w)
		if up {
			c.inService++
		}
		if b.cause[w.Pod] != "" || !b.outdated(w) {
			continue
		}
		b.todo.Outdated++
		if b.wish.Update.Open {
			c.sort(w, up)
		}
	}
	b.todo.Available = c.inService
	for _, w := range c.chosen {
		b.cause[w.Pod] = v1beta1.CauseUpdate
	}
	if b.slurm.Fresh && !b.wish.Deleting {
		b.choose(&c)
	}
}

// candidates are the outdated workers: chosen before, out of service, in service, and
// those in which nothing runs, which costs nothing to replace.
type candidates struct {
	chosen, broken, serving, unstarted []*Worker
	inService                          int
}

func (c *candidates) sort(w *Worker, up bool) {
	switch {
	case w.KubeNode == "" || !w.Running:
		c.unstarted = append(c.unstarted, w)
	case w.Note.Cause == v1beta1.CauseUpdate:
		c.chosen = append(c.chosen, w)
		if up {
			c.inService-- // it is about to be drained
		}
	case up:
		c.serving = append(c.serving, w)
	default:
		c.broken = append(c.broken, w)
	}
}

// choose gives back what was chosen above the budget, and chooses as far as it goes.
func (b *pass) choose(c *candidates) {
	for _, w := range c.unstarted {
		b.cause[w.Pod] = v1beta1.CauseUpdate
	}
	limit := b.updateLimit(b.wish)
	left := limit
	for _, w := range b.slurm.sorted(c.chosen) {
		if left--; left < 0 {
			b.cause[w.Pod] = ""
		}
	}
	out := limit - max(0, b.wish.Desired()-c.inService)
	for i, w := range slices.Concat(b.slurm.sorted(c.broken), b.slurm.sorted(c.serving)) {
		serving := i >= len(c.broken)
		if left <= 0 || serving && out <= 0 {
			return
		}
		b.cause[w.Pod] = v1beta1.CauseUpdate
		left--
		if serving {
			out--
		}
	}
}
