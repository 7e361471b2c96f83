package simulated

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/slurmtide/slurmtide/cmd/slurmtide/internal/play"
	"github.com/slurmtide/slurmtide/cmd/slurmtide/internal/timeline"
	"github.com/slurmtide/slurmtide/slurmclient/demand"
	"github.com/slurmtide/slurmtide/slurmclient/slurm"
	"github.com/slurmtide/slurmtide/slurmclient/slurmtest"
)

// Durations that simulate a real machine.
const (
	startDuration       = 2 * time.Second
	terminationDuration = time.Second
	// scaleDownWindow is how long the requirement must be lower before replicas fall, as in the
	// HPA.
	scaleDownWindow = 5 * time.Second
)

// workerSet is the state of a NodeSet and its workers.
type workerSet struct {
	NodeSet
	replicas     int
	requirements []requirement
	workers      []worker
}

// requirement is the number of required workers at one time.
type requirement struct {
	at       time.Time
	required int
}

type phase uint8

const (
	starting phase = iota
	inService
	draining
	terminating
)

// worker is a worker of a set and the time at which its phase began.
type worker struct {
	ordinal int
	phase   phase
	since   time.Time
}

func (c *workerSet) name(w worker) string { return fmt.Sprintf("%s-%d", c.Name, w.ordinal) }

// requireWorkers records the requirement and sets replicas as an HPA does: up at once, and down to
// the maximum requirement within the window.
func (c *workerSet) requireWorkers(now time.Time, required int) {
	c.requirements = append(c.requirements, requirement{now, required})
	c.requirements = slices.DeleteFunc(c.requirements,
		func(n requirement) bool { return now.Sub(n.at) > scaleDownWindow })
	c.replicas = 0
	for _, n := range c.requirements {
		c.replicas = max(c.replicas, n.required)
	}
}

// actions are the ordinals of workers to start, and four lists of workers: slurmd registers, the worker is drained, it
// is undrained, or slurmd stops.
type actions struct {
	start                          []int
	register, drain, undrain, stop []worker
}

// plan decides what to do. idle reports whether a worker in service has no work.
func (c *workerSet) plan(now time.Time, idle func(worker) bool) actions {
	var s actions
	staying := 0
	for _, w := range c.workers {
		switch {
		case w.phase == starting && now.Sub(w.since) >= startDuration:
			s.register = append(s.register, w)
		case w.phase == draining && idle(w):
			s.stop = append(s.stop, w)
		}
		if w.phase <= inService {
			staying++
		}
	}
	for _, w := range c.workers {
		if w.phase == draining && !idle(w) && staying < c.replicas {
			s.undrain = append(s.undrain, w)
			staying++
		}
	}
	for ordinal := range c.Max {
		if staying < c.replicas &&
			!slices.ContainsFunc(c.workers, func(w worker) bool { return w.ordinal == ordinal }) {
			s.start = append(s.start, ordinal)
			staying++
		}
	}
	s.drain = c.workersToDrain(staying-c.replicas, idle)
	return s
}

// workersToDrain picks workers in service: idle ones first, and the highest ordinals first.
func (c *workerSet) workersToDrain(excess int, idle func(worker) bool) []worker {
	var out []worker
	for _, wanted := range []bool{true, false} {
		for _, w := range slices.Backward(c.workers) {
			if len(out) < excess && w.phase == inService && idle(w) == wanted {
				out = append(out, w)
			}
		}
	}
	return out
}

// observeWorkers returns the state of each worker.
func (c *workerSet) observeWorkers(nodes []*slurm.Node) []timeline.Worker {
	var out []timeline.Worker
	for _, w := range c.workers {
		pod := play.Pod{Ready: w.phase != starting, Terminating: w.phase == terminating}
		out = append(out, timeline.Worker{Name: c.name(w), State: play.WorkerState(pod, findNode(nodes, c.name(w)))})
	}
	return out
}

// runScaling scales the workers by demand until the context ends.
func (w *Simulation) runScaling(ctx context.Context) {
	tick := time.NewTicker(scaleInterval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case now := <-tick.C:
			w.reconcile(now)
		}
	}
}

func (w *Simulation) reconcile(now time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	var pools []demand.Pool
	for _, c := range w.sets {
		pools = append(pools, demand.Pool{
			Name: c.Name, Feature: c.Name, Partitions: []string{c.Name}, Max: uint64(c.Max),
			Replicas: uint64(c.replicas), //nolint:gosec // small
			Shape:    &demand.Shape{CPUs: uint64(c.CPUs), MemoryMiB: c.MemoryMiB, GRES: c.GRES},
		})
	}
	w.demand = demand.Compute(now, w.cache.Snapshot(), pools...)
	if !w.demand.Known {
		return
	}
	for i := range w.sets {
		c := &w.sets[i]
		pool, _ := w.demand.Pool(c.Name)
		c.requireWorkers(now, int(pool.Required)) //nolint:gosec // no more than Max
		w.apply(now, c, c.plan(now, func(of worker) bool { return w.isIdle(c.name(of)) }))
	}
}

// isIdle reports whether the node of a worker has no work.
func (w *Simulation) isIdle(name string) bool {
	n, ok := w.cluster.Node(name)
	return ok && n.State.Base == slurm.NodeIdle && !n.State.Has(slurm.NodeCompleting)
}

// apply executes the actions.
func (w *Simulation) apply(now time.Time, c *workerSet, s actions) {
	to := func(list []worker, next phase, act func(name string)) {
		for _, of := range list {
			act(c.name(of))
			for i := range c.workers {
				if c.workers[i].ordinal == of.ordinal {
					c.workers[i].phase, c.workers[i].since = next, now
				}
			}
		}
	}
	to(s.register, inService, func(name string) {
		w.cluster.StartSlurmd(slurmtest.NodeConf{Names: name, CPUs: c.CPUs, MemoryMiB: c.MemoryMiB, GRES: c.GRES,
			Features: []string{c.Name}, Dynamic: true})
	})
	to(s.drain, draining, func(name string) { _ = w.cluster.UpdateNode(name, "DRAIN", "slurmtide: scale-in") })
	to(s.undrain, inService, func(name string) { _ = w.cluster.UpdateNode(name, "UNDRAIN", "") })
	to(s.stop, terminating, func(name string) {
		w.cluster.StopSlurmd(name)
		_ = w.cluster.UpdateNode(name, "FUTURE", "")
	})
	c.workers = slices.DeleteFunc(c.workers,
		func(of worker) bool { return of.phase == terminating && now.Sub(of.since) >= terminationDuration })
	for _, ordinal := range s.start {
		c.workers = append(c.workers, worker{ordinal, starting, now})
	}
	slices.SortFunc(c.workers, func(a, b worker) int { return a.ordinal - b.ordinal })
}
