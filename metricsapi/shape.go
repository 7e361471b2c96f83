package metricsapi

import (
	"math"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
	"github.com/slurmtide/slurmtide/slurmclient/demand"
)

func groupOf(apiVersion string) string {
	gv, err := schema.ParseGroupVersion(apiVersion)
	if err != nil {
		return ""
	}
	return gv.Group
}

// gpuResources are the extended resources that count as GPUs.
func gpuResources() []corev1.ResourceName {
	return []corev1.ResourceName{"nvidia.com/gpu", "amd.com/gpu"}
}

// shapeOf is what a worker of the NodeSet has, by the limits of its slurmd and by
// its extraConf, which wins. nil when the CPUs are in neither: then the records of
// its nodes tell more than a guess. A slurmd that can not be read has no limits.
func shapeOf(n *v1beta1.NodeSet) *demand.Shape {
	var limits corev1.ResourceList
	if slurmd, err := n.Spec.Slurmd.Container(); err == nil {
		limits = slurmd.Resources.Limits
	}
	s := demand.Shape{
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
	readConf(&s, n.Spec.ExtraConf)
	if s.CPUs == 0 {
		return nil
	}
	return &s
}

// readConf lays the options of a node's line of configuration (slurm.conf(5),
// NodeName) over the shape. What can not be read is left as it was.
func readConf(s *demand.Shape, text string) {
	o := optionsOf(text)
	if !o.number("cpus", &s.CPUs) {
		o.product(&s.CPUs, "sockets", "corespersocket", "threadspercore")
	}
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
			product, told = product*n, true
		}
	}
	if told {
		*into = product
	}
}
