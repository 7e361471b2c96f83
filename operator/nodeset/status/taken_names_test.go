package status

import (
	"strings"
	"testing"

	"github.com/slurmtide/slurmtide/operator/nodeset/plan"
)

// TestReadyNamesWhatKeepsWorkersAway: each reason names the Kubernetes node, the ordinal or the worker, and the number of others.
func TestReadyNamesWhatKeepsWorkersAway(t *testing.T) {
	const override = "nodeset.slinky.slurm.net/hostname-override"
	for name, tc := range map[string]struct {
		actions plan.Actions
		pins    map[string]string
		want    string
	}{
		"an invalid name": {plan.Actions{InvalidNames: []string{"k-1"}}, nil,
			"; Kubernetes node k-1 gets no worker until its annotation " + override + " is a valid name"},
		"invalid names": {plan.Actions{InvalidNames: []string{"k-1", "k-2"}}, nil,
			"; Kubernetes nodes k-1, k-2 get no worker until their annotations " + override + " are valid names"},
		"a name that another ordinal keeps": {plan.Actions{KeptNames: []plan.KeptName{{Ordinal: 10, SlurmName: "n10", Pod: "gpu-0"}}}, nil,
			"; ordinal 10 gets no worker, because worker gpu-0 keeps the name n10"},
		"names that other ordinals keep": {plan.Actions{KeptNames: []plan.KeptName{{Ordinal: 10, SlurmName: "n10", Pod: "gpu-0"}, {Ordinal: 11}}}, nil,
			"; ordinal 10 gets no worker, because worker gpu-0 keeps the name n10, and 1 more names are kept"},
		"a pin that has ended": {plan.Actions{}, map[string]string{"0": "k-1"},
			"; ordinal 0 is no longer pinned to Kubernetes node k-1, because others have the Slurm node k-1"},
		"pins that have ended": {plan.Actions{}, map[string]string{"0": "k-1", "2": "k-2"},
			"because others have the Slurm node k-1; 1 more pins have ended"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newObservation(2)
			s.EndedPins = tc.pins
			tc.actions.Available = 1
			status := Of(s.Workers[0].ReadySince, s, &tc.actions)
			for _, c := range status.Conditions {
				if c.Type == "Ready" && !strings.Contains(c.Message, tc.want) {
					t.Errorf("Ready: %q, want %q", c.Message, tc.want)
				}
			}
		})
	}
}

// TestUpdatedTellsWhyAWorkerStays: the worker that would take its place can have no name.
func TestUpdatedTellsWhyAWorkerStays(t *testing.T) {
	actions := plan.Actions{Outdated: 1, WithoutSuccessor: []string{"n11"}, SuccessorProblem: "worker gpu-0 keeps the name n10"}
	want := "1 worker is of an old revision; n11 stays, because worker gpu-0 keeps the name n10"
	if got := updatedCondition(newObservation(2), &actions).Message; got != want {
		t.Errorf("Updated: %q, want %q", got, want)
	}
}
