package shape

import (
	"strconv"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
)

// Limits returns the workers' limits of CPUs, at least one, and of memory in MiB. Both are rounded
// down; 0 means no limit. Malformed parts of the spec count as absent.
func Limits(n *v1beta1.NodeSet) (cpus, memoryMiB uint64) {
	var slurmd corev1.Container
	var pod corev1.PodSpec
	if spec, err := n.Spec.Template.Spec.PodSpec(); err == nil {
		pod = spec
	}
	if container, err := n.Spec.Slurmd.Container(); err == nil {
		slurmd = container
	}
	if q, _ := Limit(slurmd, pod, corev1.ResourceCPU); q.Sign() > 0 {
		cpus = uint64(max(1, q.MilliValue()/1000))
	}
	if q, _ := Limit(slurmd, pod, corev1.ResourceMemory); q.Sign() > 0 {
		memoryMiB = uint64(q.Value() >> 20)
	}
	return cpus, memoryMiB
}

// Limit returns the limit of the slurmd container and true, otherwise the limit of the pod and
// false; zero means no limit.
func Limit(slurmd corev1.Container, pod corev1.PodSpec, name corev1.ResourceName) (resource.Quantity, bool) {
	if q, ok := slurmd.Resources.Limits[name]; ok {
		return q, true
	}
	if pod.Resources == nil {
		return resource.Quantity{}, false
	}
	return pod.Resources.Limits[name], false
}

// gpuLimit returns the limits of extended resources that are GPUs as GRES, or "". Only containers have limits
// of extended resources; pods do not.
func gpuLimit(limits corev1.ResourceList) string {
	var gpus int64
	for _, name := range []corev1.ResourceName{"nvidia.com/gpu", "amd.com/gpu"} {
		if q, ok := limits[name]; ok {
			gpus += max(0, q.Value())
		}
	}
	if gpus == 0 {
		return ""
	}
	return "gpu:" + strconv.FormatInt(gpus, 10)
}
