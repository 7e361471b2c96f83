package plan

import (
	"testing"
	"time"
)

// TestBrokenVerdictsAreNoticed breaks one rule of the verdict at a time; each must break a
// promise.
func TestBrokenVerdictsAreNoticed(t *testing.T) {
	cfg := DefaultConfig()
	for name, judge := range map[string]func(now time.Time, desired *Desired, s *SlurmReading, w *Worker,
		since time.Time) verdict{
		"a node that Slurm does not know is taken for drained": func(now time.Time, desired *Desired, s *SlurmReading,
			w *Worker, since time.Time) verdict {
			if _, known := s.Records[w.SlurmName]; s.Fresh && !known {
				return allowDeletion(PreconditionUnregistered, "unknown")
			}
			return cfg.judgeDeletion(now, desired, s, w, since)
		},
		"the list of jobs is not looked at": func(now time.Time, desired *Desired, s *SlurmReading, w *Worker,
			since time.Time) verdict {
			t := *s
			t.Work, t.JobsReadAt = nil, now
			return cfg.judgeDeletion(now, desired, &t, w, since)
		},
		"an idle node need not be drained": func(now time.Time, desired *Desired, s *SlurmReading, w *Worker,
			since time.Time) verdict {
			if r, known := s.Records[w.SlurmName]; s.Fresh && known && !r.Future && !r.Busy &&
				s.Work[w.SlurmName].Jobs == 0 {
				return allowDeletion(NoPrecondition, "idle")
			}
			return cfg.judgeDeletion(now, desired, s, w, since)
		},
		"a stale reading is taken for a fresh one, and the last look left out": func(
			now time.Time, desired *Desired, s *SlurmReading, w *Worker, since time.Time) verdict {
			t := *s
			t.Fresh = s.Known
			v := cfg.judgeDeletion(now, desired, &t, w, since)
			v.precondition = NoPrecondition
			return v
		},
		"an error is taken for drained": func(now time.Time, desired *Desired, s *SlurmReading, w *Worker,
			since time.Time) verdict {
			if !s.Fresh {
				return allowDeletion(NoPrecondition, "no answer")
			}
			return cfg.judgeDeletion(now, desired, s, w, since)
		},
	} {
		t.Run(name, func(t *testing.T) {
			p := New(cfg)
			p.judgeDeletion = judge
			expectBrokenPromise(t, p)
		})
	}
	t.Run("a list of jobs from before the drain will do", func(t *testing.T) {
		p := New(cfg)
		p.judgeDeletion = func(now time.Time, desired *Desired, s *SlurmReading, w *Worker, since time.Time) verdict {
			t := *s
			t.JobsReadAt = now
			return cfg.judgeDeletion(now, desired, &t, w, since)
		}
		expectBrokenPromise(t, p, withFocus(focusClusters))
	})
}

// TestBrokenRulesAreNoticed breaks one other rule at a time.
func TestBrokenRulesAreNoticed(t *testing.T) {
	for name, change := range map[string]func(*Planner){
		"what others set is not minded": func(
			p *Planner) {
			p.outOfServiceByOthers = func(Record) bool { return false }
		},
		"a worker without work is not protected": func(p *Planner) {
			p.needsProtection = func(s *SlurmReading, w *Worker) bool {
				return s.Records[w.SlurmName].Busy || s.Work[w.SlurmName].Jobs > 0
			}
		},
		"a reading that lacks a node unprotects its worker": func(p *Planner) {
			p.needsProtection = func(s *SlurmReading, w *Worker) bool {
				_, known := s.Records[w.SlurmName]
				return needsProtection(s, w) && (known || !s.Fresh)
			}
		},
		"the budget does not bound what a reading shows out of service": func(p *Planner) {
			p.updateLimit = func(w *Desired) int { return w.WorkerCount() }
		},
		"workers of an earlier version are left to the garbage collector": func(p *Planner) {
			p.mayAdopt = func(w *Worker) bool { return !w.MissingOwners.Namespace }
		},
		"orphans are not adopted": func(
			p *Planner) {
			p.mayAdopt = func(w *Worker) bool { return !w.MissingOwners.NodeSet }
		},
		"a worker has no time to register": func(p *Planner) { p.cfg.RegisterWithin = 0 },
		"the brake does not hold":          func(p *Planner) { p.cfg.UnregisteredDeletionShare = 1 },
		"whatever Slurm answers is believed": func(p *Planner) {
			p.filterReading = func(_ *Desired, _ []Worker, s SlurmReading) SlurmReading { return s }
		},
		"nobody asks which Slurm cluster answers": func(p *Planner) {
			p.filterReading = func(desired *Desired, workers []Worker, s SlurmReading) SlurmReading {
				other := *desired
				other.ClusterName = ""
				return filterReading(&other, workers, s)
			}
		},
		"nobody asks which cluster a worker was made for": func(p *Planner) {
			p.filterReading = func(desired *Desired, workers []Worker, s SlurmReading) SlurmReading {
				other := *desired
				other.ClusterRef = ""
				return filterReading(&other, workers, s)
			}
		},
		"nobody asks which NodeSet a Slurm node belongs to": func(p *Planner) {
			p.filterReading = func(desired *Desired, workers []Worker, s SlurmReading) SlurmReading {
				if got := filterReading(desired, workers, s); got.ClusterMismatch != "" {
					return got
				}
				return s
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			p := New(DefaultConfig())
			change(p)
			expectBrokenPromise(t, p)
		})
	}
	for name, allows := range map[string]func(s *SlurmReading) bool{
		"claims are deleted while another Slurm cluster answers": func(s *SlurmReading) bool {
			return s.ClusterMismatch != "" || mayDeleteClaims(s)
		},
		"claims are deleted while another NodeSet owns a Slurm node": func(s *SlurmReading) bool {
			return len(s.OwnedByOthers) > 0 || mayDeleteClaims(s)
		},
	} {
		t.Run(name, func(t *testing.T) {
			p := New(DefaultConfig())
			p.mayDeleteClaims = allows
			expectBrokenPromise(t, p)
		})
	}
	t.Run("a reading from before a worker was made unprotects it", func(t *testing.T) {
		p := New(DefaultConfig())
		p.needsProtection = func(s *SlurmReading, w *Worker) bool {
			t := *s
			t.NodesReadAt = w.Created.Add(time.Second)
			return needsProtection(&t, w)
		}
		expectBrokenPromise(t, p, withFocus(focusReplacement))
	})
}

// TestBrokenProtectionsAreNoticed breaks what protects outside the planner, with a rule of
// the planner where both protect from the same.
func TestBrokenProtectionsAreNoticed(t *testing.T) {
	for name, change := range map[string]func(*simulation){
		"nobody asks who set a node DOWN or FAIL": func(
			w *simulation) {
			w.faults.hideHolds = true
		},
		"nodes and jobs of two Slurm clusters are one reading": func(
			w *simulation) {
			w.faults.mixReadings, w.focus = true, focusClusters
		},
		"a run of polls that show DRAIN goes on over another cluster's": func(
			w *simulation) {
			w.faults.keepDrainedSince, w.focus = true, focusClusters
		},
		"the last look is believed whichever cluster answers": func(
			w *simulation) {
			w.faults.trustAnyCluster = true
		},
		"the last look is left out": func(
			w *simulation) {
			w.faults.skipPrecondition = true
		},
		"a NodeSet that is being deleted takes its orphans back": func(w *simulation) {
			w.faults.adoptWhileDeleting, w.alterPlan = true, takeOrphansBack
		},
	} {
		t.Run(name, func(t *testing.T) { expectBrokenPromise(t, New(DefaultConfig()), change) })
	}
}

// withFocus has the histories have much of a focus.
func withFocus(of focus) func(*simulation) { return func(w *simulation) { w.focus = of } }

// expectBrokenPromise fails the test unless a history breaks a promise.
func expectBrokenPromise(t *testing.T, p *Planner, change ...func(*simulation)) {
	t.Helper()
	for seed := range uint64(30_000) {
		if w := playHistory(seed, p, change...); w.broken != "" {
			t.Logf("history %d: %s", seed, w.broken)
			return
		}
	}
	t.Error("30,000 histories did not notice")
}
