package simulation

import (
	"strings"
	"testing"
	"time"

	"github.com/slurmtide/slurmtide/operator/nodeset/plan"
)

// deletionRule is a rule for the deletion of workers.
type deletionRule = func(now time.Time, desired *plan.Desired, s *plan.SlurmReading, w *plan.Worker,
	since time.Time) plan.Verdict

// TestBrokenVerdictsAreNoticed breaks one rule of the verdict at a time; each must break a
// promise.
func TestBrokenVerdictsAreNoticed(t *testing.T) {
	intact := plan.DefaultRules(plan.DefaultConfig())
	for name, judge := range map[string]deletionRule{
		"a node that Slurm does not know is taken for drained": func(now time.Time, desired *plan.Desired,
			s *plan.SlurmReading,
			w *plan.Worker, since time.Time) plan.Verdict {
			if _, known := s.Records[w.SlurmName]; s.Fresh && !known {
				return plan.Verdict{Allowed: true, Precondition: plan.PreconditionUnregistered, Message: "unknown"}
			}
			return intact.JudgeDeletion(now, desired, s, w, since)
		},
		"the list of jobs is not looked at": func(now time.Time, desired *plan.Desired, s *plan.SlurmReading,
			w *plan.Worker, since time.Time) plan.Verdict {
			t := *s
			t.Work, t.JobsReadAt = nil, now
			return intact.JudgeDeletion(now, desired, &t, w, since)
		},
		"an idle node need not be drained": func(now time.Time, desired *plan.Desired, s *plan.SlurmReading,
			w *plan.Worker, since time.Time) plan.Verdict {
			if r, known := s.Records[w.SlurmName]; s.Fresh && known && !r.Future && !r.Busy &&
				s.Work[w.SlurmName].Jobs == 0 {
				return plan.Verdict{Allowed: true, Precondition: plan.NoPrecondition, Message: "idle"}
			}
			return intact.JudgeDeletion(now, desired, s, w, since)
		},
		"a stale reading is taken for a fresh one, and the last look left out": func(
			now time.Time, desired *plan.Desired, s *plan.SlurmReading,
			w *plan.Worker, since time.Time) plan.Verdict {
			t := *s
			t.Fresh = s.Known
			v := intact.JudgeDeletion(now, desired, &t, w, since)
			v.Precondition = plan.NoPrecondition
			return v
		},
		"a worker whose record Slurm lost is taken for one that never registered": func(now time.Time,
			desired *plan.Desired, s *plan.SlurmReading, w *plan.Worker, since time.Time) plan.Verdict {
			other := *w
			other.Registered = time.Time{}
			return intact.JudgeDeletion(now, desired, s, &other, since)
		},
		"the timeout begins with the choice": func(now time.Time, desired *plan.Desired, s *plan.SlurmReading,
			w *plan.Worker, _ time.Time) plan.Verdict {
			return intact.JudgeDeletion(now, desired, s, w, w.DrainMark.Since)
		},
		"an error is taken for drained": func(now time.Time, desired *plan.Desired, s *plan.SlurmReading,
			w *plan.Worker, since time.Time) plan.Verdict {
			if !s.Fresh {
				return plan.Verdict{Allowed: true, Precondition: plan.NoPrecondition, Message: "no answer"}
			}
			return intact.JudgeDeletion(now, desired, s, w, since)
		},
	} {
		t.Run(name, func(t *testing.T) {
			rules := intact
			rules.JudgeDeletion = judge
			expectBrokenPromise(t, rules)
		})
	}
	t.Run("a list of jobs from before the drain will do", func(t *testing.T) {
		rules := intact
		rules.JudgeDeletion = func(now time.Time, desired *plan.Desired, s *plan.SlurmReading,
			w *plan.Worker, since time.Time) plan.Verdict {
			t := *s
			t.JobsReadAt = now
			return intact.JudgeDeletion(now, desired, &t, w, since)
		}
		expectBrokenPromise(t, rules, withFocus(focusClusters))
	})
}

// TestBrokenRulesAreNoticed breaks one other rule at a time.
func TestBrokenRulesAreNoticed(t *testing.T) {
	intact := plan.DefaultRules(plan.DefaultConfig())
	for name, change := range map[string]func(*plan.Rules){
		"what others set is not minded": func(rules *plan.Rules) {
			rules.OutOfServiceByOthers = func(plan.Record) bool { return false }
		},
		"the drain of a faulty worker stays when it is gone": func(rules *plan.Rules) {
			rules.HasFault = func(plan.Record) bool { return false }
		},
		"a worker without work is not protected": func(rules *plan.Rules) {
			rules.NeedsProtection = func(s *plan.SlurmReading, w *plan.Worker) bool {
				return s.Records[w.SlurmName].Busy || s.Work[w.SlurmName].Jobs > 0
			}
		},
		"a reading that lacks a node unprotects its worker": func(rules *plan.Rules) {
			rules.NeedsProtection = func(s *plan.SlurmReading, w *plan.Worker) bool {
				_, known := s.Records[w.SlurmName]
				return intact.NeedsProtection(s, w) && (known || !s.Fresh)
			}
		},
		"the budget does not bound what a reading shows out of service": func(rules *plan.Rules) {
			rules.UpdateLimit = func(w *plan.Desired) int { return w.WorkerCount() }
		},
		"workers of an earlier version are left to the garbage collector": func(rules *plan.Rules) {
			rules.MayAdopt = func(w *plan.Worker) bool { return !w.MissingOwners.Namespace }
		},
		"orphans are not adopted": func(rules *plan.Rules) {
			rules.MayAdopt = func(w *plan.Worker) bool { return !w.MissingOwners.NodeSet }
		},
		"a worker has no time to register": func(rules *plan.Rules) { rules.Config.RegisterWithin = 0 },
		"the brake does not hold":          func(rules *plan.Rules) { rules.Config.UnregisteredDeletionShare = 1 },
		"whatever Slurm answers is believed": func(rules *plan.Rules) {
			rules.FilterReading = func(_ *plan.Desired, _ []plan.Worker,
				s plan.SlurmReading) plan.SlurmReading {
				return s
			}
		},
		"nobody asks whether slurm.conf lists a node": func(rules *plan.Rules) {
			rules.FilterReading = func(desired *plan.Desired, workers []plan.Worker, s plan.SlurmReading) plan.SlurmReading {
				records := map[string]plan.Record{}
				for name, r := range s.Records {
					if !r.Dynamic {
						r.Dynamic, r.OwnerUID = true, desired.UID
					}
					records[name] = r
				}
				s.Records = records
				return intact.FilterReading(desired, workers, s)
			}
		},
		"nobody asks which Slurm cluster answers": func(rules *plan.Rules) {
			rules.FilterReading = func(desired *plan.Desired, workers []plan.Worker,
				s plan.SlurmReading) plan.SlurmReading {
				other := *desired
				other.ClusterName = ""
				return intact.FilterReading(&other, workers, s)
			}
		},
		"nobody asks which cluster a worker was made for": func(rules *plan.Rules) {
			rules.FilterReading = func(desired *plan.Desired, workers []plan.Worker,
				s plan.SlurmReading) plan.SlurmReading {
				other := *desired
				other.ClusterRef = ""
				return intact.FilterReading(&other, workers, s)
			}
		},
		"nobody asks which NodeSet a Slurm node belongs to": func(rules *plan.Rules) {
			rules.FilterReading = func(desired *plan.Desired, workers []plan.Worker,
				s plan.SlurmReading) plan.SlurmReading {
				if got := intact.FilterReading(desired, workers, s); got.ClusterMismatch != "" {
					return got
				}
				return s
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			rules := intact
			change(&rules)
			expectBrokenPromise(t, rules)
		})
	}
	for name, allows := range map[string]func(s *plan.SlurmReading) bool{
		"claims are deleted while another Slurm cluster answers": func(s *plan.SlurmReading) bool {
			return s.ClusterMismatch != "" || intact.MayDeleteClaims(s)
		},
		"claims are deleted while another NodeSet owns a Slurm node": func(s *plan.SlurmReading) bool {
			return len(s.OwnedByOthers) > 0 || intact.MayDeleteClaims(s)
		},
	} {
		t.Run(name, func(t *testing.T) {
			rules := intact
			rules.MayDeleteClaims = allows
			expectBrokenPromise(t, rules, func(w *simulation) { w.faults.skipNameCheck = true })
		})
	}
	t.Run("a reading from before a worker was made unprotects it", func(t *testing.T) {
		rules := intact
		rules.NeedsProtection = func(s *plan.SlurmReading, w *plan.Worker) bool {
			t := *s
			t.NodesReadAt = w.Created.Add(time.Second)
			return intact.NeedsProtection(&t, w)
		}
		expectBrokenPromise(t, rules, withFocus(focusReplacement))
	})
}

// TestBrokenProtectionsAreNoticed breaks the protections outside the planner. Where a rule of the planner gives the same
// protection, it breaks that rule too.
func TestBrokenProtectionsAreNoticed(t *testing.T) {
	for name, change := range map[string]func(*simulation){
		"nobody asks who set a node DOWN or FAIL": func(
			w *simulation) {
			w.faults.hideHolds = true
		},
		"any reason of others counts as a fault": func(w *simulation) { w.faults.anyReasonIsFault = true },
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
		t.Run(name, func(t *testing.T) { expectBrokenPromise(t, plan.DefaultRules(plan.DefaultConfig()), change) })
	}
}

// withFocus sets the focus of the histories.
func withFocus(of focus) func(*simulation) { return func(w *simulation) { w.focus = of } }

// expectBrokenPromise fails the test unless a history breaks a promise.
func expectBrokenPromise(t *testing.T, rules plan.Rules, change ...func(*simulation)) {
	t.Helper()
	expectNotice(t, rules, "", change...)
}

// firstNotices are the histories to begin with where the first that notices is far from 0. After a change of the simulation
// another one may be the first; the test then takes longer, and finds it.
var firstNotices = map[string]uint64{
	"TestBrokenGRESRulesAreNoticed/workers_are_created_on_records_whose_GRES_are_lost":                     3213,
	"TestBrokenPlansAreNoticed/a_held_node_is_not_closed_before_its_worker_comes_back":                     4041,
	"TestBrokenPlansAreNoticed/running_workers_are_replaced_though_they_were_registered":                   4266,
	"TestBrokenRecordPlansAreNoticed/old_names_are_deleted_before_there_are_new_ones":                      1067,
	"TestBrokenRulesAreNoticed/a_reading_from_before_a_worker_was_made_unprotects_it":                      4155,
	"TestBrokenVerdictsAreNoticed/a_worker_whose_record_Slurm_lost_is_taken_for_one_that_never_registered": 4266,
}

// expectNotice fails the test unless a history reports a broken promise.
func expectNotice(t *testing.T, rules plan.Rules, notices string, change ...func(*simulation)) {
	t.Helper()
	planner := plan.NewWithRules(rules)
	first := firstNotices[t.Name()]
	for seed := first; seed < first+30_000; seed++ {
		if w := playHistory(seed, planner, change...); w.broken != "" && strings.Contains(w.broken, notices) {
			t.Logf("history %d: %s", seed, w.broken)
			return
		}
	}
	t.Errorf("30,000 histories did not notice: %s", notices)
}
