package plan

import (
	"slices"
	"time"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
)

// Planner decides what to do with the workers of a NodeSet. Its rules are its Config and its
// functions. Tests replace those functions to check that they notice a broken rule.
type Planner struct {
	cfg      Config
	judge    func(now time.Time, desired *Wish, s *Slurm, w *Worker, since time.Time) verdict
	protects func(s *Slurm, w *Worker) bool
	// updateLimit is how many workers may be chosen for an update at a time.
	updateLimit func(*Wish) int
	// outOfServiceByOthers reports whether somebody else took a Slurm node out of service.
	foreign func(Record) bool
	// mayAdopt reports whether the missing owners of a worker may be added.
	mayAdopt func(*Worker) bool
	// filterReading returns the part of a reading that the NodeSet may trust.
	identify func(*Wish, []Worker, Slurm) Slurm
}

// New returns a Planner with the given limits.
func New(cfg Config) *Planner {
	return &Planner{
		cfg: cfg, judge: cfg.judge, protects: protects, updateLimit: func(w *Wish) int { return w.Update.MaxUnavailable },
		foreign: Record.Foreign, mayAdopt: func(*Worker) bool { return true }, identify: identify,
	}
}

// FilterReading returns the part of a Slurm reading that the NodeSet may trust.
func (p *Planner) Identify(desired *Wish, workers []Worker, s Slurm) Slurm {
	return p.identify(desired, workers, s)
}

// Plan decides what to do. It is total and deterministic: the order of the observed workers does
// not matter, and once its steps have taken effect it returns no more.
func (p *Planner) Plan(now time.Time, desired Wish, observed Seen) Todo {
	if desired.Orphaning {
		return Todo{Finished: true}
	}
	observed.Slurm = p.identify(&desired, observed.Workers, observed.Slurm)
	b := newPass(p, now.Truncate(time.Second), &desired, &observed)
	b.adopt()
	if observed.Slurm.Clash != "" && !desired.Deleting {
		return b.actions
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
	return b.actions
}

// planRun is one run of Plan.
type pass struct {
	*Planner
	now      time.Time
	desired  *Wish
	observed *Seen
	slurm    *Slurm
	actions  Todo
	// active are the workers that count, sorted by name. The containers of finished ones have
	// ended, and deleting ones have a deletion timestamp.
	active, finished, going []*Worker
	// ownedByOthers are the workers whose Slurm node belongs to another NodeSet.
	strangers []*Worker
	// causes is why each active worker is to be removed, by pod; empty for a worker that stays.
	cause map[string]string
	// usedSlurmNames are the Slurm node names of all pods, including those about to be created.
	taken map[string]bool
}

func newPass(p *Planner, now time.Time, desired *Wish, observed *Seen) *pass {
	b := &pass{Planner: p, now: now, desired: desired, observed: observed, slurm: &observed.Slurm, cause: map[string]string{}, taken: map[string]bool{}}
	for _, w := range sortedByName(observed.Workers) {
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

func (b *pass) add(s Step) { b.actions.Steps = append(b.actions.Steps, s) }

// requeueAt plans again at t, or earlier.
func (b *pass) lookAt(t time.Time) {
	if d := t.Sub(b.now); d > 0 && (b.actions.Again == 0 || d < b.actions.Again) {
		b.actions.Again = d
	}
}

// chooseLeaving chooses the workers that are removed for good.
func (b *pass) chooseExits() {
	switch {
	case b.desired.Deleting:
		for _, w := range b.active {
			b.cause[w.Pod] = v1beta1.CauseDeletion
		}
	case b.desired.PerKubeNode:
		b.chooseMisplaced()
	default:
		b.chooseExcess()
	}
	for _, c := range b.cause {
		if c != "" {
			b.actions.Exits++
		}
	}
}

// chooseScaleIn keeps the workers that were chosen before as long as there is an excess, and
// chooses more when it grows. Without a fresh reading it chooses only workers that were never
// scheduled, because any other may be busy. It chooses no worker with work before the work of all
// of them is known.
func (b *pass) chooseExcess() {
	var chosen, others []*Worker
	for _, w := range b.active {
		if w.Note.Cause == v1beta1.CauseScaleIn {
			chosen = append(chosen, w)
		} else {
			others = append(others, w)
		}
	}
	excess := min(len(b.active), max(0, len(b.active)+len(b.strangers)-b.desired.Desired()))
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

// unlistedRecheck is how soon to plan again while jobs have not been listed.
const unlistedWithin = 2 * time.Second

// hasUnlistedWork reports whether a worker has work that began after jobs were last listed. That
// worker may be the one whose work ends first, and the next list comes soon.
func (b *pass) unlisted() bool {
	return b.slurm.Fresh && b.slurm.JobsReadAt.Before(b.slurm.NodesReadAt) && slices.ContainsFunc(b.active, func(w *Worker) bool {
		return b.slurm.Records[w.SlurmName].Busy && b.slurm.Work[w.SlurmName].Jobs == 0
	})
}

// chooseMisplaced chooses the workers on Kubernetes nodes that should have none, and all but the
// oldest on nodes with several.
func (b *pass) chooseMisplaced() {
	wanted := map[string]bool{}
	for _, n := range b.desired.KubeNodes {
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

// isOutdated reports whether the worker should change to the newest revision.
func (b *pass) outdated(w *Worker) bool {
	if b.desired.PerKubeNode {
		return w.Revision != b.desired.Revision || b.hasOldName(w)
	}
	return w.Revision != b.desired.Revision && w.Slot.Ordinal >= b.desired.Update.Partition
}

// hasOldName reports whether the hostname-override of the worker's Kubernetes node names another
// Slurm node, whose name a replacement could use.
func (b *pass) hasOldName(w *Worker) bool {
	name := b.desired.SlurmNameOn(w.Slot.KubeNode)
	return name != "" && name != w.SlurmName && !b.mayBeAnothers(name) &&
		!slices.ContainsFunc(b.active, func(other *Worker) bool { return other.SlurmName == name })
}

// isAvailable reports whether a fresh reading shows the worker in service.
func (b *pass) available(w *Worker) bool {
	record, known := b.slurm.Records[w.SlurmName]
	if !w.Ready || !known || record.Future || record.Down || record.Drain || record.Held || w.Cordon != "" || b.cause[w.Pod] != "" {
		return false
	}
	since := w.ReadySince.Add(b.desired.MinReady)
	b.lookAt(since)
	return !b.now.Before(since)
}

// chooseUpdates chooses the workers to replace now. The disruption budget, which all causes share,
// bounds how many are chosen at a time, whatever a reading shows of the others. An update takes
// further workers out of service only while the budget covers them and those already out of
// service.
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
		b.actions.Outdated++
		if b.desired.Update.Open {
			c.sort(w, up)
		}
	}
	b.actions.Available = c.inService
	for _, w := range c.chosen {
		b.cause[w.Pod] = v1beta1.CauseUpdate
	}
	if b.slurm.Fresh && !b.desired.Deleting {
		b.choose(&c)
	}
}

// updateCandidates are the outdated workers: chosen before, out of service, in service, and those
// in which nothing runs, which cost nothing to replace.
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

// limitUpdates undoes choices above the budget, and chooses more workers as far as it allows.
func (b *pass) choose(c *candidates) {
	for _, w := range c.unstarted {
		b.cause[w.Pod] = v1beta1.CauseUpdate
	}
	limit := b.updateLimit(b.desired)
	left := limit
	for _, w := range b.slurm.sorted(c.chosen) {
		if left--; left < 0 {
			b.cause[w.Pod] = ""
		}
	}
	out := limit - max(0, b.desired.Desired()-c.inService)
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
