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
	startTime = 2 * time.Second
	endTime   = time.Second
	// scaleDownWindow is how long the requirement must be lower before replicas fall, as in the
	// HPA.
	window = 5 * time.Second
)

// workerSet is the state of a NodeSet and its workers.
type crew struct {
	Set
	replicas int
	needs    []need
	workers  []worker
}

// requirement is the number of required workers at one time.
type need struct {
	at       time.Time
	required int
}

type phase uint8

const (
	starting phase = iota
	working
	draining
	going
)

// worker is a worker of a set and the time at which its phase began.
type worker struct {
	ordinal int
	phase   phase
	since   time.Time
}

func (c *crew) name(w worker) string { return fmt.Sprintf("%s-%d", c.Name, w.ordinal) }

// requireWorkers records the requirement and sets replicas as an HPA does: up at once, and down to
// the maximum requirement within the window.
func (c *crew) want(now time.Time, required int) {
	c.needs = append(c.needs, need{now, required})
	c.needs = slices.DeleteFunc(c.needs, func(n need) bool { return now.Sub(n.at) > window })
	c.replicas = 0
	for _, n := range c.needs {
		c.replicas = max(c.replicas, n.required)
	}
}

// actions are the ordinals of workers to start, and the workers whose slurmd registers, that are
// drained or undrained, and whose slurmd stops.
type step struct {
	start                            []int
	register, drain, undrain, finish []worker
}

// plan decides what to do. idle reports whether a worker in service has no work.
func (c *crew) plan(now time.Time, idle func(worker) bool) step {
	var s step
	staying := 0
	for _, w := range c.workers {
		switch {
		case w.phase == starting && now.Sub(w.since) >= startTime:
			s.register = append(s.register, w)
		case w.phase == draining && idle(w):
			s.finish = append(s.finish, w)
		}
		if w.phase <= working {
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
	s.drain = c.victims(staying-c.replicas, idle)
	return s
}

// workersToDrain picks workers in service: idle ones first, and the highest ordinals first.
func (c *crew) victims(excess int, idle func(worker) bool) []worker {
	var out []worker
	for _, wanted := range []bool{true, false} {
		for _, w := range slices.Backward(c.workers) {
			if len(out) < excess && w.phase == working && idle(w) == wanted {
				out = append(out, w)
			}
		}
	}
	return out
}

// observeWorkers returns the state of each worker.
func (c *crew) seen(nodes []*slurm.Node) []timeline.Worker {
	var out []timeline.Worker
	for _, w := range c.workers {
		pod := play.Pod{Ready: w.phase != starting, Going: w.phase == going}
		out = append(out, timeline.Worker{Name: c.name(w), State: play.StateOf(pod, find(nodes, c.name(w)))})
	}
	return out
}

// runScaling scales the workers by demand until the context ends.
func (w *World) scale(ctx context.Context) {
	tick := time.NewTicker(pause)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case now := <-tick.C:
			w.once(now)
		}
	}
}

func (w *World) once(now time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	var pools []demand.Pool
	for _, c := range w.crews {
		pools = append(pools, demand.Pool{
			Name: c.Name, Feature: c.Name, Partitions: []string{c.Name}, Max: uint64(c.Max), Running: uint64(c.replicas), //nolint:gosec // small
			Shape: &demand.Shape{CPUs: uint64(c.CPUs), MemoryMiB: c.MemoryMiB, GRES: c.GRES},
		})
	}
	w.demand = demand.Compute(now, w.cache.Snapshot(), pools...)
	if !w.demand.Known {
		return
	}
	for i := range w.crews {
		c := &w.crews[i]
		pool, _ := w.demand.Pool(c.Name)
		c.want(now, int(pool.Required)) //nolint:gosec // no more than Max
		w.do(now, c, c.plan(now, func(of worker) bool { return w.idle(c.name(of)) }))
	}
}

// isIdle reports whether the node of a worker has no work.
func (w *World) idle(name string) bool {
	n, ok := w.cluster.Node(name)
	return ok && n.State.Base == slurm.NodeIdle && !n.State.Has(slurm.NodeCompleting)
}

// apply executes the actions.
func (w *World) do(now time.Time, c *crew, s step) {
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
	to(s.register, working, func(name string) {
		w.cluster.Register(slurmtest.NodeConf{Names: name, CPUs: c.CPUs, MemoryMiB: c.MemoryMiB, GRES: c.GRES,
			Features: []string{c.Name}, Dynamic: true})
	})
	to(s.drain, draining, func(name string) { _ = w.cluster.UpdateNode(name, "DRAIN", "slurmtide: scale-in") })
	to(s.undrain, working, func(name string) { _ = w.cluster.UpdateNode(name, "UNDRAIN", "") })
	to(s.finish, going, func(name string) {
		w.cluster.StopSlurmd(name)
		_ = w.cluster.UpdateNode(name, "FUTURE", "")
	})
	c.workers = slices.DeleteFunc(c.workers,
		func(of worker) bool { return of.phase == going && now.Sub(of.since) >= endTime })
	for _, ordinal := range s.start {
		c.workers = append(c.workers, worker{ordinal, starting, now})
	}
	slices.SortFunc(c.workers, func(a, b worker) int { return a.ordinal - b.ordinal })
}
