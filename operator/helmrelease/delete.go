package helmrelease

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
	"github.com/slurmtide/slurmtide/operator/claims"
)

// RefusedError is the reason why deletion stops. A retry does not help.
type RefusedError struct{ message string }

func (e *RefusedError) Error() string { return e.message }

// kindsWithFinalizers returns the kinds whose finalizers only the operator removes: a release that removes the operator and such
// objects at once would leave the objects behind. The order is the order of removal: the workers of a Controller need its slurmctld
// until their jobs have ended.
func kindsWithFinalizers() []string { return []string{"NodeSet", "Controller"} }

// DeleteClusters deletes the NodeSets of the release, waits until their jobs have ended and they are gone, and then does the same with
// the Controllers. If objects outside the release need the operator, it deletes nothing and returns an error that names them. It also
// returns an error if Helm stops removing the release, and if no operator runs. It blocks until ctx ends.
func (r *Release) DeleteClusters(ctx context.Context) error {
	removal, err := r.newRemoval(ctx)
	if err != nil {
		return err
	}
	if err := r.refuseOthers(ctx); err != nil {
		return err
	}
	if removal.revision > 0 {
		r.Logf("if Helm gives up before all is gone: 'helm uninstall %[1]s --namespace %[2]s' waits on, and "+
			"'helm rollback %[1]s %[3]d --namespace %[2]s' takes the release back, but not what is being deleted", r.Name, r.Namespace, removal.revision)
	}
	absentSince := map[string]time.Time{}
	for _, kind := range kindsWithFinalizers() {
		deleteAll := func() ([]object, error) {
			if err := removal.checkRecords(ctx); err != nil {
				return nil, err
			}
			left, err := r.listOwn(ctx, kind)
			if err != nil {
				return nil, err
			}
			for _, o := range left {
				if err := removal.checkAge(o); err != nil {
					return nil, err
				}
				if canEnd, err := removal.canEnd(ctx, o, absentSince); err != nil {
					return nil, err
				} else if !canEnd {
					continue
				}
				if err := r.deleteObject(ctx, o); err != nil {
					return nil, err
				}
			}
			return left, nil
		}
		if err := r.waitUntilNone(ctx, deleteAll, describeDeletion); err != nil {
			return err
		}
	}
	return nil
}

// refuseOthers returns an error that names the objects of other releases which the operator must outlive: another one manages the others.
func (r *Release) refuseOthers(ctx context.Context) error {
	var others []string
	for _, kind := range kindsWithFinalizers() {
		all, err := r.listObjects(ctx, kind)
		if err != nil {
			return err
		}
		for _, o := range all {
			if r.containsObject(o) || len(o.GetFinalizers()) == 0 {
				continue
			}
			manager, _, err := claims.HolderOf(ctx, r.Client, o.GetNamespace(), time.Now())
			if err != nil {
				return err
			}
			if manager == "" || r.OperatorNamespace == "" || manager == r.OperatorNamespace {
				others = append(others, o.String())
			}
		}
	}
	if len(others) > 0 {
		slices.Sort(others)
		return &RefusedError{fmt.Sprintf("the operator is still needed for %s, which the release %s does not contain: delete them first, "+
			"or uninstall with --no-hooks and install another operator for them", strings.Join(others, ", "), r.Name)}
	}
	return nil
}

// deleteObject deletes an object unless it is being deleted.
func (r *Release) deleteObject(ctx context.Context, o object) error {
	if !o.GetDeletionTimestamp().IsZero() {
		return nil
	}
	uid := o.GetUID()
	r.Logf("deleting %s", o)
	if err := r.Client.Delete(ctx, &o.Unstructured, client.Preconditions{UID: &uid}); err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("deleting %s: %w", o, err)
	}
	return nil
}

// describeDeletion returns what an object that is being deleted waits for.
func describeDeletion(o object) string {
	if o.GetDeletionTimestamp().IsZero() {
		return ""
	}
	var reasons []string
	if c := o.findCondition(v1beta1.ConditionDraining); c != nil && c.Status == metav1.ConditionTrue {
		reasons = append(reasons, c.Message)
	}
	if c := o.findCondition(v1beta1.ConditionReady); c != nil && c.Status != metav1.ConditionTrue {
		reasons = append(reasons, c.Message)
	}
	return strings.TrimSuffix("is being deleted: "+strings.Join(reasons, "; "), ": ")
}
