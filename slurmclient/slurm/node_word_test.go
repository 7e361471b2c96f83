package slurm

import (
	"slices"
	"testing"
)

func TestNodeWord(t *testing.T) {
	for _, tc := range []struct {
		state []string
		want  string
	}{
		{[]string{"IDLE"}, "idle"},
		{[]string{"IDLE", "DRAIN"}, "drained"},
		{[]string{"DOWN", "DRAIN", "NOT_RESPONDING"}, "drained"},
		{[]string{"MIXED", "DRAIN"}, "draining"},
		{[]string{"IDLE", "COMPLETING", "DRAIN"}, "draining"},
		{[]string{"IDLE", "COMPLETING"}, "completing"},
		{[]string{"ALLOCATED", "COMPLETING"}, "allocated"},
		{[]string{"MIXED", "PLANNED"}, "mixed"},
		{[]string{"IDLE", "PLANNED"}, "planned"},
		{[]string{"IDLE", "RESERVED"}, "reserved"},
		{[]string{"IDLE", "MAINTENANCE", "RESERVED"}, "maint"},
		{[]string{"DOWN", "MAINTENANCE"}, "down"},
		{[]string{"ALLOCATED", "FAIL"}, "failing"},
		{[]string{"IDLE", "FAIL"}, "fail"},
		{[]string{"IDLE", "INVALID_REG", "DRAIN"}, "inval"},
		{[]string{"IDLE", "CLOUD", "POWERED_DOWN"}, "idle"},
		{[]string{"IDLE", "REBOOT_ISSUED"}, "reboot"},
		{[]string{"FUTURE"}, "future"},
		{[]string{"SOMETHING_NEW"}, "unknown"},
		{nil, "unknown"},
	} {
		if got := ParseNodeState(tc.state...).Word(); got != tc.want {
			t.Errorf("%v is %q, not %q", tc.state, got, tc.want)
		}
	}
}

func TestEveryNodeStateHasAListedWord(t *testing.T) {
	for _, base := range NodeBases() {
		for bit := range NodeFlagNames() {
			for _, flags := range []NodeFlags{1 << bit, 1<<bit | NodeDrain, 1<<bit | NodeCompleting} {
				if w := (NodeState{base, flags}).Word(); !slices.Contains(NodeWords(), w) {
					t.Errorf("%v has the word %q, which is not listed", NodeState{base, flags}, w)
				}
			}
		}
	}
}
