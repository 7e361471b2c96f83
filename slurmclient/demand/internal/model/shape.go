package model

import (
	"math"
	"slices"
	"strconv"

	"github.com/slurmtide/slurmtide/slurmclient/demand/internal/saturating"
	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

// NodeShape is the resources of identical nodes. Nodes of one shape are in the same partitions.
type NodeShape struct {
	// name identifies the shape. It is not shown to users.
	name       string
	Partitions []int
	features   []string
	Weight     uint32
	tmpDisk    uint64
	// Threads is the number of CPUs per core, 0 if unknown.
	Threads uint64
	// Pool is the index of the pool of the nodes, or NoPool.
	Pool int
	// sample is a node of the shape, nil if the shape is fromSpec, of a pool.
	sample   *slurm.Node
	fromSpec bool
	// GRES is the generic resources in the spec. OneJobPerNode is whether each node runs one job because its size is
	// unknown. Assumed is whether the nodes are unknown, except that they have none of foreignFeatures other than their
	// own.
	GRES                   string
	OneJobPerNode, Assumed bool
	foreignFeatures        map[string]int
	// observed is whether an existing node has the shape, not only a FUTURE record.
	observed bool
	// Room is the resources of an empty node. The planner sets it when it knows which resources count.
	Room Amounts
}

// GresText returns the generic resources of an empty node in Slurm's syntax.
func (s *NodeShape) GresText() string {
	if s.fromSpec || s.sample == nil {
		return s.GRES
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
func (s *NodeShape) equals(t *NodeShape) bool {
	if s.fromSpec || t.fromSpec {
		return false
	}
	a, b := s.sample, t.sample
	return cpusOf(a) == cpusOf(b) && memoryOf(a) == memoryOf(b) && s.tmpDisk == t.tmpDisk && s.Weight == t.Weight &&
		a.GRES == b.GRES && s.Threads == t.Threads && slices.Equal(s.features, t.features)
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

// WholeCores returns the CPUs of the cores that a job with the given number of CPUs needs, if it uses ThreadsPerCore
// threads of each; 0 for all.
func (s *NodeShape) WholeCores(cpus, threadsPerCore uint64) uint64 {
	if s.Threads <= 1 {
		return cpus
	}
	if threadsPerCore == 0 || threadsPerCore > s.Threads {
		threadsPerCore = s.Threads
	}
	return saturating.Mul(DivideUp(cpus, threadsPerCore), s.Threads)
}

func memoryOf(n *slurm.Node) uint64 {
	return n.MemoryMiB - min(n.MemoryMiB, n.SpecializedMemoryMiB)
}

// shapeOf returns the shape of a node of the pool. It adds the shape if it is new.
func (c *Cluster) shapeOf(n *slurm.Node, pool int) int {
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
	s := NodeShape{
		name: string(name), Weight: n.Weight, tmpDisk: n.TmpDiskMiB, Threads: threadsOf(n), sample: n, Pool: pool,
		features: n.Features,
	}
	if len(n.ActiveFeatures) > 0 {
		s.features = slices.Concat(n.Features, n.ActiveFeatures)
	}
	for _, p := range n.Partitions {
		if i, ok := c.partitionByName[p]; ok && !slices.Contains(s.Partitions, i) {
			s.Partitions = append(s.Partitions, i)
		}
	}
	slices.Sort(s.Partitions)
	c.Shapes = append(c.Shapes, s)
	c.shapeByName[s.name] = len(c.Shapes) - 1
	return len(c.Shapes) - 1
}

// HasFeature reports whether nodes of the shape have the feature, as far as that is known.
func (s *NodeShape) HasFeature(feature string) bool {
	if slices.Contains(s.features, feature) {
		return true
	}
	_, foreign := s.foreignFeatures[feature]
	return s.Assumed && !foreign
}

// RoomOf returns what an empty node of the shape provides.
func (d *Selection) RoomOf(s *NodeShape) Amounts {
	if !s.fromSpec {
		return d.roomOfNode(s.sample)
	}
	a := make(Amounts, AmountGRES+len(d.GresNames))
	copy(a, s.Room)
	have := d.ParseGRES(s.GRES)
	for i, name := range d.GresNames {
		a[AmountGRES+i] = have[name]
		if s.Assumed {
			a[AmountGRES+i] = math.MaxUint64
		}
	}
	return a
}
