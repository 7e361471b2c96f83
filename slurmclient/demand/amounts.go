package demand

import (
	"math"
	"math/bits"
	"strconv"
	"strings"

	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

// amounts is a quantity of each resource that counts in one Compute: CPUs, memory
// in MiB, and the generic resources that some job asks for.
type amounts []uint64

const (
	amountCPUs = iota
	amountMemory
	amountGRES // the first of the generic ones
)

// fits is how many times v goes into a; v has at least one resource.
func (a amounts) fits(v amounts) uint64 {
	n := uint64(math.MaxUint64)
	for i, x := range v {
		if x > 0 {
			n = min(n, a[i]/x)
		}
	}
	return n
}

// take removes v n times; it is there.
func (a amounts) take(v amounts, n uint64) {
	for i, x := range v {
		a[i] -= x * n
	}
}

// dims names the generic resources that count.
type dims struct {
	names  []string
	parsed map[string]map[string]uint64 // by Slurm's text
	// wholeCores is whether jobs get whole cores, takesMemory whether what they get of
	// memory is no longer there for others, wholeMemory whether those that are to have all
	// of it get that, which is so where memory is known to be taken.
	wholeCores, takesMemory, wholeMemory bool
	// fillsNodes is whether a job with --ntasks-per-node takes room for that many tasks of
	// each node, has it so many or not. slurmctld 24.11 does not, 26.05 does.
	fillsNodes bool
	// guessesNodes is whether slurmctld tells as the most nodes of a job that names some how
	// many it names. 24.11 does.
	guessesNodes bool
}

// gres reads a node's text once.
func (d *dims) gres(text string) map[string]uint64 {
	m, ok := d.parsed[text]
	if !ok {
		m, _ = slurm.ParseGRES(text)
		d.parsed[text] = m
	}
	return m
}

// roomOfNode is what an empty node has.
func (d *dims) roomOfNode(n *slurm.Node) amounts {
	a := make(amounts, amountGRES+len(d.names))
	a[amountCPUs], a[amountMemory] = cpusOf(n), memoryOf(n)
	if len(d.names) > 0 {
		have := d.gres(n.GRES)
		for i, name := range d.names {
			a[amountGRES+i] = have[name]
		}
	}
	return a
}

// freeOf writes to a what a node with the room has left.
func (d *dims) freeOf(a, room amounts, n *slurm.Node) {
	copy(a, room)
	a[amountCPUs] = less(a[amountCPUs], uint64(n.AllocCPUs))
	a[amountMemory] = less(a[amountMemory], n.AllocMemoryMiB)
	if len(d.names) == 0 {
		return
	}
	have, used := d.gres(n.GRES), d.gres(n.GRESUsed)
	for i, name := range d.names {
		taken := max(used[name], allocatedGRES(n.TRESUsed, name))
		if base, _, typed := strings.Cut(name, ":"); typed && have[base] == have[name] {
			// The only type that the node has: what jobs took without a type is of it.
			taken = max(taken, used[base], allocatedGRES(n.TRESUsed, base))
		}
		a[amountGRES+i] = less(a[amountGRES+i], taken)
	}
}

// allocatedGRES is how much of a generic resource the text of a node's allocated TRES has, such
// as 3 of gpu in "cpu=2,gres/gpu=3"; 0 where it is not accounted for. slurmctld's GresUsed may
// tell less: it counts what --gpus-per-task took of a typed resource nowhere.
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

// less is a-b, but not less than 0.
func less(a, b uint64) uint64 { return a - min(a, b) }

// times is a*b, or the largest number when that is too much.
func times(a, b uint64) uint64 {
	hi, lo := bits.Mul64(a, b)
	if hi > 0 {
		return math.MaxUint64
	}
	return lo
}

// share is a/b rounded up; b is not 0.
func share(a, b uint64) uint64 {
	if a == 0 {
		return 0
	}
	return (a-1)/b + 1
}
