package demand

import (
	"math"
	"strconv"
	"strings"

	"github.com/slurmtide/slurmtide/slurmclient/demand/internal/saturating"
	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

// amounts is a quantity of each resource that counts in one Compute: CPUs, memory in MiB, and the
// generic resources that some job requests.
type amounts []uint64

const (
	amountCPUs = iota
	amountMemory
	amountGRES // index of the first generic resource
)

// fits returns how many times v fits into a. v has at least one resource greater than 0.
func (a amounts) fits(v amounts) uint64 {
	n := uint64(math.MaxUint64)
	for i, x := range v {
		if x > 0 {
			n = min(n, a[i]/x)
		}
	}
	return n
}

// take subtracts v from a n times. The caller ensures that a is large enough.
func (a amounts) take(v amounts, n uint64) {
	for i, x := range v {
		a[i] -= x * n
	}
}

// selection is how slurmctld allocates resources (SelectType), and the generic resources that
// count.
type selection struct {
	gresNames  []string
	parsedGRES map[string]map[string]uint64 // by the text in Slurm's syntax
	// wholeCores is whether jobs get whole cores. takesMemory is whether allocated memory is
	// unavailable to other jobs. wholeMemory is whether jobs that request all memory of a node get
	// it, which holds where memory is known to be allocated.
	wholeCores, takesMemory, wholeMemory bool
	// fillsNodes is whether a job with --ntasks-per-node occupies room for that many tasks on each
	// node even if it has fewer tasks. slurmctld 26.05 does this, 24.11 does not.
	fillsNodes bool
	// guessesNodes is whether slurmctld reports the number of required nodes as the maximum number
	// of nodes of a job. 24.11 does.
	guessesNodes bool
}

// parseGRES parses the GRES text of a node and caches the result.
func (d *selection) parseGRES(text string) map[string]uint64 {
	m, ok := d.parsedGRES[text]
	if !ok {
		m, _ = slurm.ParseGRES(text)
		d.parsedGRES[text] = m
	}
	return m
}

// roomOfNode returns the resources of an empty node.
func (d *selection) roomOfNode(n *slurm.Node) amounts {
	a := make(amounts, amountGRES+len(d.gresNames))
	a[amountCPUs], a[amountMemory] = cpusOf(n), memoryOf(n)
	if len(d.gresNames) > 0 {
		have := d.parseGRES(n.GRES)
		for i, name := range d.gresNames {
			a[amountGRES+i] = have[name]
		}
	}
	return a
}

// freeOf writes to a what is left of room on the node.
func (d *selection) freeOf(a, room amounts, n *slurm.Node) {
	copy(a, room)
	a[amountCPUs] = saturating.Sub(a[amountCPUs], uint64(n.AllocCPUs))
	a[amountMemory] = saturating.Sub(a[amountMemory], n.AllocMemoryMiB)
	if len(d.gresNames) == 0 {
		return
	}
	have, used := d.parseGRES(n.GRES), d.parseGRES(n.GRESUsed)
	for i, name := range d.gresNames {
		taken := max(used[name], allocatedGRES(n.TRESUsed, name))
		if base, _, typed := strings.Cut(name, ":"); typed && have[base] == have[name] {
			// The node has only this type, so untyped allocations are of it.
			taken = max(taken, used[base], allocatedGRES(n.TRESUsed, base))
		}
		a[amountGRES+i] = saturating.Sub(a[amountGRES+i], taken)
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

// divideUp returns a/b rounded up. b must not be 0.
func divideUp(a, b uint64) uint64 {
	if a == 0 {
		return 0
	}
	return (a-1)/b + 1
}
