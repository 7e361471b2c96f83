package plan

import (
	"slices"
	"testing"
	"time"
)

// alteredPlan plans with a rule broken that is no function of the Planner.
type alteredPlan func(p *Planner, now time.Time, wish Wish, seen Seen) Todo

// without leaves out steps.
func without(which func(*Wish, Step) bool) alteredPlan {
	return func(p *Planner, now time.Time, wish Wish, seen Seen) Todo {
		todo := p.Plan(now, wish, seen)
		todo.Steps = slices.DeleteFunc(todo.Steps, func(s Step) bool { return which(&wish, s) })
		return todo
	}
}

// withoutClosing leaves out that held Slurm nodes without a worker are closed: of those
// that get one at once, or of the others.
func withoutClosing(gets bool) alteredPlan {
	return func(p *Planner, now time.Time, wish Wish, seen Seen) Todo {
		todo := p.Plan(now, wish, seen)
		created := map[string]bool{}
		for _, s := range todo.Steps {
			created[s.SlurmName] = created[s.SlurmName] || s.Verb == Create
		}
		todo.Steps = slices.DeleteFunc(todo.Steps, func(s Step) bool {
			return s.Verb == Close && s.Pod == "" && created[s.SlurmName] == gets
		})
		return todo
	}
}

// createOn makes the workers that a plan on something else would, and decides all else on
// what was seen.
func createOn(other func(*Wish, *Slurm)) alteredPlan {
	isCreation := func(s Step) bool { return s.Verb == Create }
	return func(p *Planner, now time.Time, wish Wish, seen Seen) Todo {
		todo := p.Plan(now, wish, seen)
		other(&wish, &seen.Slurm)
		steps := slices.DeleteFunc(p.Plan(now, wish, seen).Steps, func(s Step) bool { return !isCreation(s) })
		todo.Steps = slices.Concat(slices.DeleteFunc(todo.Steps, isCreation), steps)
		return todo
	}
}

// replaceRunning deletes running workers that did not register, if the rule has it.
func replaceRunning(look Look, rule func(now time.Time, w *Worker, r Record, known bool) bool) alteredPlan {
	return func(p *Planner, now time.Time, wish Wish, seen Seen) Todo {
		todo := p.Plan(now, wish, seen)
		s := p.Identify(&wish, seen.Workers, seen.Slurm)
		if left, _ := p.cfg.brake(now, len(seen.Workers), seen.Unregistered); left == 0 {
			return todo
		}
		for _, w := range sortedByName(seen.Workers) {
			r, known := s.Records[w.SlurmName]
			if s.Fresh && w.Running && w.Going.IsZero() && s.Work[w.SlurmName].Jobs == 0 && s.Taken[w.SlurmName] == "" && rule(now, w, r, known) {
				todo.Steps = append(todo.Steps, Step{Verb: Delete, Pod: w.Pod, UID: w.UID, SlurmName: w.SlurmName, Look: look})
				break
			}
		}
		return todo
	}
}

// takeOrphansBack adopts orphans while the NodeSet is being deleted.
func takeOrphansBack(p *Planner, now time.Time, wish Wish, seen Seen) Todo {
	todo := p.Plan(now, wish, seen)
	for _, w := range sortedByName(seen.Workers) {
		if wish.Deleting && w.Bond.Orphaned && w.Going.IsZero() {
			todo.Steps = slices.Insert(todo.Steps, 0, Step{Verb: Adopt, Pod: w.Pod, UID: w.UID, SlurmName: w.SlurmName})
		}
	}
	return todo
}

// keepChoices gives no choice for an update back.
func keepChoices(p *Planner, now time.Time, wish Wish, seen Seen) Todo {
	chosen := 0
	for _, w := range seen.Workers {
		if w.Note.Cause == update && w.Going.IsZero() {
			chosen++
		}
	}
	wish.Update.MaxUnavailable = max(wish.Update.MaxUnavailable, chosen)
	return p.Plan(now, wish, seen)
}

// TestBrokenPlansAreNoticed breaks one rule at a time in what the planner returns.
func TestBrokenPlansAreNoticed(t *testing.T) {
	overdue := func(since, now time.Time) bool { return !now.Before(since.Add(DefaultConfig().RegisterWithin)) }
	for name, alter := range map[string]alteredPlan{
		"workers are made before Slurm has been read": createOn(func(_ *Wish, s *Slurm) { s.Known = true }),
		"a worker is made in the name of another NodeSet's Slurm node": createOn(func(wish *Wish, s *Slurm) {
			records := map[string]Record{}
			for name, r := range s.Records {
				r.Owner = wish.UID
				records[name] = r
			}
			s.Records = records
		}),
		"a worker is made in a name whose owner is not known": createOn(func(wish *Wish, s *Slurm) {
			records := map[string]Record{}
			for name, r := range s.Records {
				if r.Owner == "" {
					r.Owner = wish.UID
				}
				records[name] = r
			}
			s.Records = records
		}),
		"choices above the budget are not given back": keepChoices,
		"running workers that never registered stay": without(func(_ *Wish, s Step) bool {
			return s.Verb == Delete && s.Look == LookFuture
		}),
		"running workers are replaced though Slurm has no record of them": replaceRunning(LookUnregistered, func(now time.Time, w *Worker, r Record, known bool) bool {
			return !known && overdue(w.RunningSince, now)
		}),
		"running workers are replaced before their time": replaceRunning(LookFuture, func(_ time.Time, _ *Worker, r Record, known bool) bool {
			return known && r.Future
		}),
		"a held node is not closed when its worker is to go": without(func(_ *Wish, s Step) bool {
			return s.Verb == Close && s.Pod != ""
		}),
		"a held node is not closed before its worker comes back":   withoutClosing(true),
		"a NodeSet that is being deleted takes its orphans back":   takeOrphansBack,
		"a NodeSet that is being deleted leaves its workers loose": without(func(wish *Wish, s Step) bool { return s.Verb == Adopt && wish.Deleting }),
	} {
		t.Run(name, func(t *testing.T) {
			notices(t, New(DefaultConfig()), func(w *world) { w.alter = alter })
		})
	}
	t.Run("a held node is not closed while it has no worker", func(t *testing.T) {
		notices(t, New(DefaultConfig()), much(onHolds), func(w *world) { w.alter = withoutClosing(false) })
	})
}
