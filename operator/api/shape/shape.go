// Package shape reads from a NodeSet what one of its workers has for jobs. It is
// pure, and imports nothing but the API types.
package shape

import (
	"math"
	"math/bits"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
)

// gpuResources are the extended resources that count as GPUs.
func gpuResources() []corev1.ResourceName {
	return []corev1.ResourceName{"nvidia.com/gpu", "amd.com/gpu"}
}

// Shape is what one worker has for jobs.
type Shape struct {
	// CPUs of 0 are not known. Cores that jobs may not have (CoreSpecCount) are not
	// counted.
	CPUs uint64
	// MemoryMiB and TmpDiskMiB of 0 are not known. Memory that jobs may not have
	// (MemSpecLimit) is not counted.
	MemoryMiB, TmpDiskMiB uint64
	// GRES is Slurm's text, such as "gpu:h100:4"; empty for none.
	GRES string
	// Features are those of extraConf, without the NodeSet's own.
	Features []string
	// Weight is the node's weight in Slurm, 0 for Slurm's default.
	Weight uint32
	// ThreadsPerCore is how many of the CPUs one core has, 0 and 1 for one.
	ThreadsPerCore uint64
}

// Of is what a worker of the NodeSet has, by the limits of its slurmd and by its
// extraConf, which wins. It is not known when the CPUs are in neither. A slurmd that
// can not be read has no limits.
func Of(n *v1beta1.NodeSet) (s Shape, known bool) {
	var limits corev1.ResourceList
	if slurmd, err := n.Spec.Slurmd.Container(); err == nil {
		limits = slurmd.Resources.Limits
	}
	s = Shape{
		CPUs:      uint64(max(0, limits.Cpu().MilliValue()/1000)),
		MemoryMiB: uint64(max(0, limits.Memory().Value()>>20)),
	}
	var gpus int64
	for _, name := range gpuResources() {
		if q, ok := limits[name]; ok {
			gpus += max(0, q.Value())
		}
	}
	if gpus > 0 {
		s.GRES = "gpu:" + strconv.FormatInt(gpus, 10)
	}
	s.read(n.Spec.ExtraConf)
	return s, s.CPUs > 0
}

// Options writes the shape as options of a node's line (slurm.conf(5), NodeName), such
// as "CPUs=4 RealMemory=8192 Gres=gpu:1 Features=a,b", with more features behind
// its own. What is not known is left out.
func (s Shape) Options(features ...string) string {
	var words []string
	add := func(name string, value uint64) {
		if value > 0 {
			words = append(words, name+"="+strconv.FormatUint(value, 10))
		}
	}
	add("CPUs", s.CPUs)
	add("RealMemory", s.MemoryMiB)
	add("TmpDisk", s.TmpDiskMiB)
	add("Weight", uint64(s.Weight))
	if s.GRES != "" {
		words = append(words, "Gres="+s.GRES)
	}
	if all := slices.Concat(s.Features, features); len(all) > 0 {
		words = append(words, "Features="+strings.Join(all, ","))
	}
	return strings.Join(words, " ")
}

// read lays the options of a node's line of configuration (slurm.conf(5),
// NodeName) over the shape. What can not be read is left as it was.
func (s *Shape) read(text string) {
	o := optionsOf(text)
	if !o.number("cpus", &s.CPUs) {
		o.product(&s.CPUs, "sockets", "corespersocket", "threadspercore")
	}
	s.readCores(o)
	o.number("realmemory", &s.MemoryMiB)
	o.number("tmpdisk", &s.TmpDiskMiB)
	var reserved, weight uint64
	if o.number("memspeclimit", &reserved) {
		s.MemoryMiB -= min(s.MemoryMiB, reserved)
	}
	if o.number("weight", &weight) {
		s.Weight = uint32(min(weight, math.MaxUint32))
	}
	if gres := o["gres"]; gres != "" {
		s.GRES = gres
	}
	for _, name := range []string{"features", "feature"} {
		for f := range strings.SplitSeq(o[name], ",") {
			if f != "" {
				s.Features = append(s.Features, f)
			}
		}
	}
}

// readCores reads how many CPUs a core has, which is one where the CPUs are the cores, and
// takes those of cores that Slurm keeps from jobs off.
func (s *Shape) readCores(o confOptions) {
	threads, kept := uint64(1), uint64(0)
	o.number("threadspercore", &threads)
	cores := uint64(0)
	o.product(&cores, "sockets", "corespersocket")
	if _, told := o["cpus"]; threads > 1 && (!told || cores == 0 || s.CPUs == cores*threads) {
		s.ThreadsPerCore = threads
	}
	if o.number("corespeccount", &kept) {
		s.CPUs -= min(s.CPUs, times(kept, max(1, s.ThreadsPerCore)))
	}
}

// confOptions are options of a line by name, in lower case.
type confOptions map[string]string

func optionsOf(text string) confOptions {
	out := confOptions{}
	for word := range strings.FieldsSeq(text) {
		if name, value, ok := strings.Cut(word, "="); ok {
			out[strings.ToLower(name)] = strings.Trim(value, `"'`)
		}
	}
	return out
}

// number sets into to the option's number, and reports whether it has one.
func (o confOptions) number(name string, into *uint64) bool {
	n, err := strconv.ParseUint(o[name], 10, 64)
	if err == nil {
		*into = n
	}
	return err == nil
}

// product sets into to the product of the options that have a number, if any has.
func (o confOptions) product(into *uint64, names ...string) {
	product, told := uint64(1), false
	for _, name := range names {
		var n uint64
		if o.number(name, &n) {
			product, told = times(product, n), true
		}
	}
	if told {
		*into = product
	}
}

// times is a*b, or the largest number when that is too much.
func times(a, b uint64) uint64 {
	if high, low := bits.Mul64(a, b); high == 0 {
		return low
	}
	return math.MaxUint64
}
