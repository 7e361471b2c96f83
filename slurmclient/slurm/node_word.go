package slurm

import "slices"

// nodeWords are the words of NodeState.Word, in the order in which they are shown.
var nodeWords = [...]string{
	"allocated", "blocked", "completing", "down", "drained", "draining", "error", "external", "fail",
	"failing", "future", "idle", "inval", "maint", "mixed", "planned", "reboot", "reserved", "unknown",
}

// NodeWords returns every word that NodeState.Word can return.
func NodeWords() []string { return slices.Clone(nodeWords[:]) }

// Word returns the word that sinfo(1) shows for the state ("%T"), in lower case and without the signs
// that sinfo appends for power saving, reboots and nodes that do not respond. Every state has exactly
// one word.
func (s NodeState) Word() string {
	switch {
	case s.Has(NodeInvalidReg):
		return "inval"
	case s.Has(NodeMaintenance) && !s.Has(NodeDrain) && (s.Base == NodeIdle || s.Base == NodeUnknown):
		return "maint"
	case s.Has(NodeDrain) && s.Busy():
		return "draining"
	case s.Has(NodeDrain):
		return "drained"
	case s.Has(NodeFail) && s.Busy():
		return "failing"
	case s.Has(NodeFail):
		return "fail"
	case s.Base == NodeAllocated, s.Base == NodeDown:
		return lowerWord(s.Base)
	case s.Has(NodeCompleting):
		return "completing"
	case s.Base == NodeIdle:
		return s.idleWord()
	}
	return lowerWord(s.Base)
}

func (s NodeState) idleWord() string {
	switch {
	case s.Any(NodeRebootRequested | NodeRebootIssued | NodeReboot):
		return "reboot"
	case s.Has(NodeReserved):
		return "reserved"
	case s.Has(NodePlanned):
		return "planned"
	case s.Has(NodeBlocked):
		return "blocked"
	}
	return "idle"
}

func lowerWord(b NodeBase) string {
	return [...]string{"unknown", "down", "idle", "allocated", "error", "mixed", "future", "external"}[b]
}
