package unreconciled

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
	"github.com/slurmtide/slurmtide/operator/kube"
)

// FieldManager is the field manager of our writes.
const FieldManager = "slurm-operator-unreconciled"

// SetupWithManager makes the manager set the conditions of every object of these kinds, except those of
// the reconciled kinds.
func SetupWithManager(mgr ctrl.Manager, now func() time.Time, reconciled ...string) error {
	for _, object := range unreconciledKinds() {
		kind := kindOf(object)
		if slices.Contains(reconciled, kind) {
			continue
		}
		r := &reconciler{client: mgr.GetClient(), now: now, prototype: object}
		err := ctrl.NewControllerManagedBy(mgr).Named("unreconciled-" + strings.ToLower(kind)).For(object).Complete(r)
		if err != nil {
			return fmt.Errorf("setting up the conditions of %ss: %w", kind, err)
		}
	}
	return nil
}

// unreconciledKinds returns the kinds that the operator does not reconcile.
func unreconciledKinds() []client.Object {
	return []client.Object{&v1beta1.Controller{}, &v1beta1.RestApi{}, &v1beta1.Accounting{}, &v1beta1.LoginSet{}}
}

func kindOf(object client.Object) string { return reflect.TypeOf(object).Elem().Name() }

type reconciler struct {
	client client.Client
	now    func() time.Time
	// prototype is an empty object of the kind.
	prototype client.Object
}

// Reconcile writes the conditions of one object if they have changed.
func (r *reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	object := r.prototype.DeepCopyObject().(client.Object)
	if err := r.client.Get(ctx, req.NamespacedName, object); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if !object.GetDeletionTimestamp().IsZero() {
		return ctrl.Result{}, nil
	}
	next := object.DeepCopyObject().(client.Object)
	if !setConditions(r.now(), next) {
		return ctrl.Result{}, nil
	}
	err := kube.PatchStatus(ctx, r.client, object, next, requiredFields(next), client.FieldOwner(FieldManager))
	return kube.ResultOf(0, client.IgnoreNotFound(err))
}

// setConditions sets the conditions of an object and reports whether they have changed.
func setConditions(now time.Time, object client.Object) bool {
	conditions, does := conditionsOf(object)
	changed := meta.SetStatusCondition(conditions, metav1.Condition{
		Type: v1beta1.ConditionReady, Status: metav1.ConditionFalse, Reason: v1beta1.ReasonNotReconciled,
		Message:            "slurm-operator does not reconcile objects of kind " + kindOf(object) + " yet: " + does,
		ObservedGeneration: object.GetGeneration(), LastTransitionTime: metav1.NewTime(now),
	})
	return v1beta1.SetFieldsIgnored(conditions, ignoredFieldsOf(object), object.GetGeneration(), now) || changed
}

// requiredFields returns the fields without which the schema refuses a status.
func requiredFields(object client.Object) map[string]any {
	if login, ok := object.(*v1beta1.LoginSet); ok {
		return map[string]any{"selector": login.Status.Selector}
	}
	return nil
}

// conditionsOf returns where an object has its conditions, and what the operator does with the object instead.
func conditionsOf(object client.Object) (conditions *[]metav1.Condition, does string) {
	const nothing = "it makes no pods and no configuration for it"
	switch o := object.(type) {
	case *v1beta1.Controller:
		return &o.Status.Conditions,
			"it runs no slurmctld, and reads this only to find slurmctld, its keys and its slurmrestd"
	case *v1beta1.RestApi:
		return &o.Status.Conditions, "it runs no slurmrestd, and expects one at the Service of the RestApi"
	case *v1beta1.Accounting:
		return &o.Status.Conditions, nothing
	case *v1beta1.LoginSet:
		return &o.Status.Conditions, nothing
	}
	return new([]metav1.Condition), nothing
}

// ignoredFieldsOf returns the fields of an object that have no effect, about which admission warns.
func ignoredFieldsOf(object client.Object) []v1beta1.IgnoredField {
	switch o := object.(type) {
	case *v1beta1.Controller:
		return o.Spec.IgnoredFields()
	case *v1beta1.Accounting:
		return o.Spec.IgnoredFields()
	case *v1beta1.LoginSet:
		return o.Spec.IgnoredFields()
	}
	return nil
}
