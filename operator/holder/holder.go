// Package holder finds out whether another operator works on an object of our kinds, such as Slinky's slurm-operator.
// Two operators that work on one object would replace its workers in turns. It is pure.
//
// The evidence is in the managed fields: the API server records who wrote the status of an object, and when. Only an
// operator does that. People and tools write the specification and the metadata, autoscalers the scale.
//
//	another operator wrote within Period ───────────────> held
//	it wrote earlier, and we have not written since ────> on trial ── Trial without a write of it ──> free
//	we have written since, or take-over names a later time ─────────────────────────────────────────> free
//
// An operator writes nothing while nothing changes. The trial therefore begins with a change of the status that an
// operator undoes which still runs.
package holder

import (
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
)

const (
	// Period is the time for which a write of another operator counts. It is far longer than the difference between
	// clocks.
	Period = time.Hour
	// Trial is the time that another operator, which may have ended, gets to write. It is several times its resync
	// interval.
	Trial = 2 * time.Minute
	// clockSkew is the time by which AnnotationTakeOver may be ahead.
	clockSkew = 5 * time.Minute
)

// Object is an object of one of our kinds.
type Object interface {
	metav1.Object
	// ConditionsOf returns the conditions of its status.
	ConditionsOf() *[]metav1.Condition
}

// Hold is the reason why we may not work on an object.
type Hold struct {
	// Reason is ReasonHeldByAnotherOperator or ReasonTakingOver.
	Reason string
	// Manager is the field manager of the other operator, and WroteAt when it last wrote.
	Manager string
	WroteAt time.Time
	// FreeAt is when the object is free if the other operator does not write again.
	FreeAt time.Time
}

// Of returns the reason why another operator may hold an object, and false without one.
func Of(now time.Time, o Object) (Hold, bool) {
	theirs := LastOther(o)
	if theirs.Manager == "" || !theirs.At.After(takenOverAt(now, o)) {
		return Hold{}, false
	}
	out := Hold{Reason: v1beta1.ReasonHeldByAnotherOperator, Manager: theirs.Manager, WroteAt: theirs.At,
		FreeAt: theirs.At.Add(Period)}
	if now.Before(out.FreeAt) {
		return out, true
	}
	out.Reason = v1beta1.ReasonTakingOver
	ready := meta.FindStatusCondition(*o.ConditionsOf(), v1beta1.ConditionReady)
	switch {
	case ready != nil && isTrialSince(ready, theirs.At):
		out.FreeAt = ready.LastTransitionTime.Add(Trial)
	case LastOwn(o).After(theirs.At):
		return Hold{}, false
	default:
		out.FreeAt = now.Add(Trial)
	}
	if !now.Before(out.FreeAt) {
		return Hold{}, false
	}
	return out, true
}

// takenOverAt returns the time up to which writes of another operator do not count, or zero.
func takenOverAt(now time.Time, o metav1.Object) time.Time {
	at, err := time.Parse(time.RFC3339, o.GetAnnotations()[v1beta1.AnnotationTakeOver])
	if err != nil || at.After(now.Add(clockSkew)) {
		return time.Time{}
	}
	return at
}
