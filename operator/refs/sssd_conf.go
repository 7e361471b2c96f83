package refs

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
)

// SSSDConf is the key of a Secret with sssd.conf.
type SSSDConf struct {
	corev1.SecretKeySelector
	// Field is the field that names it, for messages.
	Field string
}

// FindSSSDConf returns the sssd.conf of an object where users log in: own, which a field of the object names, or
// else the Controller's. The error names both fields if neither is set.
func FindSSSDConf(field string, own *corev1.SecretKeySelector, c *v1beta1.Controller) (SSSDConf, error) {
	switch {
	case own != nil:
		return SSSDConf{*own, field}, nil
	case c.Spec.SSSDConfRef != nil:
		return ControllerSSSDConf(c), nil
	}
	return SSSDConf{}, fmt.Errorf("%s must be given, or spec.sssdConfRef of Controller %s: without it nobody can log in",
		field, c.Name)
}

// ControllerSSSDConf returns the sssd.conf of a Controller that has one, for its other objects.
func ControllerSSSDConf(c *v1beta1.Controller) SSSDConf {
	return SSSDConf{*c.Spec.SSSDConfRef, "spec.sssdConfRef of Controller " + c.Name}
}
