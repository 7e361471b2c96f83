package plan

import (
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// rest lets everything that is under way come to an end, and looks at what is there
// then.
func (w *world) rest() {
	w.dead, w.calm, w.swapped, w.wish.Joins = false, true, false, "a"
	w.neighbourLeaves()
	w.readNodes()
	w.readJobs()
	clear(w.cordoned)
	w.wish.Update.Open = true
	for _, id := range slices.Sorted(maps.Keys(w.jobs)) {
		w.end(id)
	}
	// After a loss of slurmctld's state an administrator restarts the slurmds that it
	// does not know any more.
	for _, p := range w.pods {
		p.stuck = false
		n := w.slurm[p.name]
		// The brake takes its time: one that Slurm refuses is enough.
		p.refused = p.refused && n != nil && n.Future && p.name == "n-0"
		if p.joins && (n == nil || n.Future) {
			w.crash(p)
		}
		clear(p.work)
	}
	quiet := 0
	for range 400 {
		w.pass(10 * time.Second)
		w.kubelet()
		for _, p := range w.pods {
			p.stuck = false
		}
		w.readNodes()
		w.pass(time.Second)
		w.readJobs()
		todo := w.reconcile(false)
		if quiet++; len(todo.Steps) > 0 || len(todo.Waits) > 0 || w.moving() {
			quiet = 0
		}
		if quiet > 5 || w.broken != "" {
			break
		}
	}
	w.check(quiet)
}

// moving reports that the kubelet is not done.
func (w *world) moving() bool {
	for _, p := range w.pods {
		if !p.ready || !p.going.IsZero() {
			return true
		}
	}
	return false
}

func (w *world) check(quiet int) {
	desired := w.wish.Desired()
	ready, outdated := 0, 0
	for _, p := range w.pods {
		if p.ready {
			ready++
		}
		if p.revision != w.wish.Revision {
			outdated++
		}
	}
	switch {
	case w.broken != "":
	case quiet <= 5:
		w.fail("it does not come to rest: %+v", w.op.planner.Plan(w.now, w.wish, w.seen()))
	case len(w.pods) != desired || ready != desired:
		w.fail("at rest there are %d pods, %d ready, and not %d", len(w.pods), ready, desired)
	// Those that others keep out of service use up the disruption budget.
	case outdated > w.drainedByOthers() && w.drainedByOthers() < w.wish.Update.MaxUnavailable:
		w.fail("at rest %d workers are of an old revision", outdated)
	}
	for _, p := range w.pods {
		if p.bond != (Bond{}) {
			w.fail("at rest the owners of %s lack something: %+v", p.name, p.bond)
		}
	}
	for name, n := range w.slurm {
		if p := w.pods[name]; p == nil && !n.Future && !n.Foreign() && w.wish.Records {
			w.fail("at rest the record %s is left: %+v", name, n.Record)
		}
		if w.pods[name] != nil && n.Drain && n.Ours {
			w.fail("at rest %s is drained by us", name)
		}
		if p := w.pods[name]; p != nil && p.ready && n.Ours && !n.Drain {
			w.fail("at rest %s has a reason of ours: %+v", name, n.Record)
		}
		if w.wish.Deleting && !n.Foreign() && w.mineOrNone(n) {
			w.fail("at rest the record %s of a deleted NodeSet is left: %+v", name, n.Record)
		}
	}
}

func (w *world) mineOrNone(n *simRecord) bool { return n.Owner == w.wish.UID }

func (w *world) drainedByOthers() int {
	count := 0
	for name, n := range w.slurm {
		if w.pods[name] != nil && n.Foreign() {
			count++
		}
	}
	return count
}

// TestPlanIsDeterministic asks again with the input in another order.
func TestPlanIsDeterministic(t *testing.T) {
	for seed := range uint64(300) {
		w := newWorld(seed, New(DefaultConfig()))
		for range 60 {
			w.event()
			seen := w.seen()
			first := w.op.planner.Plan(w.now, w.wish, seen)
			slices.Reverse(seen.Workers)
			if diff := cmp.Diff(first, w.op.planner.Plan(w.now, w.wish, seen), cmpopts.EquateEmpty()); diff != "" {
				t.Fatalf("history %d: another order gives another plan:\n%s", seed, diff)
			}
		}
	}
}

// TestBrokenRulesAreNoticed breaks one rule at a time; each must break a promise.
func TestBrokenRulesAreNoticed(t *testing.T) {
	cfg := DefaultConfig()
	for name, judge := range map[string]func(now time.Time, wish *Wish, s *Slurm, w *Worker, since time.Time) verdict{
		"a node that Slurm does not know is taken for drained": func(now time.Time, wish *Wish, s *Slurm, w *Worker, since time.Time) verdict {
			if _, known := s.Records[w.SlurmName]; s.Fresh && !known {
				return allowed(LookUnregistered, "unknown")
			}
			return cfg.judge(now, wish, s, w, since)
		},
		"the list of jobs is not looked at": func(now time.Time, wish *Wish, s *Slurm, w *Worker, since time.Time) verdict {
			t := *s
			t.Work, t.JobsReadAt = nil, now
			return cfg.judge(now, wish, &t, w, since)
		},
		"a list of jobs from before the drain will do": func(now time.Time, wish *Wish, s *Slurm, w *Worker, since time.Time) verdict {
			t := *s
			t.JobsReadAt = now
			v := cfg.judge(now, wish, &t, w, since)
			return v
		},
		"an idle node need not be drained": func(now time.Time, wish *Wish, s *Slurm, w *Worker, since time.Time) verdict {
			if r, known := s.Records[w.SlurmName]; s.Fresh && known && !r.Future && !r.Busy && s.Work[w.SlurmName].Jobs == 0 {
				return allowed(LookAtNothing, "idle")
			}
			return cfg.judge(now, wish, s, w, since)
		},
		"a stale reading is taken for a fresh one, and the last look left out": func(now time.Time, wish *Wish, s *Slurm, w *Worker, since time.Time) verdict {
			t := *s
			t.Fresh = s.Known
			v := cfg.judge(now, wish, &t, w, since)
			v.look = LookAtNothing
			return v
		},
		"an error is taken for drained": func(now time.Time, wish *Wish, s *Slurm, w *Worker, since time.Time) verdict {
			if !s.Fresh {
				return allowed(LookAtNothing, "no answer")
			}
			return cfg.judge(now, wish, s, w, since)
		},
	} {
		t.Run(name, func(t *testing.T) {
			p := New(cfg)
			p.judge = judge
			notices(t, p)
		})
	}
	for name, change := range map[string]func(*Planner){
		"what others set is not minded": func(p *Planner) { p.foreign = func(Record) bool { return false } },
		"a worker without work is not protected": func(p *Planner) {
			p.protects = func(s *Slurm, w *Worker) bool { return s.Records[w.SlurmName].Busy || s.Work[w.SlurmName].Jobs > 0 }
		},
		"a reading that lacks a node unprotects its worker": func(p *Planner) {
			p.protects = func(s *Slurm, w *Worker) bool {
				_, known := s.Records[w.SlurmName]
				return protects(s, w) && (known || !s.Fresh)
			}
		},
		"the budget does not bound what a reading shows out of service": func(p *Planner) {
			p.updateLimit = func(w *Wish) int { return w.Desired() }
		},
	} {
		t.Run(name, func(t *testing.T) {
			p := New(cfg)
			change(p)
			notices(t, p)
		})
	}
	t.Run("nobody asks who set a node DOWN or FAIL", func(t *testing.T) {
		notices(t, New(cfg), func(w *world) { w.blind = true })
	})
	t.Run("workers of an earlier version are left to the garbage collector", func(t *testing.T) {
		p := New(cfg)
		p.mayAdopt = func(w *Worker) bool { return !w.Bond.Loose }
		notices(t, p)
	})
	t.Run("whatever Slurm answers is believed", func(t *testing.T) {
		p := New(cfg)
		p.identify = func(_ *Wish, _ []Worker, s Slurm) Slurm { return s }
		notices(t, p)
	})
	t.Run("orphans are not adopted", func(t *testing.T) {
		p := New(cfg)
		p.mayAdopt = func(w *Worker) bool { return !w.Bond.Orphaned }
		notices(t, p)
	})
}

func notices(t *testing.T, p *Planner, change ...func(*world)) {
	t.Helper()
	for seed := range uint64(30_000) {
		if w := play(seed, p, change...); w.broken != "" {
			t.Logf("history %d: %s", seed, w.broken)
			return
		}
	}
	t.Error("30,000 histories did not notice")
}
