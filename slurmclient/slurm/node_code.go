package slurm

// nodeSigns are the flags for which sinfo(1) appends a sign, in the order in which it looks for them.
var nodeSigns = []struct {
	flag NodeFlags
	sign string
}{
	{NodeMaintenance, "$"}, {NodeRebootIssued, "^"}, {NodeRebootRequested, "@"}, {NodePoweringUp, "#"},
	{NodePoweringDown, "%"}, {NodePoweredDown, "~"}, {NodePowerDown, "!"}, {NodeNotResponding, "*"},
}

// Code returns the short word that sinfo(1) shows for the state ("%t"), in lower case and with its sign: "idle~",
// "drng*", "mix-".
func (s NodeState) Code() string {
	switch rebooting := s.Any(NodeRebootRequested | NodeRebootIssued); {
	case s.Has(NodeInvalidReg):
		return "inval"
	case s.Has(NodeMaintenance) && !s.Has(NodeDrain) && !s.Allocated() && s.Base != NodeDown:
		return "maint" + s.silentSign()
	case rebooting && !s.Allocated() && s.Has(NodeRebootIssued):
		return "boot^"
	case rebooting && !s.Allocated():
		return "boot" + s.silentSign()
	case s.Draining():
		return "drng" + s.sign()
	case s.Has(NodeDrain):
		return "drain" + s.sign()
	case s.Has(NodeFail) && s.Busy():
		return "failg" + s.silentSign()
	case s.Has(NodeFail):
		return "fail" + s.silentSign()
	}
	return s.baseCode()
}

// baseCode returns the short word of a node that is neither drained nor failing.
func (s NodeState) baseCode() string {
	sign := s.sign()
	switch {
	case s.Base == NodeDown:
		return "down" + sign
	case s.Base == NodeAllocated && sign == "" && s.Has(NodeCompleting):
		return "alloc+"
	case s.Base == NodeAllocated:
		return "alloc" + sign
	case s.Has(NodeCompleting):
		return "comp" + sign
	case s.Base == NodeMixed && sign == "" && s.Has(NodePlanned):
		return "mix-"
	case s.Base == NodeMixed:
		return "mix" + sign
	case s.Base == NodeIdle && sign == "":
		return s.idleCode()
	case s.Base == NodeIdle:
		return "idle" + sign
	case s.Base == NodeFuture:
		return "futr" + sign
	case s.Base == NodeUnknown:
		return "unk" + s.silentSign()
	}
	return lowerWord(s.Base)
}

func (s NodeState) idleCode() string {
	switch {
	case s.Has(NodeReserved):
		return "resv"
	case s.Has(NodeBlocked):
		return "block"
	case s.Has(NodePlanned):
		return "plnd"
	}
	return "idle"
}

// sign returns the sign that sinfo appends, or "".
func (s NodeState) sign() string {
	for _, n := range nodeSigns {
		if s.Has(n.flag) {
			return n.sign
		}
	}
	return ""
}

// silentSign returns the sign of a node that does not respond, or "".
func (s NodeState) silentSign() string {
	if s.Has(NodeNotResponding) {
		return "*"
	}
	return ""
}

// nodeBaseRanks and nodeFlagRanks are the values of the states in slurm.h, by which sinfo(1) sorts.
var (
	nodeBaseRanks = [...]uint64{NodeUnknown: 0, NodeDown: 1, NodeIdle: 2, NodeAllocated: 3, NodeError: 4, NodeMixed: 5, NodeFuture: 6}
	nodeFlagRanks = map[NodeFlags]uint64{
		NodeExternalFlag: 1 << 4, NodeReserved: 1 << 5, NodeUndrain: 1 << 6, NodeCloud: 1 << 7, NodeResume: 1 << 8,
		NodeDrain: 1 << 9, NodeCompleting: 1 << 10, NodeNotResponding: 1 << 11, NodePoweredDown: 1 << 12, NodeFail: 1 << 13,
		NodePoweringUp: 1 << 14, NodeMaintenance: 1 << 15, NodeRebootRequested: 1 << 16, NodeRebootCanceled: 1 << 17,
		NodePoweringDown: 1 << 18, NodeDynamicFuture: 1 << 19, NodeRebootIssued: 1 << 20, NodePlanned: 1 << 21,
		NodeInvalidReg: 1 << 22, NodePowerDown: 1 << 23, NodePowerUp: 1 << 24, NodePowerDrain: 1 << 25,
		NodeDynamicNorm: 1 << 26, NodeBlocked: 1 << 27,
	}
)

// Rank orders states as sinfo(1) does, which shows the highest rank first.
func (s NodeState) Rank() uint64 {
	var rank uint64
	if int(s.Base) < len(nodeBaseRanks) {
		rank = nodeBaseRanks[s.Base]
	}
	for flag, bit := range nodeFlagRanks {
		if s.Has(flag) {
			rank |= bit
		}
	}
	return rank
}
