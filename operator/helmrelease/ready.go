package helmrelease

import (
	"context"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
)

// allKinds returns the kinds of the operator's group.
func allKinds() []string {
	return []string{"Accounting", "Cluster", "Controller", "LoginSet", "NodeSet", "RestApi", "Token"}
}

// AwaitReady waits until every custom resource of the release is Ready, or represents a daemon that runs elsewhere. It
// blocks until ctx ends. A release without custom resources is an error.
func (r *Release) AwaitReady(ctx context.Context) error {
	var ready []string
	notReady := func() ([]object, error) {
		ready = nil
		var out []object
		for _, kind := range allKinds() {
			all, err := r.listOwn(ctx, kind)
			if err != nil {
				return nil, err
			}
			for _, o := range all {
				if isReady(o) {
					ready = append(ready, o.String())
				} else {
					out = append(out, o)
				}
			}
		}
		if len(ready)+len(out) == 0 {
			return nil, &RefusedError{"the release has no custom resources"}
		}
		return out, nil
	}
	if err := r.waitUntilNone(ctx, notReady, describeReadiness); err != nil {
		return err
	}
	slices.Sort(ready)
	for _, name := range ready {
		r.Logf("%s is Ready", name)
	}
	return nil
}

// isReady reports whether an object's condition Ready is True for its present spec. For a daemon that runs elsewhere it
// is Unknown.
func isReady(o object) bool {
	c := o.findCondition(v1beta1.ConditionReady)
	return c != nil && c.ObservedGeneration == o.GetGeneration() &&
		(c.Status == metav1.ConditionTrue || c.Reason == v1beta1.ReasonExternal)
}

// describeReadiness returns the reason why an object is not Ready.
func describeReadiness(o object) string {
	c := o.findCondition(v1beta1.ConditionReady)
	if c == nil || c.ObservedGeneration != o.GetGeneration() {
		return "is not Ready: the operator has not looked at it yet"
	}
	return "is not Ready (" + c.Reason + "): " + c.Message
}
