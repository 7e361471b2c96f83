package metricsapi

import (
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
// its nodes tell more than a guess.
func shapeOf(n *v1beta1.NodeSet) *demand.Shape {
	limits := n.Spec.Slurmd.Resources.Limits
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
	options := map[string]string{}
	for word := range strings.FieldsSeq(text) {
		if name, value, ok := strings.Cut(word, "="); ok {
			options[strings.ToLower(name)] = strings.Trim(value, `"'`)
		}
	}
	number := func(name string, into *uint64) bool {
		n, err := strconv.ParseUint(options[name], 10, 64)
		if err == nil {
			*into = n
		}
		return err == nil
	}
	if !number("cpus", &s.CPUs) {
		product, told := uint64(1), false
		for _, name := range []string{"sockets", "corespersocket", "threadspercore"} {
			var n uint64
			if number(name, &n) {
				product, told = product*n, true
			}
		}
		if told {
			s.CPUs = product
		}
	}
	number("realmemory", &s.MemoryMiB)
	number("tmpdisk", &s.TmpDiskMiB)
	var reserved, weight uint64
	if number("memspeclimit", &reserved) {
		s.MemoryMiB -= min(s.MemoryMiB, reserved)
	}
	if number("weight", &weight) {
		s.Weight = uint32(min(weight, 1<<32-1))
	}
	if gres := options["gres"]; gres != "" {
		s.GRES = gres
	}
	for _, name := range []string{"features", "feature"} {
		for f := range strings.SplitSeq(options[name], ",") {
			if f != "" {
				s.Features = append(s.Features, f)
			}
		}
	}
}
