package slurmctld

import (
	"math/bits"
	"slices"
	"strings"

	"github.com/slurmtide/slurmtide/slurmclient/slurm"
	"github.com/slurmtide/slurmtide/slurmclient/slurmtest/internal/copyonwrite"
	"github.com/slurmtide/slurmtide/slurmclient/slurmtest/internal/format"
)

// node is a node of the model. Answers show its record.
type node struct {
	copyonwrite.Record[slurm.Node]
	name    string
	index   int
	dynamic bool
	// base is UNKNOWN, DOWN, IDLE or FUTURE; while jobs run on the node, answers show IDLE as
	// ALLOCATED or MIXED. flags leave out those that come from jobs and reservations.
	base  slurm.NodeBase
	flags slurm.NodeFlags

	CPUs, sockets, cores, threads uint32
	memory                        uint64
	gpuType                       string
	gpus                          uint32
	features                      []string

	jobs       []*job // jobs with an allocation here, also COMPLETING ones
	usedCPUs   uint32
	usedMemory uint64
	usedCores  coreSet
	usedGPUs   uint64
	// pingAt is when slurmctld finds a NOT_RESPONDING node responding again; 0 means never.
	pingAt slurm.Time
	// slurmdStopped is whether no slurmd runs on the node.
	slurmdStopped bool
	reservation   *reservation
}

// coreSet is a set of up to 256 cores of a node.
type coreSet [4]uint64

func (s *coreSet) Has(i uint32) bool { return s[i>>6&3]&(1<<(i&63)) != 0 }
func (s *coreSet) add(i uint32)      { s[i>>6&3] |= 1 << (i & 63) }

func (s *coreSet) union(o coreSet) {
	for i := range s {
		s[i] |= o[i]
	}
}

func (s *coreSet) remove(o coreSet) {
	for i := range s {
		s[i] &^= o[i]
	}
}

func (s coreSet) Count() (n int) {
	for _, w := range s {
		n += bits.OnesCount64(w)
	}
	return n
}

// freeResources returns the resources that no job has allocated.
func (n *node) freeResources() (cpus uint32, memory uint64, gpus uint32) {
	return n.CPUs - min(n.CPUs, n.usedCPUs), n.memory - min(n.memory, n.usedMemory),
		n.gpus - min(n.gpus, uint32(bits.OnesCount64(n.usedGPUs)))
}

// usable reports whether jobs may start on the node.
func (n *node) usable() bool {
	return n.base == slurm.NodeIdle && n.flags&(slurm.NodeDrain|slurm.NodeNotResponding|slurm.NodeInvalid) == 0
}

func (n *node) hasFeature(f string) bool { return slices.Contains(n.features, f) }

// state returns the state that answers show.
func (n *node) state() slurm.NodeState {
	s := slurm.NodeState{Base: n.base, Flags: n.flags}
	completing := 0
	for _, j := range n.jobs {
		if j.View().State.Has(slurm.JobCompleting) {
			completing++
		}
	}
	if completing > 0 {
		s.Flags |= slurm.NodeCompleting
	}
	if n.base == slurm.NodeIdle && completing < len(n.jobs) {
		s.Base = slurm.NodeMixed
		if n.usedCPUs >= n.CPUs {
			s.Base = slurm.NodeAllocated
		}
	}
	if n.reservation != nil {
		s.Flags |= slurm.NodeReserved
		if slices.Contains(n.reservation.View().Flags, "MAINT") {
			s.Flags |= slurm.NodeMaintenance
		}
	}
	return s
}

// updateNodeRecord writes state, allocation and reservation into the node's record.
func (c *Cluster) updateNodeRecord(n *node) {
	c.changedAt.Nodes = c.now
	r := n.Edit(c.generation)
	r.State = n.state()
	r.AllocCPUs, r.IdleCPUs = n.usedCPUs, n.CPUs-min(n.CPUs, n.usedCPUs)
	r.AllocMemoryMiB = n.usedMemory
	r.TRESUsed = n.tresUsed()
	r.GRESUsed = n.gresUsed()
	r.Reservation = ""
	if n.reservation != nil {
		r.Reservation = n.reservation.View().Name
	}
}

func (n *node) tres() string {
	return format.TRES{CPUs: uint64(n.CPUs), Memory: n.memory, Billing: uint64(n.CPUs), GPUs: uint64(n.gpus)}.String()
}

func (n *node) tresUsed() string {
	return format.TRES{CPUs: uint64(n.usedCPUs), Memory: n.usedMemory,
		GPUs: uint64(bits.OnesCount64(n.usedGPUs))}.String()
}

func (n *node) gresUsed() string {
	if n.gpus == 0 || !n.registered() {
		return ""
	}
	return formatGPUs(n.gpuType, n.usedGPUs)
}

// registered reports whether the slurmd of the node has registered.
func (n *node) registered() bool { return n.View().Version != "" }

// formatGPUs returns a text such as "gpu:h100:2(IDX:0-1)".
func formatGPUs(kind string, set uint64) string {
	var b strings.Builder
	b.WriteString("gpu:")
	if kind != "" {
		b.WriteString(kind + ":")
	}
	format.WriteUint(&b, uint64(bits.OnesCount64(set)))
	b.WriteString("(IDX:")
	if set == 0 {
		b.WriteString("N/A")
	}
	var list []uint32
	for s := set; s != 0; s &= s - 1 {
		list = append(list, uint32(bits.TrailingZeros64(s)))
	}
	b.WriteString(format.Ranges(list, 0))
	b.WriteString(")")
	return b.String()
}
