package model

import (
	"slices"
	"time"

	"github.com/slurmtide/slurmtide/slurmclient"
	"github.com/slurmtide/slurmtide/slurmclient/hostlist"
	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

// nodeUse is the use of a node, as far as it matters for demand.
type nodeUse uint8

// The uses of a node.
const (
	UseBusy nodeUse = iota
	useIdle
	useBooting
	useUnusable
	UseOff
)

func (u nodeUse) countIn(p *Partition) {
	switch u {
	case UseBusy:
		p.BusyNodes++
	case useIdle:
		p.IdleNodes++
	case useBooting:
		p.BootingNodes++
	case useUnusable:
		p.UnusableNodes++
	case UseOff:
		p.OffNodes++
	}
}

// UseOf returns the use of a node by its record alone, in the words of NodeUses.
func UseOf(n *slurm.Node) string { return useWords[useOf(n, false, false)] }

// NodeUses returns the words for the uses of a node.
func NodeUses() []string { return slices.Clone(useWords[:]) }

var useWords = [...]string{
	UseBusy: "busy", useIdle: "idle", useBooting: "booting", useUnusable: "unusable", UseOff: "off",
}

// Usable reports whether the node exists and will run jobs now or later.
func (u nodeUse) Usable() bool { return u == UseBusy || u == useIdle || u == useBooting }

const (
	flagsUnusable = slurm.NodeDrain | slurm.NodeFail | slurm.NodeInvalid | slurm.NodeInvalidReg
	flagsOff      = slurm.NodePoweredDown | slurm.NodePoweringDown | slurm.NodePowerDown |
		slurm.NodePowerDrain | slurm.NodePoweringDrain
	flagsBooting = slurm.NodePoweringUp | slurm.NodePowerUp | slurm.NodeNotResponding |
		slurm.NodeReboot | slurm.NodeRebootRequested | slurm.NodeRebootIssued
	flagsReserved = slurm.NodeReserved | slurm.NodeMaintenance | slurm.NodeBlocked
	// flagsKeptFree are the flags of nodes on which no other job starts while they have work.
	flagsKeptFree = flagsUnusable | flagsReserved | flagsOff | slurm.NodeNotResponding
)

// useOf returns the use of a node. held is whether the node has a job that its record can omit: a suspended job
// (slurmctld reports such nodes as idle), a configuring job, or a job that started after nodes were read. reserved is
// whether an active reservation names the node.
//
// Work takes precedence, so a draining node is busy until its jobs have ended. A node that does not respond is about to
// return or about to become DOWN.
func useOf(n *slurm.Node, held, reserved bool) nodeUse {
	switch n.State.Base {
	case slurm.NodeFuture:
		if held {
			return UseBusy
		}
		return UseOff
	case slurm.NodeAllocated, slurm.NodeMixed:
		return UseBusy
	}
	switch {
	case n.State.Has(slurm.NodeCompleting):
		return UseBusy
	case n.State.Base != slurm.NodeIdle:
		return useUnusable // DOWN, ERROR, UNKNOWN, EXTERNAL: no job runs there
	case held:
		return UseBusy
	case n.State.Any(flagsUnusable):
		return useUnusable
	case reserved, n.State.Any(flagsReserved):
		return UseBusy
	case n.State.Any(flagsOff) && !n.State.Any(slurm.NodePoweringUp):
		return UseOff
	case n.State.Any(flagsBooting):
		return useBooting
	}
	return useIdle
}

// HasRoom reports whether another job could start on the node. reserved is whether an active
// reservation names it.
func hasRoom(n *slurm.Node, u nodeUse, reserved bool) bool {
	switch u {
	case useIdle, useBooting:
		return true
	case UseBusy:
		return n.State.Base == slurm.NodeMixed && !n.State.Any(flagsKeptFree|slurm.NodeCompleting) && n.Owner == "" && !reserved
	}
	return false
}

// nodeBeforeWork returns the node before it got work, based on its earlier record. A nil record stands for a node that
// did not exist and had no work.
func nodeBeforeWork(was *slurm.Node) *slurm.Node {
	if was == nil {
		return &slurm.Node{}
	}
	return was
}

// reservedNodes returns the hostlists of the active reservations.
func reservedNodes(s *slurmclient.Snapshot, now slurm.Time) []string {
	var out []string
	for _, r := range s.Reservations.Value {
		if r.Active(now) && r.Nodes != "" {
			out = append(out, r.Nodes)
		}
	}
	return out
}

// reservationStarts returns, per node, the start of its first future reservation within the longest
// ReservationLead of a pool.
func (c *Cluster) reservationStarts(s *slurmclient.Snapshot, now slurm.Time) map[string]slurm.Time {
	var lead time.Duration
	for i := range c.Pools {
		lead = max(lead, c.Pools[i].Spec.ReservationLead)
	}
	if lead <= 0 {
		return nil
	}
	out := map[string]slurm.Time{}
	for _, r := range s.Reservations.Value {
		if r.StartTime <= now || r.StartTime >= r.EndTime || r.StartTime.Sub(now) > lead {
			continue
		}
		for _, name := range expandHostlist(r.Nodes) {
			out[name] = EarlierTime(out[name], r.StartTime)
		}
	}
	return out
}

// ExpandHostlists returns the set of the names in the hostlists. A malformed list adds nothing.
func ExpandHostlists(lists []string) map[string]bool {
	if len(lists) == 0 {
		return nil
	}
	out := make(map[string]bool, len(lists))
	for _, list := range lists {
		if out[list] {
			continue // one name, which is known
		}
		names, err := hostlist.Bytes(list)
		if err != nil {
			continue
		}
		for name := range names {
			if !out[string(name)] {
				out[string(name)] = true
			}
		}
	}
	return out
}

// expandHostlist returns the distinct names of a hostlist, sorted; none if the list is malformed.
func expandHostlist(list string) []string {
	if list == "" {
		return nil
	}
	names, err := hostlist.Expand(list)
	if err != nil {
		return nil
	}
	slices.Sort(names)
	return slices.Compact(names)
}
