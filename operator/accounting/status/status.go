// Package status computes the status of Accountings. It is pure.
//
// Ready:
//
//	False Progressing ──► True Available
//	False InvalidSpec, ReferenceNotFound, ObjectTaken: until a user corrects them
//	Unknown External: the operator does not run this slurmdbd
//
// ConfigApplied and AccountsApplied follow the status of the agent beside slurmdbd (package agentstatus).
package status

import (
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/slurmtide/slurmtide/operator/agentstatus"
	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
	"github.com/slurmtide/slurmtide/operator/refs"
)

// Of returns the status of an Accounting, from the last status and the observation.
func Of(now time.Time, a *v1beta1.Accounting, o agentstatus.Observation, accounts Accounts) v1beta1.AccountingStatus {
	out := *a.Status.DeepCopy()
	v1beta1.SetFieldsIgnored(&out.Conditions, a.Spec.IgnoredFields(), a.Generation, now)
	if a.Spec.Accounts == nil || a.Spec.External {
		meta.RemoveStatusCondition(&out.Conditions, v1beta1.ConditionAccountsApplied)
	} else {
		v1beta1.SetCondition(&out.Conditions, v1beta1.ConditionAccountsApplied, accounts.condition(o), a.Generation, now)
	}
	if a.Spec.External {
		v1beta1.SetCondition(&out.Conditions, v1beta1.ConditionReady,
			agentstatus.External("slurmdbd", refs.AccountingSlurmdbd(a).String()), a.Generation, now)
		meta.RemoveStatusCondition(&out.Conditions, v1beta1.ConditionConfigApplied)
		meta.RemoveStatusCondition(&out.Conditions, v1beta1.ConditionReleaseAllowed)
		out.ReleaseStatus = v1beta1.ReleaseStatus{}
		return out
	}
	ready := o.Ready()
	if o.IsStarting() {
		ready.Message = fmt.Sprintf("slurmdbd does not listen yet: if this lasts, it waits for the database at %s; "+
			"its log says why", refs.AccountingDatabase(a))
	}
	v1beta1.SetCondition(&out.Conditions, v1beta1.ConditionReady, ready, a.Generation, now)
	v1beta1.SetCondition(&out.Conditions, v1beta1.ConditionConfigApplied, o.ConfigApplied(), a.Generation, now)
	return out
}
