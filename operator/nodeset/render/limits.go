package render

import (
	"strconv"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// limits returns the worker's limits of CPUs, at least one, and of memory in MiB. Both are rounded
// down; 0 means no limit. Malformed parts of the spec count as absent: Template reports them.
func (in Input) limits() (cpus, memory uint64) {
	var u userParts
	if pod, err := in.NodeSet.Spec.Template.Spec.PodSpec(); err == nil {
		u.pod = pod
	}
	if slurmd, err := in.NodeSet.Spec.Slurmd.Container(); err == nil {
		u.slurmd = slurmd
	}
	if q, _ := u.limit(corev1.ResourceCPU); q.Sign() > 0 {
		cpus = uint64(max(1, q.MilliValue()/1000))
	}
	if q, _ := u.limit(corev1.ResourceMemory); q.Sign() > 0 {
		memory = uint64(q.Value() >> 20)
	}
	return cpus, memory
}

// limit returns the limit of the slurmd container and true, otherwise the limit of the pod and
// false; zero means no limit.
func (u userParts) limit(name corev1.ResourceName) (resource.Quantity, bool) {
	if q, ok := u.slurmd.Resources.Limits[name]; ok {
		return q, true
	}
	if u.pod.Resources == nil {
		return resource.Quantity{}, false
	}
	return u.pod.Resources.Limits[name], false
}

// limitVariable is a variable that contains a limit.
type limitVariable struct {
	name    corev1.ResourceName
	env     string
	divisor resource.Quantity
}

// limitVariables returns the variables that pass its limits to the slurmd container.
func (u userParts) limitVariables() []corev1.EnvVar {
	var out []corev1.EnvVar
	for _, l := range []limitVariable{
		{corev1.ResourceCPU, EnvCPUs, resource.MustParse("1")},
		{corev1.ResourceMemory, EnvMemory, resource.MustParse("1Mi")},
	} {
		q, own := u.limit(l.name)
		switch {
		case q.Sign() <= 0:
		case own:
			out = append(out, corev1.EnvVar{Name: l.env,
				ValueFrom: &corev1.EnvVarSource{ResourceFieldRef: &corev1.ResourceFieldSelector{
					ContainerName: ContainerSlurmd, Resource: "limits." + string(l.name), Divisor: l.divisor}}})
		default:
			whole := (q.Value() + l.divisor.Value() - 1) / l.divisor.Value()
			out = append(out, corev1.EnvVar{Name: l.env, Value: strconv.FormatInt(whole, 10)})
		}
	}
	return out
}
