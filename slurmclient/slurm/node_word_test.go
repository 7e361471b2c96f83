package slurm

import (
	"slices"
	"strings"
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

func TestWhichStatesHaveJobs(t *testing.T) {
	for _, tc := range []struct {
		state                      string
		allocated, busy, mayBeBusy bool
	}{
		{"IDLE", false, false, false},
		{"DOWN", false, false, false},
		{"FUTURE", false, false, false},
		{"IDLE+COMPLETING", false, true, true},
		{"DOWN+COMPLETING", false, true, true},
		{"IDLE+DRAIN", false, false, false},
		{"ALLOCATED", true, true, true},
		{"MIXED+DRAIN", true, true, true},
		{"ERROR", false, false, true},
		{"UNKNOWN", false, false, true},
		{"EXTERNAL", false, false, true},
		{"DREAMING", false, false, true},
	} {
		s := ParseNodeState(strings.Split(tc.state, "+")...)
		if s.Allocated() != tc.allocated || s.Busy() != tc.busy || s.MayHaveJobs() != tc.mayBeBusy {
			t.Errorf("%s: allocated %v, busy %v, may have jobs %v", tc.state, s.Allocated(), s.Busy(), s.MayHaveJobs())
		}
	}
}
