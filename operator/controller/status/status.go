// Package status computes the status of Controllers. It is pure.
//
// Ready:
//
//	False Progressing ──► True Available
//	False InvalidSpec, ReferenceNotFound, ObjectTaken, StateElsewhere: until somebody corrects them
//	Unknown External: the operator does not run this slurmctld
//
// ConfigApplied follows what the agents beside slurmctld say (package configagent).
package status

import (
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/slurmtide/slurmtide/operator/agentstatus"
	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
	"github.com/slurmtide/slurmtide/operator/refs"
)

// SetGresTypes records the kinds of GRES that slurmctld knows, if the configuration that has them is in force. They stay until
// another one is.
func SetGresTypes(s *v1beta1.ControllerStatus, gresTypes []string) {
	if meta.IsStatusConditionTrue(s.Conditions, v1beta1.ConditionConfigApplied) {
		s.GresTypes = gresTypes
	}
}

// Of returns the status of a Controller, from the last status, the observation and the fields that are ignored in this
// Kubernetes besides those that always are.
func Of(now time.Time, c *v1beta1.Controller, o agentstatus.Observation,
	ignored ...v1beta1.IgnoredField) v1beta1.ControllerStatus {
	out := *c.Status.DeepCopy()
	v1beta1.SetFieldsIgnored(&out.Conditions, slices.Concat(c.Spec.IgnoredFields(), ignored), c.Generation, now)
	if c.Spec.External {
		v1beta1.SetCondition(&out.Conditions, v1beta1.ConditionReady,
			agentstatus.External("slurmctld", refs.ControllerSlurmctld(c).Address.String()), c.Generation, now)
		meta.RemoveStatusCondition(&out.Conditions, v1beta1.ConditionConfigApplied)
		meta.RemoveStatusCondition(&out.Conditions, v1beta1.ConditionReleaseAllowed)
		out.ReleaseStatus, out.GresTypes = v1beta1.ReleaseStatus{}, nil
		return out
	}
	v1beta1.SetCondition(&out.Conditions, v1beta1.ConditionReady, o.Ready(), c.Generation, now)
	v1beta1.SetCondition(&out.Conditions, v1beta1.ConditionConfigApplied, o.ConfigApplied(), c.Generation, now)
	return out
}
