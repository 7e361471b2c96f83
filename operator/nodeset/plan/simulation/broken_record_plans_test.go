package simulation

import (
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
	"github.com/slurmtide/slurmtide/operator/nodeset/plan"
)

// withRecords plans on other records.
func withRecords(change func(*plan.Record)) alteredPlan {
	return withReading(func(s *plan.SlurmReading) {
		records := map[string]plan.Record{}
		for name, r := range s.Records {
			change(&r)
			records[name] = r
		}
		s.Records = records
	})
}

// withReading plans on another reading of Slurm.
func withReading(change func(*plan.SlurmReading)) alteredPlan {
	return func(p *plan.Planner, now time.Time, desired plan.Desired, observed plan.Observation) plan.Actions {
		change(&observed.Slurm)
		return p.Plan(now, desired, observed)
	}
}

// changeSteps changes the steps of a plan.
func changeSteps(change func(observed *plan.Observation, s *plan.Step)) alteredPlan {
	return func(p *plan.Planner, now time.Time, desired plan.Desired, observed plan.Observation) plan.Actions {
		actions := p.Plan(now, desired, observed)
		for i := range actions.Steps {
			change(&observed, &actions.Steps[i])
		}
		return actions
	}
}

// deleteBeforeCreation deletes surplus records as if the records of other workers existed.
func deleteBeforeCreation(p *plan.Planner, now time.Time, desired plan.Desired, observed plan.Observation) plan.Actions {
	actions := p.Plan(now, desired, observed)
	observed.Slurm.Records = maps.Clone(observed.Slurm.Records)
	for i := range desired.OrdinalsEnd(0, 0) {
		if name := desired.SlurmName(i); observed.Slurm.Records != nil && observed.Slurm.Records[name].Name == "" {
			observed.Slurm.Records[name] = plan.Record{Name: name, Future: true, Dynamic: true, OwnerUID: desired.UID}
		}
	}
	for _, s := range p.Plan(now, desired, observed).Steps {
		if s.Verb == plan.DeleteRecord && s.Precondition == plan.PreconditionUnregistered {
			actions.Steps = append(actions.Steps, s)
		}
	}
	return actions
}

// recreateAllRecords creates all records of another shape again at a time.
func recreateAllRecords(p *plan.Planner, now time.Time, desired plan.Desired, observed plan.Observation) plan.Actions {
	actions := p.Plan(now, desired, observed)
	planned := map[string]bool{}
	for _, s := range actions.Steps {
		planned[s.SlurmName] = true
	}
	for name, r := range observed.Slurm.Records {
		if actions.OldShapes[name] == "" && r.Future && r.OtherShape && !planned[name] && observed.Slurm.Fresh {
			actions.Steps = append(actions.Steps, plan.Step{Verb: plan.RecreateRecord, SlurmName: name,
				Precondition: plan.PreconditionFuture})
		}
	}
	return actions
}

// waitForJobs chooses no worker with work while jobs have not been listed, however long that takes.
func waitForJobs(p *plan.Planner, now time.Time, desired plan.Desired, observed plan.Observation) plan.Actions {
	actions := p.Plan(now, desired, observed)
	s, unlisted, chosen := &observed.Slurm, false, map[string]bool{}
	for _, w := range observed.Workers {
		unlisted = unlisted || s.JobsReadAt.Before(s.NodesReadAt) && s.Records[w.SlurmName].Busy && s.Work[w.SlurmName].Jobs == 0
		chosen[w.Pod] = w.DrainMark.Cause != "" || !s.Records[w.SlurmName].Busy && s.Work[w.SlurmName].Jobs == 0
	}
	return withoutPlannedSteps(actions, func(step plan.Step) bool {
		return unlisted && step.Verb == plan.Annotate && step.DrainMark.Cause == v1beta1.DrainCauseScaleIn && !chosen[step.Pod]
	})
}

// forgetRequests does not ask workers that Slurm lost to register again.
func forgetRequests(p *plan.Planner, now time.Time, desired plan.Desired, observed plan.Observation) plan.Actions {
	actions, marks := p.Plan(now, desired, observed), map[string]plan.DrainMark{}
	for _, w := range observed.Workers {
		marks[w.Pod] = w.DrainMark
	}
	for i := range actions.Steps {
		actions.Steps[i].DrainMark.RegisterAgain = marks[actions.Steps[i].Pod].RegisterAgain
	}
	return withoutPlannedSteps(actions, func(s plan.Step) bool { return s.Verb == plan.Annotate && s.DrainMark == marks[s.Pod] })
}

// isOfReboot reports whether a step ends the outage of a node whose worker was replaced for its reboot.
func isOfReboot(_ *plan.Desired, s plan.Step) bool {
	return (s.Verb == plan.Resume || s.Verb == plan.MarkFuture || s.Verb == plan.DeleteRecord) && strings.Contains(s.Reason, "reboot")
}

// TestBrokenRecordPlansAreNoticed breaks one rule at a time about the records of Slurm nodes, and about workers whose
// records slurmctld lost or drained.
func TestBrokenRecordPlansAreNoticed(t *testing.T) {
	for name, tc := range map[string]struct {
		focus focus
		alter alteredPlan
		// notices is part of the history's message.
		notices string
	}{
		"what cannot be read names no record": {focusRecords, withReading(func(s *plan.SlurmReading) { s.ReferencesProblem = "" }),
			"it is not known what names it"},
		"a named record of a worker is deleted with its pod": {focusRecords, changeSteps(func(observed *plan.Observation, s *plan.Step) {
			if s.Verb == plan.MarkFuture && observed.Slurm.References[s.SlurmName] != "" {
				s.Verb = plan.DeleteRecord
			}
		}), "it is known that job 7 names it"},
		"old names are deleted before there are new ones": {focusRecords, deleteBeforeCreation, "is deleted before there is a record of"},
		"a comment of others is nobody's":                 {0, withRecords(func(r *plan.Record) { r.ForeignComment = false }), "is another NodeSet's"},
		"records of another shape are never created again": {focusShapes, withoutSteps(func(_ *plan.Desired, s plan.Step) bool {
			return s.Verb == plan.RecreateRecord
		}), "has shape"},
		"another shape is not noticed":                {focusShapes, withRecords(func(r *plan.Record) { r.OtherShape = false }), "has shape"},
		"all records are created again at a time":     {focusShapes, recreateAllRecords, "are created again at a time"},
		"drained nodes are as good as other ordinals": {focusHolds, createFrom(takeHoldsForOurs), "whose Slurm node is drained, and"},
		"a drained record without a pod keeps its pod": {0, withoutSteps(func(_ *plan.Desired, s plan.Step) bool { return s.Verb == plan.ClearPod }),
			"has no worker, and counts as a lost one"},
		"lost workers are not asked to register again": {focusLost, forgetRequests, "at rest Slurm does not know the worker"},
		"a reboot is not noticed":                      {0, withRecords(func(r *plan.Record) { r.Rebooting = false }), "waits for its reboot"},
		"a rebooted node stays out of service":         {0, withoutSteps(isOfReboot), "drained for a fault of an earlier worker"},
		"the work of nodes that a reading lacks is dropped": {focusLost, withReading(func(s *plan.SlurmReading) {
			s.Work = maps.Clone(s.Work)
			for name := range s.Work {
				if _, listed := s.Records[name]; !listed {
					delete(s.Work, name)
				}
			}
		}), "and a job is known to run there"},
		"scale-in waits for the list of jobs": {0, waitForJobs, "wait for a list of jobs"},
	} {
		t.Run(name, func(t *testing.T) {
			expectNotice(t, plan.DefaultRules(plan.DefaultConfig()), tc.notices, withFocus(tc.focus),
				func(w *simulation) { w.alterPlan = tc.alter })
		})
	}
}

// takeHoldsForOurs makes the drains of others look like the operator's.
func takeHoldsForOurs(desired *plan.Desired, s *plan.SlurmReading) {
	records := map[string]plan.Record{}
	for name, r := range s.Records {
		r.OurReason = r.OurReason || r.Drain && r.OwnerUID == desired.UID
		records[name] = r
	}
	s.Records = records
}

// TestBrokenRuleOfRebootsIsNoticed has workers replaced for a reboot although they have work.
func TestBrokenRuleOfRebootsIsNoticed(t *testing.T) {
	rules := plan.DefaultRules(plan.DefaultConfig())
	intact := rules.JudgeDeletion
	rules.JudgeDeletion = func(now time.Time, desired *plan.Desired, s *plan.SlurmReading, w *plan.Worker, since time.Time) plan.Verdict {
		if s.Fresh && s.Records[w.SlurmName].Rebooting {
			return plan.Verdict{Allowed: true, Precondition: plan.NoPrecondition, Message: "slurmctld asked to reboot it"}
		}
		return intact(now, desired, s, w, since)
	}
	expectNotice(t, rules, "with 1 jobs on it: slurmctld asked to reboot it", withFocus(focusHolds))
}
