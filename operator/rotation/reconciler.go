package rotation

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
	"github.com/slurmtide/slurmtide/operator/configagent"
	"github.com/slurmtide/slurmtide/operator/kube"
	"github.com/slurmtide/slurmtide/operator/problem"
	"github.com/slurmtide/slurmtide/operator/rotation/plan"
)

// FieldManager is the field manager of our writes.
const FieldManager = "slurm-operator-rotation"

// lookInterval is how often the agents are asked while a key is being replaced.
const lookInterval = time.Second

// Reconciler replaces the keys of the clusters of Controllers.
type Reconciler struct {
	kube.Writer
	readAgent func(ctx context.Context, podIP string) (configagent.Status, error)
	events    events.EventRecorder
	now       func() time.Time
	newKeyID  func(now time.Time) (string, error)
}

// New returns a Reconciler. It reads objects through c, those that are not cached (Secrets and pods) through
// uncached, the agents through readAgent, and the time from now. namespaces are those in which the operator may run
// daemons, empty for all.
func New(c client.Client, uncached client.Reader,
	readAgent func(context.Context, string) (configagent.Status, error), recorder events.EventRecorder,
	now func() time.Time, namespaces []string) *Reconciler {
	w := kube.Writer{Client: c, Uncached: uncached, Owner: FieldManager, Namespaces: namespaces}
	return &Reconciler{Writer: w, readAgent: readAgent, events: recorder, now: now, newKeyID: newKeyID}
}

// SetupWithManager registers the reconciler with the manager. It reconciles Controllers whose annotations change.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager) error {
	err := ctrl.NewControllerManagedBy(mgr).Named("rotation").
		For(&v1beta1.Controller{}, builder.WithPredicates(predicate.AnnotationChangedPredicate{})).
		WithOptions(controller.Options{
			EnableWarmup:   new(true), // a new leader starts with filled caches
			LogConstructor: kube.NewLogConstructor(mgr.GetLogger(), "rotation", "controller"),
		}).
		Complete(r)
	if err != nil {
		return fmt.Errorf("setting up the reconciler of keys: %w", err)
	}
	return nil
}

// Reconcile takes the next step of the rotation that a Controller asks for, and says in the condition KeysRotated how
// far it is.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	c := &v1beta1.Controller{}
	if live, err := r.FindLive(ctx, req.NamespacedName, c); !live {
		return kube.ResultOf(0, err)
	}
	if c.Annotations[v1beta1.AnnotationRotateKeys] == "" {
		return ctrl.Result{}, nil
	}
	if err := kube.CheckHolder(r.now(), c); err != nil {
		return kube.ResultOf(0, err)
	}
	condition, err := r.rotateKey(ctx, c)
	reported, err := problem.Split(err)
	if err != nil {
		return kube.ResultOf(0, err)
	}
	if reported != nil {
		condition = metav1.Condition{Status: metav1.ConditionFalse, Reason: reported.Reason, Message: reported.Message}
	}
	err = r.patchCondition(ctx, c, condition)
	switch {
	case reported != nil:
		return kube.ResultOf(kube.RetryDelay(reported), err)
	case condition.Status == metav1.ConditionTrue:
		return kube.ResultOf(0, err)
	}
	return kube.ResultOf(lookInterval, err)
}

// rotateKey takes the next step and returns the condition KeysRotated. An error is *problem.Error if somebody has to do
// something.
func (r *Reconciler) rotateKey(ctx context.Context, c *v1beta1.Controller) (metav1.Condition, error) {
	var none metav1.Condition
	if err := r.CheckNamespace(c.Namespace); err != nil {
		return none, err
	}
	if c.Spec.SlurmKeyRef == nil {
		return none, problem.New(v1beta1.ReasonInvalidSpec, "spec.slurmKeyRef must be given")
	}
	key := *c.Spec.SlurmKeyRef
	sharers, err := r.findSharers(ctx, c.Namespace, key)
	if err != nil {
		return none, err
	}
	secret, err := r.readKeySecret(ctx, c.Namespace, key)
	if err != nil {
		return none, err
	}
	in := plan.Input{Written: secret.set,
		Requested: secret.requests[c.Name] != c.Annotations[v1beta1.AnnotationRotateKeys]}
	last := meta.FindStatusCondition(c.Status.Conditions, v1beta1.ConditionKeysRotated)
	if !in.Requested && len(secret.set.IDs()) == 1 && last != nil && last.Status == metav1.ConditionTrue {
		return *last, nil // a pod that starts has the written key set from the beginning
	}
	if in.NewID, err = r.newKeyID(r.now()); err != nil {
		return none, err
	}
	if in.Members, err = r.observeMembers(ctx, c.Namespace, sharers, secret.set); err != nil {
		return none, err
	}
	step := plan.Next(in)
	if step.Write == nil {
		return conditionOf(step, secret.set), nil
	}
	return conditionOf(step, *step.Write), r.writeKeySet(ctx, c, sharers, secret, *step.Write)
}

// patchCondition writes the condition KeysRotated if it has changed, and records an event when another step begins.
func (r *Reconciler) patchCondition(ctx context.Context, c *v1beta1.Controller, condition metav1.Condition) error {
	condition.Type, condition.ObservedGeneration = v1beta1.ConditionKeysRotated, c.Generation
	condition.LastTransitionTime = metav1.NewTime(r.now())
	before := meta.FindStatusCondition(c.Status.Conditions, v1beta1.ConditionKeysRotated)
	written, err := kube.UpdateStatus(ctx, r.Writer, c, nil, func(next *v1beta1.Controller) {
		meta.SetStatusCondition(&next.Status.Conditions, condition)
	})
	if !written || before != nil && before.Reason == condition.Reason {
		return err
	}
	kind := corev1.EventTypeNormal
	if !isPhase(condition.Reason) {
		kind = corev1.EventTypeWarning
	}
	r.events.Eventf(c, nil, kind, condition.Reason, "RotateKeys", "%s", condition.Message)
	return nil
}

// isPhase reports whether the reason of a condition is a step of a rotation.
func isPhase(reason string) bool {
	switch plan.Phase(reason) {
	case plan.NotBegun, plan.Distributing, plan.Switching, plan.Retiring, plan.Rotated:
		return true
	}
	return false
}
