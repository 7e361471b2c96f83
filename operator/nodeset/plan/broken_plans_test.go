package plan

import (
	"slices"
	"testing"
	"time"
)

// alteredPlan plans with a rule broken that is no function of the Planner.
type alteredPlan func(p *Planner, now time.Time, desired Desired, observed Observation) Actions

// withoutSteps leaves out steps.
func withoutSteps(which func(*Desired, Step) bool) alteredPlan {
	return func(p *Planner, now time.Time, desired Desired, observed Observation) Actions {
		actions := p.Plan(now, desired, observed)
		actions.Steps = slices.DeleteFunc(actions.Steps, func(s Step) bool { return which(&desired, s) })
		return actions
	}
}

// withoutAddDrain leaves out that held Slurm nodes without a worker are closed: of those
// that get one at once, or of the others.
func withoutAddDrain(gets bool) alteredPlan {
	return func(p *Planner, now time.Time, desired Desired, observed Observation) Actions {
		actions := p.Plan(now, desired, observed)
		created := map[string]bool{}
		for _, s := range actions.Steps {
			created[s.SlurmName] = created[s.SlurmName] || s.Verb == CreatePod
		}
		actions.Steps = slices.DeleteFunc(actions.Steps, func(s Step) bool {
			return s.Verb == AddDrain && s.Pod == "" && created[s.SlurmName] == gets
		})
		return actions
	}
}

// createFrom makes the workers that a plan on something else would, and decides all else on
// what was seen.
func createFrom(other func(*Desired, *SlurmReading)) alteredPlan {
	isCreation := func(s Step) bool { return s.Verb == CreatePod }
	return func(p *Planner, now time.Time, desired Desired, observed Observation) Actions {
		actions := p.Plan(now, desired, observed)
		other(&desired, &observed.Slurm)
		steps := slices.DeleteFunc(p.Plan(now, desired, observed).Steps, func(s Step) bool { return !isCreation(s) })
		actions.Steps = slices.Concat(slices.DeleteFunc(actions.Steps, isCreation), steps)
		return actions
	}
}

// replaceRunning deletes running workers that did not register, if the rule has it.
func replaceRunning(look Precondition, rule func(now time.Time, w *Worker, r Record, known bool) bool) alteredPlan {
	return func(p *Planner, now time.Time, desired Desired, observed Observation) Actions {
		actions := p.Plan(now, desired, observed)
		s := p.FilterReading(&desired, observed.Workers, observed.Slurm)
		if left, _ := p.cfg.remainingUnregisteredDeletions(now, len(observed.Workers),
			observed.UnregisteredDeletions); left == 0 {
			return actions
		}
		for _, w := range sortedByName(observed.Workers) {
			r, known := s.Records[w.SlurmName]
			if s.Fresh && w.Running && w.DeletedAt.IsZero() && s.Work[w.SlurmName].Jobs == 0 &&
				s.OwnedByOthers[w.SlurmName] == "" && rule(now, w, r, known) {
				actions.Steps = append(actions.Steps, Step{Verb: DeletePod, Pod: w.Pod, UID: w.UID,
					SlurmName: w.SlurmName, Precondition: look})
				break
			}
		}
		return actions
	}
}

// takeOrphansBack adopts orphans while the NodeSet is being deleted.
func takeOrphansBack(p *Planner, now time.Time, desired Desired, observed Observation) Actions {
	actions := p.Plan(now, desired, observed)
	for _, w := range sortedByName(observed.Workers) {
		if desired.Deleting && w.MissingOwners.NodeSet && w.DeletedAt.IsZero() {
			actions.Steps = slices.Insert(actions.Steps, 0, Step{Verb: AdoptPod, Pod: w.Pod, UID: w.UID,
				SlurmName: w.SlurmName})
		}
	}
	return actions
}

// keepChoices gives no choice for an update back.
func keepChoices(p *Planner, now time.Time, desired Desired, observed Observation) Actions {
	chosen := 0
	for _, w := range observed.Workers {
		if w.DrainMark.Cause == causeUpdate && w.DeletedAt.IsZero() {
			chosen++
		}
	}
	desired.Update.MaxUnavailable = max(desired.Update.MaxUnavailable, chosen)
	return p.Plan(now, desired, observed)
}

// TestBrokenPlansAreNoticed breaks one rule at a time in what the planner returns.
func TestBrokenPlansAreNoticed(t *testing.T) {
	overdue := func(since, now time.Time) bool { return !now.Before(since.Add(DefaultConfig().RegisterWithin)) }
	for name, alter := range map[string]alteredPlan{
		"workers are made before Slurm has been read": createFrom(func(_ *Desired, s *SlurmReading) { s.Known = true }),
		"a worker is made in the name of another NodeSet's Slurm node": createFrom(
			func(desired *Desired, s *SlurmReading) {
				records := map[string]Record{}
				for name, r := range s.Records {
					r.OwnerUID = desired.UID
					records[name] = r
				}
				s.Records = records
			}),
		"a worker is made in a name whose owner is not known": createFrom(func(desired *Desired, s *SlurmReading) {
			records := map[string]Record{}
			for name, r := range s.Records {
				if r.OwnerUID == "" {
					r.OwnerUID = desired.UID
				}
				records[name] = r
			}
			s.Records = records
		}),
		"choices above the budget are not given back": keepChoices,
		"running workers that never registered stay": withoutSteps(func(_ *Desired, s Step) bool {
			return s.Verb == DeletePod && s.Precondition == PreconditionFuture
		}),
		"running workers are replaced though Slurm has no record of them": replaceRunning(
			PreconditionUnregistered, func(now time.Time, w *Worker, r Record, known bool) bool {
				return !known && overdue(w.RunningSince, now)
			}),
		"running workers are replaced before their time": replaceRunning(
			PreconditionFuture, func(_ time.Time, _ *Worker, r Record, known bool) bool {
				return known && r.Future
			}),
		"a held node is not closed when its worker is to go": withoutSteps(func(_ *Desired, s Step) bool {
			return s.Verb == AddDrain && s.Pod != ""
		}),
		"a held node is not closed before its worker comes back": withoutAddDrain(true),
		"a NodeSet that is being deleted takes its orphans back": takeOrphansBack,
		"a NodeSet that is being deleted leaves its workers loose": withoutSteps(
			func(desired *Desired, s Step) bool { return s.Verb == AdoptPod && desired.Deleting }),
	} {
		t.Run(name, func(t *testing.T) {
			expectBrokenPromise(t, New(DefaultConfig()), func(w *simulation) { w.alterPlan = alter })
		})
	}
	t.Run("a held node is not closed while it has no worker", func(t *testing.T) {
		expectBrokenPromise(t, New(DefaultConfig()), withFocus(focusHolds),
			func(w *simulation) { w.alterPlan = withoutAddDrain(false) })
	})
}
