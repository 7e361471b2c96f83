package render

import (
	"strconv"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/slurmtide/slurmtide/operator/shape"
)

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
		q, own := shape.Limit(u.slurmd, u.pod, l.name)
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
