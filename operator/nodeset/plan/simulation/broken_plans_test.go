package simulation

import (
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
	"github.com/slurmtide/slurmtide/operator/nodeset/plan"
)

// alteredPlan plans with a rule broken that is no function of the Planner.
type alteredPlan func(p *plan.Planner, now time.Time, desired plan.Desired, observed plan.Observation) plan.Actions

// withoutSteps leaves out steps.
func withoutSteps(which func(*plan.Desired, plan.Step) bool) alteredPlan {
	return func(p *plan.Planner, now time.Time, desired plan.Desired, observed plan.Observation) plan.Actions {
		return withoutPlannedSteps(p.Plan(now, desired, observed), func(s plan.Step) bool { return which(&desired, s) })
	}
}

func withoutPlannedSteps(actions plan.Actions, which func(plan.Step) bool) plan.Actions {
	actions.Steps = slices.DeleteFunc(actions.Steps, which)
	return actions
}

// withoutAddDrain leaves out that held Slurm nodes without a worker are closed: of those
// that get one at once, or of the others.
func withoutAddDrain(gets bool) alteredPlan {
	return func(p *plan.Planner, now time.Time, desired plan.Desired, observed plan.Observation) plan.Actions {
		actions := p.Plan(now, desired, observed)
		created := map[string]bool{}
		for _, s := range actions.Steps {
			created[s.SlurmName] = created[s.SlurmName] || s.Verb == plan.CreatePod
		}
		actions.Steps = slices.DeleteFunc(actions.Steps, func(s plan.Step) bool {
			return s.Verb == plan.AddDrain && s.Pod == "" && created[s.SlurmName] == gets
		})
		return actions
	}
}

// createFrom creates the workers of a plan on other input, and decides everything else on the observation.
func createFrom(other func(*plan.Desired, *plan.SlurmReading)) alteredPlan {
	isCreation := func(s plan.Step) bool { return s.Verb == plan.CreatePod }
	return func(p *plan.Planner, now time.Time, desired plan.Desired, observed plan.Observation) plan.Actions {
		actions := p.Plan(now, desired, observed)
		other(&desired, &observed.Slurm)
		steps := slices.DeleteFunc(p.Plan(now, desired, observed).Steps,
			func(s plan.Step) bool { return !isCreation(s) })
		actions.Steps = slices.Concat(slices.DeleteFunc(actions.Steps, isCreation), steps)
		return actions
	}
}

// replaceRunning deletes running workers that did not register, if the rule has it.
func replaceRunning(look plan.Precondition, rule func(now time.Time, w *plan.Worker, r plan.Record,
	known bool) bool) alteredPlan {
	return func(p *plan.Planner, now time.Time, desired plan.Desired, observed plan.Observation) plan.Actions {
		actions := p.Plan(now, desired, observed)
		s := p.FilterReading(&desired, observed.Workers, observed.Slurm)
		isRecent := func(t time.Time) bool {
			return now.Before(t.Add(plan.DefaultConfig().UnregisteredDeletionInterval))
		}
		if slices.ContainsFunc(observed.UnregisteredDeletions, isRecent) { // of so few workers one at a time
			return actions
		}
		for i := range observed.Workers {
			w := &observed.Workers[i]
			r, known := s.Records[w.SlurmName]
			if s.Fresh && w.Running && w.DeletedAt.IsZero() && s.Work[w.SlurmName].Jobs == 0 &&
				s.OwnedByOthers[w.SlurmName] == "" && rule(now, w, r, known) {
				actions.Steps = append(actions.Steps, plan.Step{Verb: plan.DeletePod, Pod: w.Pod, UID: w.UID,
					SlurmName: w.SlurmName, Precondition: look})
				break
			}
		}
		return actions
	}
}

// takeOrphansBack adopts orphans while the NodeSet is being deleted.
func takeOrphansBack(p *plan.Planner, now time.Time, desired plan.Desired, observed plan.Observation) plan.Actions {
	actions := p.Plan(now, desired, observed)
	for _, w := range observed.Workers {
		if desired.Deleting && w.MissingOwners.NodeSet && w.DeletedAt.IsZero() {
			actions.Steps = slices.Insert(actions.Steps, 0, plan.Step{Verb: plan.AdoptPod, Pod: w.Pod, UID: w.UID,
				SlurmName: w.SlurmName})
		}
	}
	return actions
}

// keepChoices gives no choice for an update back.
func keepChoices(p *plan.Planner, now time.Time, desired plan.Desired, observed plan.Observation) plan.Actions {
	chosen := 0
	for _, w := range observed.Workers {
		if w.DrainMark.Cause == v1beta1.DrainCauseUpdate && w.DeletedAt.IsZero() {
			chosen++
		}
	}
	desired.Update.MaxUnavailable = max(desired.Update.MaxUnavailable, chosen)
	return p.Plan(now, desired, observed)
}

// TestBrokenPlansAreNoticed breaks one rule at a time in the planner's result.
func TestBrokenPlansAreNoticed(t *testing.T) {
	overdue := func(since, now time.Time) bool { return !now.Before(since.Add(plan.DefaultConfig().RegisterWithin)) }
	for name, alter := range map[string]alteredPlan{
		"workers are made before Slurm has been read": createFrom(
			func(_ *plan.Desired, s *plan.SlurmReading) { s.Known = true }),
		"a worker is made in the name of another NodeSet's Slurm node": createFrom(
			func(desired *plan.Desired, s *plan.SlurmReading) {
				records := map[string]plan.Record{}
				for name, r := range s.Records {
					r.OwnerUID = desired.UID
					records[name] = r
				}
				s.Records = records
			}),
		"a worker is made in a name whose owner is not known": createFrom(
			func(desired *plan.Desired, s *plan.SlurmReading) {
				records := map[string]plan.Record{}
				for name, r := range s.Records {
					if r.OwnerUID == "" {
						r.OwnerUID = desired.UID
					}
					records[name] = r
				}
				s.Records = records
			}),
		"choices above the budget are not given back": keepChoices,
		"running workers are replaced though they were registered": func(p *plan.Planner, now time.Time,
			desired plan.Desired, observed plan.Observation) plan.Actions {
			observed.Workers = slices.Clone(observed.Workers)
			for i := range observed.Workers {
				observed.Workers[i].Registered = time.Time{}
			}
			return p.Plan(now, desired, observed)
		},
		"the drain of a faulty worker ends while it runs": func(p *plan.Planner, now time.Time, desired plan.Desired,
			observed plan.Observation) plan.Actions {
			observed.Slurm.Records = maps.Clone(observed.Slurm.Records)
			for name, r := range observed.Slurm.Records {
				r.FaultAt = time.Unix(1, 0)
				observed.Slurm.Records[name] = r
			}
			return p.Plan(now, desired, observed)
		},
		"running workers that never registered stay": withoutSteps(func(_ *plan.Desired, s plan.Step) bool {
			return s.Verb == plan.DeletePod && s.Precondition == plan.PreconditionFuture
		}),
		"running workers are replaced though Slurm has no record of them": replaceRunning(
			plan.PreconditionUnregistered, func(now time.Time, w *plan.Worker, r plan.Record, known bool) bool {
				return !known && overdue(w.RunningSince, now)
			}),
		"running workers are replaced before their time": replaceRunning(
			plan.PreconditionFuture, func(_ time.Time, _ *plan.Worker, r plan.Record, known bool) bool {
				return known && r.Future
			}),
		"a held node is not closed when its worker is to go": withoutSteps(func(_ *plan.Desired, s plan.Step) bool {
			return s.Verb == plan.AddDrain && s.Pod != ""
		}),
		"a held node is not closed before its worker comes back": withoutAddDrain(true),
		"a NodeSet that is being deleted takes its orphans back": takeOrphansBack,
		"a NodeSet that is being deleted leaves its workers loose": withoutSteps(
			func(desired *plan.Desired, s plan.Step) bool { return s.Verb == plan.AdoptPod && desired.Deleting }),
	} {
		t.Run(name, func(t *testing.T) {
			expectBrokenPromise(t, plan.DefaultRules(plan.DefaultConfig()), func(w *simulation) { w.alterPlan = alter })
		})
	}
	t.Run("the claims of a worker that Slurm lost are to go", func(t *testing.T) {
		expectBrokenPromise(t, plan.DefaultRules(plan.DefaultConfig()), withFocus(focusLost), func(w *simulation) {
			w.alterPlan = func(p *plan.Planner, now time.Time, desired plan.Desired, observed plan.Observation) plan.Actions {
				actions := p.Plan(now, desired, observed)
				actions.Claims = slices.DeleteFunc(actions.Claims, func(c plan.ClaimChange) bool { return !c.Delete })
				return actions
			}
		})
	})
	t.Run("a held node is not closed while it has no worker", func(t *testing.T) {
		expectBrokenPromise(t, plan.DefaultRules(plan.DefaultConfig()), withFocus(focusHolds),
			func(w *simulation) { w.alterPlan = withoutAddDrain(false) })
	})
}
