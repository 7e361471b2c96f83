package kube

import (
	"errors"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/slurmtide/slurmtide/operator/problem"
)

// problemRetryDelay is how soon the operator looks again for what it does not watch, such as a Secret, or tries
// again what somebody else has to mend.
const problemRetryDelay = 10 * time.Second

// RetryDelay returns how soon to look again after a problem: 0, only when something changes, if there is none.
func RetryDelay(reported *problem.Error) time.Duration {
	if reported == nil {
		return 0
	}
	return problemRetryDelay
}

// Soonest returns the shortest of delays that are not 0, or 0 if all are.
func Soonest(delays ...time.Duration) time.Duration {
	var out time.Duration
	for _, d := range delays {
		if d > 0 && (out == 0 || d < out) {
			out = d
		}
	}
	return out
}

// ConflictRetryDelay gives the caches time to receive the object that a write conflicted with.
const ConflictRetryDelay = 100 * time.Millisecond

// ResultOf returns the result of a reconciliation. After a conflict, also with an object that
// already exists, it comes back soon to observe again instead of reporting an error; so it does for an object that
// another operator holds.
func ResultOf(requeueAfter time.Duration, err error) (ctrl.Result, error) {
	switch {
	case err == nil:
		return ctrl.Result{RequeueAfter: requeueAfter}, nil
	case errors.Is(err, errHeld):
		return ctrl.Result{RequeueAfter: problemRetryDelay}, nil
	case apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err):
		return ctrl.Result{RequeueAfter: ConflictRetryDelay}, nil
	}
	return ctrl.Result{}, err
}
