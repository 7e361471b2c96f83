package plan

import (
	"testing"
	"time"
)

// TestBrokenVerdictsAreNoticed breaks one rule of the verdict at a time; each must break a
// promise.
func TestBrokenVerdictsAreNoticed(t *testing.T) {
	cfg := DefaultConfig()
	for name, judge := range map[string]func(now time.Time, desired *Wish, s *Slurm, w *Worker, since time.Time) verdict{
		"a node that Slurm does not know is taken for drained": func(now time.Time, desired *Wish, s *Slurm, w *Worker, since time.Time) verdict {
			if _, known := s.Records[w.SlurmName]; s.Fresh && !known {
				return allowed(LookUnregistered, "unknown")
			}
			return cfg.judge(now, desired, s, w, since)
		},
		"the list of jobs is not looked at": func(now time.Time, desired *Wish, s *Slurm, w *Worker, since time.Time) verdict {
			t := *s
			t.Work, t.JobsReadAt = nil, now
			return cfg.judge(now, desired, &t, w, since)
		},
		"an idle node need not be drained": func(now time.Time, desired *Wish, s *Slurm, w *Worker, since time.Time) verdict {
			if r, known := s.Records[w.SlurmName]; s.Fresh && known && !r.Future && !r.Busy && s.Work[w.SlurmName].Jobs == 0 {
				return allowed(LookAtNothing, "idle")
			}
			return cfg.judge(now, desired, s, w, since)
		},
		"a stale reading is taken for a fresh one, and the last look left out": func(now time.Time, desired *Wish, s *Slurm, w *Worker, since time.Time) verdict {
			t := *s
			t.Fresh = s.Known
			v := cfg.judge(now, desired, &t, w, since)
			v.look = LookAtNothing
			return v
		},
		"an error is taken for drained": func(now time.Time, desired *Wish, s *Slurm, w *Worker, since time.Time) verdict {
			if !s.Fresh {
				return allowed(LookAtNothing, "no answer")
			}
			return cfg.judge(now, desired, s, w, since)
		},
	} {
		t.Run(name, func(t *testing.T) {
			p := New(cfg)
			p.judge = judge
			notices(t, p)
		})
	}
	t.Run("a list of jobs from before the drain will do", func(t *testing.T) {
		p := New(cfg)
		p.judge = func(now time.Time, desired *Wish, s *Slurm, w *Worker, since time.Time) verdict {
			t := *s
			t.JobsReadAt = now
			return cfg.judge(now, desired, &t, w, since)
		}
		notices(t, p, much(onClusters))
	})
}

// TestBrokenRulesAreNoticed breaks one other rule at a time.
func TestBrokenRulesAreNoticed(t *testing.T) {
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
		"workers of an earlier version are left to the garbage collector": func(p *Planner) {
			p.mayAdopt = func(w *Worker) bool { return !w.Bond.Loose }
		},
		"orphans are not adopted":            func(p *Planner) { p.mayAdopt = func(w *Worker) bool { return !w.Bond.Orphaned } },
		"a worker has no time to register":   func(p *Planner) { p.cfg.RegisterWithin = 0 },
		"the brake does not hold":            func(p *Planner) { p.cfg.BrakeShare = 1 },
		"whatever Slurm answers is believed": func(p *Planner) { p.identify = func(_ *Wish, _ []Worker, s Slurm) Slurm { return s } },
		"nobody asks which Slurm cluster answers": func(p *Planner) {
			p.identify = func(desired *Wish, workers []Worker, s Slurm) Slurm {
				other := *desired
				other.Cluster = ""
				return identify(&other, workers, s)
			}
		},
		"nobody asks which cluster a worker was made for": func(p *Planner) {
			p.identify = func(desired *Wish, workers []Worker, s Slurm) Slurm {
				other := *desired
				other.Joins = ""
				return identify(&other, workers, s)
			}
		},
		"nobody asks which NodeSet a Slurm node belongs to": func(p *Planner) {
			p.identify = func(desired *Wish, workers []Worker, s Slurm) Slurm {
				if got := identify(desired, workers, s); got.Clash != "" {
					return got
				}
				return s
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			p := New(DefaultConfig())
			change(p)
			notices(t, p)
		})
	}
	t.Run("a reading from before a worker was made unprotects it", func(t *testing.T) {
		p := New(DefaultConfig())
		p.protects = func(s *Slurm, w *Worker) bool {
			t := *s
			t.NodesReadAt = w.Created.Add(time.Second)
			return protects(&t, w)
		}
		notices(t, p, much(onReplacement))
	})
}

// TestBrokenProtectionsAreNoticed breaks what protects outside the planner, with a rule of
// the planner where both protect from the same.
func TestBrokenProtectionsAreNoticed(t *testing.T) {
	for name, change := range map[string]func(*world){
		"nobody asks who set a node DOWN or FAIL":                       func(w *world) { w.faults.blind = true },
		"nodes and jobs of two Slurm clusters are one reading":          func(w *world) { w.faults.mixes, w.focus = true, onClusters },
		"a run of polls that show DRAIN goes on over another cluster's": func(w *world) { w.faults.carries, w.focus = true, onClusters },
		"the last look is believed whichever cluster answers":           func(w *world) { w.faults.anyLook = true },
		"the last look is left out":                                     func(w *world) { w.faults.noLook = true },
		"a NodeSet that is being deleted takes its orphans back": func(w *world) {
			w.faults.takesBack, w.alter = true, takeOrphansBack
		},
	} {
		t.Run(name, func(t *testing.T) { notices(t, New(DefaultConfig()), change) })
	}
}

// much has the histories have much of a focus.
func much(of focus) func(*world) { return func(w *world) { w.focus = of } }

// notices fails the test unless a history breaks a promise.
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
