package plan

import (
	"slices"
	"time"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
)

// Planner decides the steps for the workers of a NodeSet. New returns one.
type Planner struct{ rules Rules }

// New returns a Planner with the given limits.
func New(cfg Config) *Planner { return NewWithRules(DefaultRules(cfg)) }

// NewWithRules returns a Planner with the given rules.
func NewWithRules(rules Rules) *Planner { return &Planner{rules} }

// FilterReading returns the part of a Slurm reading that the NodeSet may trust.
func (p *Planner) FilterReading(desired *Desired, workers []Worker, s SlurmReading) SlurmReading {
	return p.rules.FilterReading(desired, workers, s)
}

// Plan decides the steps. It is total and deterministic: the order of the observed workers does not matter, and once its steps have
// taken effect it returns no more.
func (p *Planner) Plan(now time.Time, desired Desired, observed Observation) Actions {
	desired.KeepNames(&observed)
	observed.Slurm = p.rules.FilterReading(&desired, observed.Workers, observed.Slurm)
	actions := p.planWorkers(now, desired, observed)
	actions.Revisions = planRevisions(&desired, &observed, keptRevisions(&desired, &observed))
	actions.SlurmCluster = planSlurmCluster(&desired, &observed)
	actions.Reservation = planReservation(now, &desired, &observed, &actions)
	actions.Cordons = planCordons(&desired, &observed, &actions)
	actions.Claims = p.planClaims(now, &desired, &observed, &actions)
	return actions
}

// planWorkers decides about the workers and the records of their Slurm nodes.
func (p *Planner) planWorkers(now time.Time, desired Desired, observed Observation) Actions {
	if desired.Orphaning {
		return Actions{DeletionDone: true}
	}
	b := newPlanRun(p, now.Truncate(time.Second), &desired, &observed)
	b.adoptPods()
	b.findTakenNames()
	b.findNamesakes()
	b.findReservedNames()
	if observed.Slurm.ClusterMismatch != "" && !desired.Deleting {
		return b.actions
	}
	b.chooseLeaving()
	b.chooseReboots()
	b.chooseUpdates()
	b.createWorkers()
	b.annotatePods()
	b.undrainNodes()
	b.drainNodes()
	b.deletePods()
	b.maintainRecords()
	b.checkDeletionDone()
	return b.actions
}

// planRun is one run of Plan.
type planRun struct {
	*Planner
	now      time.Time
	desired  *Desired
	observed *Observation
	slurm    *SlurmReading
	actions  Actions
	// active are the workers that count, sorted by name. The containers of finished ones have
	// ended, and deleting ones have a deletion timestamp.
	active, finished, deleting []*Worker
	// ownedByOthers are the workers whose Slurm node belongs to another NodeSet.
	ownedByOthers []*Worker
	// displaced are the workers whose slurmd has never run and would take over a Slurm node of others.
	displaced []*Worker
	// exposed are the unscheduled workers that may be scheduled where they would take over a Slurm node of others, and the ones pinned
	// to a Kubernetes node that is gone.
	exposed []*Worker
	// causes maps each active worker, by pod, to the reason for its removal; empty for a worker that stays.
	causes map[string]string
	// usedSlurmNames are the Slurm node names of all pods, including those about to be created.
	usedSlurmNames map[string]bool
	// spare are the names for successors of outdated workers, nil until they are needed.
	spare *spareNames
	// newNames are the names in scaling mode DaemonSet, nil until they are needed. holders are the active workers by their names.
	newNames *newNames
	holders  map[string]*Worker
	// wantedNames are the names that workers would be created with if the names were free, and if their records had the shape of the
	// workers.
	wantedNames map[string]bool
	// keptRevisions are the old revisions that ordinals below the partition keep, keptByName the same by Slurm node name.
	keptRevisions map[int]string
	keptByName    map[string]string
	// recordsMissing reports that wanted FUTURE records do not exist. surplus are the unwanted ones, sorted.
	recordsMissing bool
	surplus        []string
	// renewable are the records that may be created again because of their shape. oldShapesKept counts the names that
	// no worker gets because of the shape of a record that must stay, namesOfOthers those that others own.
	renewable                    []string
	oldShapesKept, namesOfOthers int
}

func newPlanRun(p *Planner, now time.Time, desired *Desired, observed *Observation) *planRun {
	kept := keptRevisions(desired, observed)
	b := &planRun{Planner: p, now: now, desired: desired, observed: observed, slurm: &observed.Slurm,
		causes: map[string]string{}, holders: map[string]*Worker{}, usedSlurmNames: map[string]bool{}, wantedNames: map[string]bool{},
		keptRevisions: kept, keptByName: keptByName(desired, kept)}
	workers := sortedByName(observed.Workers)
	oldest := oldestByName(workers)
	for _, w := range workers {
		b.useName(w.SlurmName)
		switch {
		case !w.DeletedAt.IsZero():
			b.deleting = append(b.deleting, w)
		case w.Finished:
			b.finished = append(b.finished, w)
		case b.isExposed(w), b.isStranded(w):
			b.exposed = append(b.exposed, w)
		case b.isDisplaced(w):
			b.displaced = append(b.displaced, w)
		case b.isOwnedByOther(w), desired.PerKubeNode && !desired.Deleting && sharesName(oldest, w):
			b.ownedByOthers = append(b.ownedByOthers, w)
		default:
			b.active = append(b.active, w)
			if w.SlurmName != "" {
				b.holders[w.SlurmName] = w
			}
			b.causes[w.Pod] = ""
		}
	}
	return b
}

// useName records that a pod has a Slurm node name. An empty name is not known yet, and blocks no other worker.
func (b *planRun) useName(name string) {
	if name != "" {
		b.usedSlurmNames[name] = true
	}
}

func (b *planRun) addStep(s Step) { b.actions.Steps = append(b.actions.Steps, s) }

// requeueAt plans again at t, or earlier.
func (b *planRun) requeueAt(t time.Time) {
	if d := t.Sub(b.now); d > 0 && (b.actions.RequeueAfter == 0 || d < b.actions.RequeueAfter) {
		b.actions.RequeueAfter = d
	}
}

// chooseLeaving chooses the workers that are removed for good.
func (b *planRun) chooseLeaving() {
	switch {
	case b.desired.Deleting:
		for _, w := range b.active {
			b.causes[w.Pod] = v1beta1.DrainCauseDeletion
		}
	case b.desired.PerKubeNode:
		b.chooseMisplaced()
	default:
		b.chooseScaleIn()
	}
	for _, c := range b.causes {
		if c != "" {
			b.actions.Leaving++
		}
	}
}

// chooseScaleIn keeps the workers that were chosen before as long as there is an excess, and chooses more when it grows. Without a
// fresh reading it chooses only workers that were never scheduled, because any other may be busy. It chooses no worker with work before
// the work of all workers is known.
func (b *planRun) chooseScaleIn() {
	var chosen, others []*Worker
	for _, w := range b.active {
		if w.DrainMark.Cause == v1beta1.DrainCauseScaleIn {
			chosen = append(chosen, w)
		} else {
			others = append(others, w)
		}
	}
	excess := min(len(b.active), max(0, len(b.active)+len(b.ownedByOthers)-b.desired.WorkerCount()))
	chosen = b.slurm.sorted(chosen)
	for _, w := range b.slurm.sorted(others) {
		if len(chosen) >= excess {
			break
		}
		if b.slurm.rankOf(w) == rankBusy && b.hasUnlistedWork() {
			b.requeueAt(b.now.Add(unlistedRecheck))
			break
		}
		if b.slurm.Fresh || w.KubeNode == "" {
			chosen = append(chosen, w)
		}
	}
	for _, w := range chosen[:min(len(chosen), excess)] {
		b.causes[w.Pod] = v1beta1.DrainCauseScaleIn
	}
}

// unlistedRecheck is the pause before the next plan while jobs have not been listed. unlistedPatience is the maximum age of their last
// list for which the choice waits for a newer one.
const (
	unlistedRecheck  = 2 * time.Second
	unlistedPatience = 5 * time.Second
)

// hasUnlistedWork reports whether a worker has work that began after jobs were last listed. That worker may be the one whose work ends
// first, and the next list comes soon. Otherwise the choice is made without it: scale-in must not wait forever where lists take long
// and jobs start all the time.
func (b *planRun) hasUnlistedWork() bool {
	return b.slurm.Fresh && b.slurm.JobsReadAt.Before(b.slurm.NodesReadAt) &&
		b.now.Before(b.slurm.JobsReadAt.Add(unlistedPatience)) &&
		slices.ContainsFunc(b.active, func(w *Worker) bool {
			return b.slurm.Records[w.SlurmName].Busy && b.slurm.Work[w.SlurmName].Jobs == 0
		})
}

// chooseMisplaced chooses the workers on Kubernetes nodes that should have none. On nodes with several workers it chooses all except
// the oldest. Workers of the other scaling mode are updated instead.
func (b *planRun) chooseMisplaced() {
	wanted := map[string]bool{}
	for _, n := range b.desired.KubeNodes {
		wanted[n] = true
	}
	holder := map[string]*Worker{}
	for _, w := range b.active {
		if b.hasOtherMode(w) {
			continue
		}
		if h := holder[w.Slot.KubeNode]; h == nil || w.Created.Before(h.Created) {
			holder[w.Slot.KubeNode] = w
		}
	}
	for _, w := range b.active {
		if !b.hasOtherMode(w) && (!wanted[w.Slot.KubeNode] || holder[w.Slot.KubeNode] != w) {
			b.causes[w.Pod] = v1beta1.DrainCauseScaleIn
		}
	}
}

// isOutdated reports whether the worker should change to the newest revision.
func (b *planRun) isOutdated(w *Worker) bool {
	if b.desired.Frozen { // the newest revision is not known
		return false
	}
	if b.hasOtherMode(w) {
		return true
	}
	if b.desired.PerKubeNode {
		return w.Revision != b.desired.Revision || b.hasOldName(w)
	}
	return w.Revision != b.desired.Revision && w.Slot.Ordinal >= b.desired.Update.Partition
}

// hasOldName reports whether the hostname-override of the worker's Kubernetes node names another
// Slurm node, whose name a replacement could use.
func (b *planRun) hasOldName(w *Worker) bool {
	name := b.desired.SlurmNameOn(w.Slot.KubeNode)
	return name != w.SlurmName && b.canTakeName(w.Slot.KubeNode) && !b.mayBelongToOther(name) && b.holders[name] == nil
}

// isAvailable reports whether a fresh reading shows the worker in service.
func (b *planRun) isAvailable(w *Worker) bool {
	record, known := b.slurm.Records[w.SlurmName]
	if !w.Ready || !known || record.Future || record.Down || record.Drain || record.DownByOthers ||
		w.CordonReason != "" || b.causes[w.Pod] != "" {
		return false
	}
	since := w.ReadySince.Add(b.desired.MinReady)
	b.requeueAt(since)
	return !b.now.Before(since)
}

// chooseUpdates chooses the workers to replace now. The disruption budget, which all causes share, limits how many are chosen at a
// time, whatever a reading shows of the others. An update takes more workers out of service only while the budget covers them and the
// ones already out of service.
func (b *planRun) chooseUpdates() {
	var c updateCandidates
	var outdated []*Worker
	for _, w := range b.active {
		if b.isAvailable(w) {
			c.availableCount++
		}
		if b.causes[w.Pod] == "" && b.isOutdated(w) {
			outdated = append(outdated, w)
		}
	}
	b.actions.Outdated = len(outdated)
	b.sortForSuccessors(outdated)
	for _, w := range outdated {
		b.addOutdated(w, &c)
	}
	b.actions.Available = c.availableCount
	for _, w := range c.chosen {
		b.causes[w.Pod] = v1beta1.DrainCauseUpdate
	}
	if b.slurm.Fresh && !b.desired.Deleting {
		b.limitUpdates(&c)
	}
}

// addOutdated makes an outdated worker a candidate if it may be updated now. A worker whose successor has no name is not updated.
func (b *planRun) addOutdated(w *Worker, c *updateCandidates) {
	exists, problem := b.findSuccessor(w)
	if problem != "" {
		b.actions.WithoutSuccessor, b.actions.SuccessorProblem = append(b.actions.WithoutSuccessor, w.SlurmName), problem
		return
	}
	b.actions.NodesToUpdate = append(b.actions.NodesToUpdate, w.SlurmName)
	if exists && b.desired.Update.Allowed {
		c.add(w, b.isAvailable(w))
	}
}

// updateCandidates are the outdated workers in four groups: chosen before, out of service, in service, and without running containers.
// Replacing the last group costs nothing.
type updateCandidates struct {
	chosen, unavailable, available, unstarted []*Worker
	availableCount                            int
}

func (c *updateCandidates) add(w *Worker, up bool) {
	switch {
	case w.KubeNode == "" || !w.Running:
		c.unstarted = append(c.unstarted, w)
	case w.DrainMark.Cause == v1beta1.DrainCauseUpdate:
		c.chosen = append(c.chosen, w)
		if up {
			c.availableCount-- // it is about to be drained
		}
	case up:
		c.available = append(c.available, w)
	default:
		c.unavailable = append(c.unavailable, w)
	}
}

// limitUpdates undoes choices above the budget, or chooses more workers up to the budget.
func (b *planRun) limitUpdates(c *updateCandidates) {
	for _, w := range c.unstarted {
		b.causes[w.Pod] = v1beta1.DrainCauseUpdate
	}
	limit := b.rules.UpdateLimit(b.desired)
	left := limit
	for _, w := range b.slurm.sorted(c.chosen) {
		if left--; left < 0 {
			b.causes[w.Pod] = ""
		}
	}
	absent := b.desired.WorkerCount() - b.countUncovered() - c.availableCount
	if absent > 0 && len(c.available) > 0 {
		absent -= b.countNameless()
	}
	out := limit - max(0, absent)
	available := b.slurm.sorted(c.available)
	held := b.heldKubeNodes()
	slices.SortStableFunc(available, func(x, y *Worker) int { return blockingRank(x, held) - blockingRank(y, held) })
	if out == 0 && left > 0 {
		available = b.allowOneMore(available)
		out = len(available)
	}
	for i, w := range slices.Concat(b.slurm.sorted(c.unavailable), available) {
		serving := i >= len(c.unavailable)
		if left <= 0 || serving && out <= 0 {
			return
		}
		b.causes[w.Pod] = v1beta1.DrainCauseUpdate
		left--
		if serving {
			out--
		}
	}
}

// blockingRank orders the outdated workers in service. First come workers whose names keep newer workers from Kubernetes nodes without
// a worker. A waiting worker moves to such a node as soon as the name is free. One that waits for a Kubernetes node with a worker would
// wait for a second update.
func blockingRank(w *Worker, held map[string]bool) int {
	switch {
	case !w.BlocksKubeNode:
		return 2
	case held[w.SlurmName]:
		return 1
	}
	return 0
}
