package slurm

import "slices"

// Node is one record of slurmctld's node table (scontrol(1), "show node").
type Node struct {
	Name string
	// Address and Hostname are NodeAddr and NodeHostName.
	Address, Hostname string
	Port              uint32
	State             NodeState

	// Partitions lists the partitions that the node is in.
	Partitions []string
	// Features are the available features, ActiveFeatures the active ones.
	Features, ActiveFeatures []string

	Boards, Sockets, CoresPerSocket, ThreadsPerCore uint32
	// CPUs is the number that slurmd registered or slurm.conf sets. EffectiveCPUs is how many of
	// them jobs may use, AllocCPUs how many are allocated to jobs, and IdleCPUs the rest.
	CPUs, EffectiveCPUs, AllocCPUs, IdleCPUs uint32
	// Load is the one-minute load average, unset when slurmd did not report it.
	Load Float
	// MemoryMiB is RealMemory, AllocMemoryMiB is allocated to jobs, FreeMemoryMiB is free
	// according to the operating system, and SpecializedMemoryMiB is reserved for the system
	// (MemSpecLimit).
	MemoryMiB, AllocMemoryMiB, SpecializedMemoryMiB uint64
	FreeMemoryMiB                                   Number
	TmpDiskMiB                                      uint64
	Weight                                          uint32

	// GRES and GRESUsed are Slurm's text, such as "gpu:h100:4" and
	// "gpu:h100:2(IDX:0-1)"; see ParseGRES.
	GRES, GRESUsed string
	// TRES and TRESUsed are the configured and allocated trackable resources;
	// see ParseTRES.
	TRES, TRESUsed string

	// Reason is the reason why the node is drained or down. ReasonBy is the user who set it, and ReasonAt the time.
	Reason, ReasonBy string
	ReasonAt         Time

	BootTime, SlurmdStartTime, LastBusy Time
	// NextState is the state that slurmctld was asked to give the node after the reboot that it is about to make or
	// is making.
	NextState NextState
	// ResumeAfter is when slurmctld resumes a node that is down or drained.
	ResumeAfter Time
	// Reservation is the name of the active reservation that contains the node.
	Reservation string
	// Owner is the user to whom the node belongs for now: no other user gets jobs on it.
	Owner                    string
	Comment, Extra           string
	InstanceID, InstanceType string
	Architecture, OS         string
	// Version is the version of slurmd.
	Version  string
	Topology string
}

// Same reports whether the two records are equal in every field.
func (n *Node) Same(m *Node) bool {
	return n.sameIdentity(m) && n.sameResources(m) && n.sameStatus(m) &&
		slices.Equal(n.Partitions, m.Partitions) &&
		slices.Equal(n.Features, m.Features) &&
		slices.Equal(n.ActiveFeatures, m.ActiveFeatures)
}

func (n *Node) sameIdentity(m *Node) bool {
	return n.Name == m.Name && n.Address == m.Address && n.Hostname == m.Hostname &&
		n.Port == m.Port && n.Weight == m.Weight && n.Owner == m.Owner &&
		n.InstanceID == m.InstanceID && n.InstanceType == m.InstanceType &&
		n.Architecture == m.Architecture && n.OS == m.OS && n.Version == m.Version &&
		n.Topology == m.Topology && n.Comment == m.Comment && n.Extra == m.Extra
}

func (n *Node) sameResources(m *Node) bool {
	return n.Boards == m.Boards && n.Sockets == m.Sockets &&
		n.CoresPerSocket == m.CoresPerSocket && n.ThreadsPerCore == m.ThreadsPerCore &&
		n.CPUs == m.CPUs && n.EffectiveCPUs == m.EffectiveCPUs &&
		n.AllocCPUs == m.AllocCPUs && n.IdleCPUs == m.IdleCPUs && n.Load == m.Load &&
		n.MemoryMiB == m.MemoryMiB && n.AllocMemoryMiB == m.AllocMemoryMiB &&
		n.SpecializedMemoryMiB == m.SpecializedMemoryMiB &&
		n.FreeMemoryMiB == m.FreeMemoryMiB && n.TmpDiskMiB == m.TmpDiskMiB &&
		n.GRES == m.GRES && n.GRESUsed == m.GRESUsed && n.TRES == m.TRES && n.TRESUsed == m.TRESUsed
}

func (n *Node) sameStatus(m *Node) bool {
	return n.State == m.State && n.Reason == m.Reason && n.ReasonBy == m.ReasonBy &&
		n.ReasonAt == m.ReasonAt && n.BootTime == m.BootTime &&
		n.SlurmdStartTime == m.SlurmdStartTime && n.LastBusy == m.LastBusy &&
		n.ResumeAfter == m.ResumeAfter && n.NextState == m.NextState && n.Reservation == m.Reservation
}
