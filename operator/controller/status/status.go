// Package status computes the status of Controllers. It is pure.
//
// Ready:
//
//	False Progressing ──► True Available
//	False InvalidSpec, ReferenceNotFound, ObjectTaken, StateElsewhere: until a user corrects them
//	Unknown External: the operator does not run this slurmctld
//
// ConfigApplied follows the status of the agents beside slurmctld (package configagent).
package status

import (
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/slurmtide/slurmtide/operator/agentstatus"
	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
	"github.com/slurmtide/slurmtide/operator/refs"
)

// gresTypesOf returns the kinds of GRES that all slurmctlds know whose agents report the files in force. If no agent reports them, it
// returns the last kinds. An agent of an earlier version cannot report them, so the result is unknown.
func gresTypesOf(last []string, agents []agentstatus.Agent) []string {
	var out []string
	for _, agent := range agents {
		known := agent.Status.GresTypes
		switch {
		case agent.Err == nil && known == nil && agent.Status.Applied != "": // of an earlier version
			return nil
		case agent.Err != nil || known == nil:
		case out == nil:
			out = slices.Clone(known)
		default:
			out = slices.DeleteFunc(out, func(kind string) bool { return !slices.Contains(known, kind) })
		}
	}
	if out == nil {
		return last
	}
	return out
}

// Of returns the status of a Controller from the last status, the observation and the ignored fields of this Kubernetes, in addition
// to the fields that are always ignored.
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
	out.GresTypes = gresTypesOf(out.GresTypes, o.Agents)
	return out
}
