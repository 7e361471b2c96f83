package demand

import (
	"math"
	"slices"
	"strconv"

	"github.com/slurmtide/slurmtide/slurmclient/demand/internal/saturating"
	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

// shape is what alike nodes provide. Nodes of one shape are in the same partitions.
type shape struct {
	// name identifies the shape. It is not shown to users.
	name       string
	partitions []int
	features   []string
	weight     uint32
	tmpDisk    uint64
	// threads is the number of CPUs per core, 0 if unknown.
	threads uint64
	// pool is the index of the pool of the nodes, or noPool.
	pool int
	// sample is a node of the shape, nil if the shape is fromSpec, of a pool.
	sample   *slurm.Node
	fromSpec bool
	// gres is the generic resources in the spec. oneJobPerNode is whether each node runs one job
	// because its size is unknown. assumed is whether nothing is known of the nodes except that
	// they have none of foreignFeatures other than their own.
	gres                   string
	oneJobPerNode, assumed bool
	foreignFeatures        map[string]int
	// observed is whether an existing node has the shape, not only a FUTURE record.
	observed bool
	// room is what an empty node provides. The planner sets it when it knows which resources count.
	room amounts
}

// gresText returns the generic resources of an empty node in Slurm's syntax.
func (s *shape) gresText() string {
	if s.fromSpec || s.sample == nil {
		return s.gres
	}
	return s.sample.GRES
}

// sameShape reports whether two nodes certainly have the same shape.
func sameShape(a, b *slurm.Node) bool {
	return cpusOf(a) == cpusOf(b) && memoryOf(a) == memoryOf(b) && a.TmpDiskMiB == b.TmpDiskMiB &&
		a.Weight == b.Weight && a.GRES == b.GRES && threadsOf(a) == threadsOf(b) &&
		slices.Equal(a.Partitions, b.Partitions) &&
		slices.Equal(a.Features, b.Features) && slices.Equal(a.ActiveFeatures, b.ActiveFeatures)
}

// equals reports whether two shapes of nodes are the same except for their partitions.
func (s *shape) equals(t *shape) bool {
	if s.fromSpec || t.fromSpec {
		return false
	}
	a, b := s.sample, t.sample
	return cpusOf(a) == cpusOf(b) && memoryOf(a) == memoryOf(b) && s.tmpDisk == t.tmpDisk && s.weight == t.weight &&
		a.GRES == b.GRES && s.threads == t.threads && slices.Equal(s.features, t.features)
}

func cpusOf(n *slurm.Node) uint64 {
	if n.EffectiveCPUs > 0 {
		return uint64(n.EffectiveCPUs)
	}
	return uint64(n.CPUs)
}

// threadsOf returns the number of CPUs per core of the node. It is 1 where the CPUs of the node are
// its cores, that is where it has fewer CPUs than threads.
func threadsOf(n *slurm.Node) uint64 {
	if uint64(n.CPUs) == uint64(n.Sockets)*uint64(n.CoresPerSocket)*uint64(n.ThreadsPerCore) {
		return uint64(n.ThreadsPerCore)
	}
	return 1
}

// wholeCores returns the CPUs of the cores that a job with so many CPUs needs, if it uses
// threadsPerCore threads of each; 0 for all.
func (s *shape) wholeCores(cpus, threadsPerCore uint64) uint64 {
	if s.threads <= 1 {
		return cpus
	}
	if threadsPerCore == 0 || threadsPerCore > s.threads {
		threadsPerCore = s.threads
	}
	return saturating.Mul(divideUp(cpus, threadsPerCore), s.threads)
}

func memoryOf(n *slurm.Node) uint64 {
	return n.MemoryMiB - min(n.MemoryMiB, n.SpecializedMemoryMiB)
}

// shapeOf returns the shape of a node of the pool. It adds the shape if it is new.
func (c *cluster) shapeOf(n *slurm.Node, pool int) int {
	var buf [512]byte
	name := buf[:0]
	for _, v := range [...]uint64{uint64(n.Weight), cpusOf(n), memoryOf(n), n.TmpDiskMiB, threadsOf(n)} {
		name = append(strconv.AppendUint(name, v, 10), ' ')
	}
	name = append(append(name, n.GRES...), ' ')
	for _, list := range [...][]string{n.Partitions, n.Features, n.ActiveFeatures} {
		for _, item := range list {
			name = append(append(name, item...), ',')
		}
		name = append(name, ' ')
	}
	name = strconv.AppendInt(name, int64(pool), 10)
	if i, ok := c.shapeByName[string(name)]; ok {
		return i
	}
	s := shape{
		name: string(name), weight: n.Weight, tmpDisk: n.TmpDiskMiB, threads: threadsOf(n), sample: n, pool: pool,
		features: n.Features,
	}
	if len(n.ActiveFeatures) > 0 {
		s.features = slices.Concat(n.Features, n.ActiveFeatures)
	}
	for _, p := range n.Partitions {
		if i, ok := c.partitionByName[p]; ok && !slices.Contains(s.partitions, i) {
			s.partitions = append(s.partitions, i)
		}
	}
	slices.Sort(s.partitions)
	c.shapes = append(c.shapes, s)
	c.shapeByName[s.name] = len(c.shapes) - 1
	return len(c.shapes) - 1
}

// hasFeature reports whether nodes of the shape have the feature, as far as that is known.
func (s *shape) hasFeature(feature string) bool {
	if slices.Contains(s.features, feature) {
		return true
	}
	_, foreign := s.foreignFeatures[feature]
	return s.assumed && !foreign
}

// roomOf returns what an empty node of the shape provides.
func (d *selection) roomOf(s *shape) amounts {
	if !s.fromSpec {
		return d.roomOfNode(s.sample)
	}
	a := make(amounts, amountGRES+len(d.gresNames))
	copy(a, s.room)
	have := d.parseGRES(s.gres)
	for i, name := range d.gresNames {
		a[amountGRES+i] = have[name]
		if s.assumed {
			a[amountGRES+i] = math.MaxUint64
		}
	}
	return a
}
