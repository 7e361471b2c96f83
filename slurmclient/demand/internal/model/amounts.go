package model

import (
	"math"
	"strconv"
	"strings"

	"github.com/slurmtide/slurmtide/slurmclient/demand/internal/saturating"
	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

// Amounts is a quantity of each resource that counts in one Compute: CPUs, memory in MiB, and the
// generic resources that some job requests.
type Amounts []uint64

// Indexes of Amounts.
const (
	AmountCPUs = iota
	AmountMemory
	AmountGRES // index of the first generic resource
)

// Fits returns how many times v fits into a. v has at least one resource greater than 0.
func (a Amounts) Fits(v Amounts) uint64 {
	n := uint64(math.MaxUint64)
	for i, x := range v {
		if x > 0 {
			n = min(n, a[i]/x)
		}
	}
	return n
}

// Covers reports whether v fits into a at least once.
func (a Amounts) Covers(v Amounts) bool {
	for i, x := range v {
		if x > a[i] {
			return false
		}
	}
	return true
}

// Raise sets each resource of a to the larger amount of a and v.
func (a Amounts) Raise(v Amounts) {
	for i, x := range v {
		a[i] = max(a[i], x)
	}
}

// Take subtracts v from a n times. The caller ensures that a is large enough.
func (a Amounts) Take(v Amounts, n uint64) {
	for i, x := range v {
		a[i] -= x * n
	}
}

// Selection is how slurmctld allocates resources (SelectType), and the generic resources that
// count.
type Selection struct {
	GresNames  []string
	ParsedGRES map[string]map[string]uint64 // by the text in Slurm's syntax
	// WholeCores is whether jobs get whole cores. TakesMemory is whether allocated memory is
	// unavailable to other jobs. WholeMemory is whether jobs that request all memory of a node get
	// it, which holds where memory is known to be allocated.
	WholeCores, TakesMemory, WholeMemory bool
	// FillsNodes is whether a job with --ntasks-per-node occupies room for that many tasks on each
	// node even if it has fewer tasks. slurmctld 26.05 does this, 24.11 does not.
	FillsNodes bool
	// GuessesNodes is whether slurmctld reports the number of required nodes as the maximum number
	// of nodes of a job. 24.11 does.
	GuessesNodes bool
}

// ParseGRES parses the GRES text of a node and caches the result.
func (d *Selection) ParseGRES(text string) map[string]uint64 {
	m, ok := d.ParsedGRES[text]
	if !ok {
		m, _ = slurm.ParseGRES(text)
		d.ParsedGRES[text] = m
	}
	return m
}

// roomOfNode returns the resources of an empty node.
func (d *Selection) roomOfNode(n *slurm.Node) Amounts {
	a := make(Amounts, AmountGRES+len(d.GresNames))
	a[AmountCPUs], a[AmountMemory] = cpusOf(n), memoryOf(n)
	if len(d.GresNames) > 0 {
		have := d.ParseGRES(n.GRES)
		for i, name := range d.GresNames {
			a[AmountGRES+i] = have[name]
		}
	}
	return a
}

// FreeOf writes the free part of the node's room to a.
func (d *Selection) FreeOf(a, room Amounts, n *slurm.Node) {
	copy(a, room)
	a[AmountCPUs] = saturating.Sub(a[AmountCPUs], uint64(n.AllocCPUs))
	a[AmountMemory] = saturating.Sub(a[AmountMemory], n.AllocMemoryMiB)
	if len(d.GresNames) == 0 {
		return
	}
	have, used := d.ParseGRES(n.GRES), d.ParseGRES(n.GRESUsed)
	for i, name := range d.GresNames {
		taken := max(used[name], allocatedGRES(n.TRESUsed, name))
		if base, _, typed := strings.Cut(name, ":"); typed && have[base] == have[name] {
			// The node has only this type, so untyped allocations are of it.
			taken = max(taken, used[base], allocatedGRES(n.TRESUsed, base))
		}
		a[AmountGRES+i] = saturating.Sub(a[AmountGRES+i], taken)
	}
}

// allocatedGRES returns the count of a generic resource in the text of a node's allocated TRES,
// such as 3 for gpu in "cpu=2,gres/gpu=3". It returns 0 where the resource is not in
// AccountingStorageTRES. slurmctld's GresUsed can be lower, since it does not count typed resources
// of --gpus-per-task.
func allocatedGRES(text, name string) uint64 {
	for rest := text; ; {
		_, after, ok := strings.Cut(rest, "gres/")
		if !ok {
			return 0
		}
		rest = after
		if value, ok := strings.CutPrefix(after, name); ok && strings.HasPrefix(value, "=") {
			value, _, _ = strings.Cut(value[1:], ",")
			count, _ := strconv.ParseUint(value, 10, 64)
			return count
		}
	}
}

// DivideUp returns a/b rounded up. b must not be 0.
func DivideUp(a, b uint64) uint64 {
	if a == 0 {
		return 0
	}
	return (a-1)/b + 1
}
