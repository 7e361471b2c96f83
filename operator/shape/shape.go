// Package shape computes the resources that one worker of a NodeSet offers to jobs. It is pure and
// imports only the API types.
package shape

import (
	"math"
	"math/bits"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
)

// gpuResources returns the extended resources that count as GPUs.
func gpuResources() []corev1.ResourceName {
	return []corev1.ResourceName{"nvidia.com/gpu", "amd.com/gpu"}
}

// Shape describes the resources that one worker offers to jobs.
type Shape struct {
	// CPUs excludes the cores that Slurm reserves for system use (CoreSpecCount). 0 means unknown.
	CPUs uint64
	// MemoryMiB excludes the memory that Slurm reserves for system use (MemSpecLimit). 0 means
	// unknown, in TmpDiskMiB too.
	MemoryMiB, TmpDiskMiB uint64
	// GRES is in Slurm's syntax, such as "gpu:h100:4". It is empty for none.
	GRES string
	// Features are those of extraConf. The feature that names the NodeSet is not among them.
	Features []string
	// Weight is the node's weight in Slurm. 0 means Slurm's default.
	Weight uint32
	// ThreadsPerCore is the number of CPUs of one core. 0 and 1 both mean one.
	ThreadsPerCore uint64
}

// OfNodeSet returns the shape of the NodeSet's workers: the limits of the slurmd container,
// overridden by extraConf. known is false if neither states the number of CPUs. A malformed slurmd
// field counts as one without limits.
func OfNodeSet(n *v1beta1.NodeSet) (s Shape, known bool) {
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
	s.applyConf(n.Spec.ExtraConf)
	return s, s.CPUs > 0
}

// applyConf overrides the shape with the options of a NodeName line (slurm.conf(5)). It ignores
// options that it cannot parse.
func (s *Shape) applyConf(text string) {
	o := parseConfOptions(text)
	if !o.readNumber("cpus", &s.CPUs) {
		o.readProduct(&s.CPUs, "sockets", "corespersocket", "threadspercore")
	}
	s.applyCoreOptions(o)
	o.readNumber("realmemory", &s.MemoryMiB)
	o.readNumber("tmpdisk", &s.TmpDiskMiB)
	var reserved, weight uint64
	if o.readNumber("memspeclimit", &reserved) {
		s.MemoryMiB -= min(s.MemoryMiB, reserved)
	}
	if o.readNumber("weight", &weight) {
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

// applyCoreOptions sets ThreadsPerCore and subtracts the CPUs of the cores that CoreSpecCount
// reserves. ThreadsPerCore stays 0 if the CPUs are whole cores: Slurm then schedules cores.
func (s *Shape) applyCoreOptions(o confOptions) {
	threads, reserved := uint64(1), uint64(0)
	o.readNumber("threadspercore", &threads)
	cores := uint64(0)
	o.readProduct(&cores, "sockets", "corespersocket")
	if _, hasCPUs := o["cpus"]; threads > 1 && (!hasCPUs || cores == 0 || s.CPUs == cores*threads) {
		s.ThreadsPerCore = threads
	}
	if o.readNumber("corespeccount", &reserved) {
		s.CPUs -= min(s.CPUs, saturatingMul(reserved, max(1, s.ThreadsPerCore)))
	}
}

// confOptions contains the options of a configuration line. Its keys are in lower case.
type confOptions map[string]string

func parseConfOptions(text string) confOptions {
	out := confOptions{}
	for word := range strings.FieldsSeq(text) {
		if name, value, ok := strings.Cut(word, "="); ok {
			out[strings.ToLower(name)] = strings.Trim(value, `"'`)
		}
	}
	return out
}

// readNumber sets *into to the value of the option. It reports whether the option is a number, and
// leaves *into unchanged if it is not.
func (o confOptions) readNumber(name string, into *uint64) bool {
	n, err := strconv.ParseUint(o[name], 10, 64)
	if err == nil {
		*into = n
	}
	return err == nil
}

// readProduct sets *into to the product of the options that are numbers. It leaves *into unchanged
// if none is.
func (o confOptions) readProduct(into *uint64, names ...string) {
	product, found := uint64(1), false
	for _, name := range names {
		var n uint64
		if o.readNumber(name, &n) {
			product, found = saturatingMul(product, n), true
		}
	}
	if found {
		*into = product
	}
}

// saturatingMul returns a*b, or the largest uint64 if the product overflows.
func saturatingMul(a, b uint64) uint64 {
	if high, low := bits.Mul64(a, b); high == 0 {
		return low
	}
	return math.MaxUint64
}
