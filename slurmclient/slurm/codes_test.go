package slurm

import "testing"

// The states and letters are from sinfo and squeue of Slurm 24.11.5 and 26.05.5 or their manuals.
func TestNodeCode(t *testing.T) {
	for _, tc := range []struct {
		state []string
		want  string
	}{
		{[]string{"IDLE"}, "idle"},
		{[]string{"IDLE", "CLOUD", "POWERED_DOWN"}, "idle~"},
		{[]string{"MIXED", "CLOUD", "POWERING_UP"}, "mix#"},
		{[]string{"MIXED", "PLANNED"}, "mix-"},
		{[]string{"MIXED", "MAINTENANCE"}, "mix$"},
		{[]string{"IDLE", "MAINTENANCE"}, "maint"},
		{[]string{"IDLE", "MAINTENANCE", "NOT_RESPONDING"}, "maint*"},
		{[]string{"IDLE", "MAINTENANCE", "DRAIN"}, "drain$"},
		{[]string{"IDLE", "DRAIN"}, "drain"},
		{[]string{"DOWN", "DRAIN", "NOT_RESPONDING"}, "drain*"},
		{[]string{"MIXED", "DRAIN"}, "drng"},
		{[]string{"IDLE", "COMPLETING", "DRAIN"}, "drng"},
		{[]string{"IDLE", "COMPLETING"}, "comp"},
		{[]string{"ALLOCATED", "COMPLETING"}, "alloc+"},
		{[]string{"ALLOCATED", "NOT_RESPONDING", "COMPLETING"}, "alloc*"},
		{[]string{"DOWN", "NOT_RESPONDING"}, "down*"},
		{[]string{"DOWN", "MAINTENANCE"}, "down$"},
		{[]string{"IDLE", "RESERVED"}, "resv"},
		{[]string{"IDLE", "PLANNED"}, "plnd"},
		{[]string{"IDLE", "BLOCKED"}, "block"},
		{[]string{"IDLE", "REBOOT_ISSUED"}, "boot^"},
		{[]string{"IDLE", "DRAIN", "REBOOT_REQUESTED"}, "boot"},
		{[]string{"ALLOCATED", "DRAIN", "REBOOT_REQUESTED"}, "drng@"},
		{[]string{"ALLOCATED", "FAIL"}, "failg"},
		{[]string{"IDLE", "FAIL", "NOT_RESPONDING"}, "fail*"},
		{[]string{"IDLE", "DRAIN", "INVALID_REG"}, "inval"},
		{[]string{"FUTURE"}, "futr"},
		{nil, "unk"},
	} {
		if got := ParseNodeState(tc.state...).Code(); got != tc.want {
			t.Errorf("Code of %v = %q, want %q", tc.state, got, tc.want)
		}
	}
}

func TestNodesWithFlagsRankBeforeTheirBaseState(t *testing.T) {
	order := [][]string{{"MIXED", "MAINTENANCE"}, {"MIXED", "DRAIN"}, {"IDLE", "DRAIN"}, {"DOWN", "DRAIN"}, {"MIXED"},
		{"ALLOCATED"}, {"IDLE"}, {"DOWN"}, {"UNKNOWN"}}
	for i := 1; i < len(order); i++ {
		if a, b := ParseNodeState(order[i-1]...).Rank(), ParseNodeState(order[i]...).Rank(); a <= b {
			t.Errorf("%v has rank %d, %v has rank %d", order[i-1], a, order[i], b)
		}
	}
}

func TestJobCode(t *testing.T) {
	for _, tc := range []struct {
		state []string
		want  string
	}{
		{[]string{"PENDING"}, "PD"},
		{[]string{"RUNNING"}, "R"},
		{[]string{"RUNNING", "CONFIGURING"}, "CF"},
		{[]string{"COMPLETED", "COMPLETING"}, "CG"},
		{[]string{"PENDING", "REQUEUE_HOLD"}, "RH"},
		{[]string{"PENDING", "SPECIAL_EXIT"}, "SE"},
		{[]string{"RUNNING", "POWER_UP_NODE"}, "R"},
		{[]string{"OUT_OF_MEMORY"}, "OOM"},
		{[]string{"NODE_FAIL"}, "NF"},
		{nil, "?"},
	} {
		if got := ParseJobState(tc.state...).Code(); got != tc.want {
			t.Errorf("Code of %v = %q, want %q", tc.state, got, tc.want)
		}
	}
	for code, state := range JobCodes() {
		if state.Code() != code {
			t.Errorf("%q is the code of %v, which has the code %q", code, state, state.Code())
		}
	}
}
