// Package shape computes the resources that one worker of a NodeSet offers to jobs. It is pure.
package shape

import (
	"cmp"
	"math"
	"math/bits"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
	"github.com/slurmtide/slurmtide/operator/slurmconf"
)

// Shape describes the resources that one worker offers to jobs.
type Shape struct {
	// CPUs excludes the cores that Slurm reserves for system use (CoreSpecCount). 0 means unknown.
	CPUs uint64
	// MemoryMiB excludes the memory that Slurm reserves for system use (MemSpecLimit). 0 means
	// unknown, in TmpDiskMiB too.
	MemoryMiB, TmpDiskMiB uint64
	// GRES is in Slurm's syntax, such as "gpu:h100:4", or empty.
	GRES string
	// Features are the features of extraConf, without the one that names the NodeSet.
	Features []string
	// Weight is the node's weight in Slurm. 0 means Slurm's default.
	Weight uint32
	// ThreadsPerCore is the number of CPUs of one core. 0 and 1 both mean one.
	ThreadsPerCore uint64
}

// OfNodeSet returns the shape of the NodeSet's workers: their limits, overridden by extraConf. known is false if neither sets the
// number of CPUs. Malformed parts of the spec count as parts without limits.
func OfNodeSet(n *v1beta1.NodeSet) (s Shape, known bool) {
	s.CPUs, s.MemoryMiB = Limits(n)
	if slurmd, err := n.Spec.Slurmd.Container(); err == nil {
		s.GRES = gpuLimit(slurmd.Resources.Limits)
	}
	s.applyConf(n.Spec.ExtraConf)
	return s, s.CPUs > 0
}

// GRESOfNodeSet returns the generic resources of the NodeSet's Slurm nodes, in the form of Gres (slurm.conf(5)). GPUs that are only
// among the limits do not count: slurmd does not report them.
func GRESOfNodeSet(n *v1beta1.NodeSet) string {
	return slurmconf.ParseOptions(n.Spec.ExtraConf).Value("Gres")
}

// applyConf overrides the shape with the options of a NodeName line (slurm.conf(5)). It ignores
// values that should be numbers and are not.
func (s *Shape) applyConf(text string) {
	o := slurmconf.ParseOptions(text)
	s.applyCPUOptions(o)
	s.MemoryMiB = numberOr(o, "RealMemory", s.MemoryMiB)
	s.MemoryMiB -= min(s.MemoryMiB, numberOr(o, "MemSpecLimit", 0))
	s.TmpDiskMiB = numberOr(o, "TmpDisk", s.TmpDiskMiB)
	s.Weight = uint32(min(numberOr(o, "Weight", uint64(s.Weight)), math.MaxUint32))
	s.GRES = cmp.Or(o.Value("Gres"), s.GRES)
	s.Features = o.List("Feature")
}

// applyCPUOptions sets CPUs and ThreadsPerCore, without the cores that CoreSpecCount reserves.
// ThreadsPerCore stays 0 if the CPUs are whole cores: Slurm then schedules cores.
func (s *Shape) applyCPUOptions(o slurmconf.Options) {
	sockets, hasSockets := productOf(o, "Sockets")
	if !hasSockets {
		sockets, hasSockets = productOf(o, "Boards", "SocketsPerBoard")
	}
	perSocket, hasCores := productOf(o, "CoresPerSocket")
	threads := numberOr(o, "ThreadsPerCore", 1)
	cores := saturatingMul(sockets, perSocket)
	cpus, hasCPUs := o.Number("CPUs")
	switch _, hasThreads := o.Number("ThreadsPerCore"); {
	case hasCPUs:
		s.CPUs = cpus
	case hasSockets || hasCores || hasThreads:
		s.CPUs = saturatingMul(cores, threads)
	}
	if threads > 1 && (!hasCPUs || !hasSockets && !hasCores || cores == 0 || s.CPUs == saturatingMul(cores, threads)) {
		s.ThreadsPerCore = threads
	}
	s.CPUs -= min(s.CPUs, saturatingMul(numberOr(o, "CoreSpecCount", 0), max(1, s.ThreadsPerCore)))
}

// numberOr returns an option that is a number, otherwise the given number.
func numberOr(o slurmconf.Options, name string, otherwise uint64) uint64 {
	if n, ok := o.Number(name); ok {
		return n
	}
	return otherwise
}

// productOf returns the product of the options that are numbers, or 1 without any, and reports whether one is a number.
func productOf(o slurmconf.Options, names ...string) (product uint64, found bool) {
	product = 1
	for _, name := range names {
		if n, ok := o.Number(name); ok {
			product, found = saturatingMul(product, n), true
		}
	}
	return product, found
}

// saturatingMul returns a*b, or the largest uint64 if the product overflows.
func saturatingMul(a, b uint64) uint64 {
	if high, low := bits.Mul64(a, b); high == 0 {
		return low
	}
	return math.MaxUint64
}
