package rotation

import (
	"context"
	"crypto/rand"
	"crypto/rsa"
	"errors"
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
	"github.com/slurmtide/slurmtide/operator/refs"
	"github.com/slurmtide/slurmtide/operator/rotation/plan"
)

// FieldManager is the field manager of our writes.
const FieldManager = "slurm-operator-rotation"

// lookInterval is the interval of questions to the agents while a key is being replaced.
const lookInterval = time.Second

// outsideInterval is the interval of checks for hosts outside while the rotation waits for them.
const outsideInterval = 10 * time.Second

// Reconciler replaces the keys of the clusters of Controllers.
type Reconciler struct {
	kube.Writer
	readAgent func(ctx context.Context, podIP string) (configagent.Status, error)
	slurm     func(refs.ClusterKey) SlurmCluster
	events    events.EventRecorder
	now       func() time.Time
	newKeyID  func(now time.Time) (string, error)
	newBridge func() (*rsa.PrivateKey, error)
}

// New returns a Reconciler. It reads objects through c, uncached objects (Secrets and pods) through uncached, the agents
// through readAgent, and the time from now. slurm returns the connection of a cluster, or nil for a cluster that is not read.
// namespaces are the ones where the operator may run daemons, empty for all.
func New(c client.Client, uncached client.Reader,
	readAgent func(context.Context, string) (configagent.Status, error), slurm func(refs.ClusterKey) SlurmCluster,
	recorder events.EventRecorder, now func() time.Time, namespaces []string) *Reconciler {
	w := kube.Writer{Client: c, Uncached: uncached, Owner: FieldManager, Namespaces: namespaces}
	return &Reconciler{Writer: w, readAgent: readAgent, slurm: slurm, events: recorder, now: now, newKeyID: newKeyID,
		newBridge: func() (*rsa.PrivateKey, error) { return rsa.GenerateKey(rand.Reader, bridgeBits) }}
}

// kind is a kind of keys that can be rotated.
type kind struct {
	// annotation requests a rotation, and condition reports its progress. action is the action of its events.
	annotation, condition, action string
	// refs are the references to the key. isUnfinished reads the Secret with its keys, and reports whether a rotation has
	// begun and not ended.
	refs         keyRefs
	isUnfinished func(ctx context.Context, namespace string, key corev1.SecretKeySelector) (rotationSecret, bool, error)
	// rotate takes the next step. It returns the condition and when to look again. The error is *problem.Error if a user must
	// act.
	rotate func(ctx context.Context, c *v1beta1.Controller) (metav1.Condition, time.Duration, error)
}

// kinds returns the kinds of keys.
func (r *Reconciler) kinds() []kind {
	return []kind{
		{v1beta1.AnnotationRotateKeys, v1beta1.ConditionKeysRotated, "RotateKeys", slurmKeyRefs, r.isKeyUnfinished, r.rotateKey},
		{v1beta1.AnnotationRotateJWTKeys, v1beta1.ConditionJWTKeysRotated, "RotateJWTKeys", jwtKeyRefs, r.isJWTKeyUnfinished,
			r.rotateJWTKey},
	}
}

// SetupWithManager registers the reconciler with the manager. It reconciles Controllers whose annotations change.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager, guard kube.Guard) error {
	err := ctrl.NewControllerManagedBy(mgr).Named("rotation").
		For(&v1beta1.Controller{}, builder.WithPredicates(predicate.AnnotationChangedPredicate{})).
		WithOptions(controller.Options{
			EnableWarmup:   new(true), // a new leader starts with filled caches
			LogConstructor: kube.NewLogConstructor(mgr.GetLogger(), "rotation", "controller"),
		}).
		Complete(guard.Wrap(r))
	if err != nil {
		return fmt.Errorf("setting up the reconciler of keys: %w", err)
	}
	return nil
}

// Reconcile takes the next step of a Controller's rotations that are requested or have begun, and reports their progress in
// conditions.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	c := &v1beta1.Controller{}
	if live, err := r.FindLive(ctx, req.NamespacedName, c); !live {
		return kube.ResultOf(0, err)
	}
	if err := kube.CheckHolder(r.now(), c); err != nil {
		return kube.ResultOf(0, err)
	}
	var soonest time.Duration
	var failures []error
	for _, k := range r.kinds() {
		unfinished, again, err := true, time.Duration(0), error(nil)
		if c.Annotations[k.annotation] == "" {
			unfinished, again, err = r.finishesUnasked(ctx, c, k)
		}
		if unfinished {
			again, err = r.takeStep(ctx, c, k)
		}
		failures = append(failures, err)
		soonest = kube.Soonest(soonest, again)
	}
	return kube.ResultOf(soonest, errors.Join(failures...))
}

// takeStep takes the next step of a rotation, writes its condition, and returns when to look again, 0 for not at all.
func (r *Reconciler) takeStep(ctx context.Context, c *v1beta1.Controller, k kind) (time.Duration, error) {
	condition, again, err := r.checkAndRotate(ctx, c, k)
	reported, err := problem.Split(err)
	if err != nil {
		return 0, err
	}
	if reported != nil {
		condition = metav1.Condition{Status: metav1.ConditionFalse, Reason: reported.Reason, Message: reported.Message}
		again = kube.RetryDelay(reported)
	}
	condition.Type = k.condition
	return again, r.patchCondition(ctx, c, k, condition)
}

// checkAndRotate takes the next step if the operator may write in the namespace.
func (r *Reconciler) checkAndRotate(ctx context.Context, c *v1beta1.Controller, k kind) (
	metav1.Condition, time.Duration, error) {
	if err := r.CheckNamespace(c.Namespace); err != nil {
		return metav1.Condition{}, 0, err
	}
	return k.rotate(ctx, c)
}

// rotateKey takes the next step of a rotation of slurm.key.
func (r *Reconciler) rotateKey(ctx context.Context, c *v1beta1.Controller) (metav1.Condition, time.Duration, error) {
	var none metav1.Condition
	if c.Spec.SlurmKeyRef == nil {
		return none, 0, problem.New(v1beta1.ReasonInvalidSpec, "spec.slurmKeyRef must be given")
	}
	key := *c.Spec.SlurmKeyRef
	sharers, err := r.findSharers(ctx, c, slurmKeyRefs)
	if err != nil {
		return none, 0, err
	}
	secret, err := r.readKeySecret(ctx, c.Namespace, key)
	if err != nil {
		return none, 0, err
	}
	in := plan.Input{Written: secret.set,
		Requested: secret.isNewRequest(c, v1beta1.AnnotationRotateKeys)}
	last := meta.FindStatusCondition(c.Status.Conditions, v1beta1.ConditionKeysRotated)
	if !in.Requested && len(secret.set.IDs()) == 1 && last != nil && last.Status == metav1.ConditionTrue {
		// A pod that starts has the written key set from its start.
		return r.keepRotated(ctx, *last, secret, sharers)
	}
	if in.NewID, err = r.newKeyID(r.now()); err != nil {
		return none, 0, err
	}
	if in.Members, err = r.observeMembers(ctx, c.Namespace, sharers, secret.set); err != nil {
		return none, 0, err
	}
	if err := checkKeySetExists(c, secret, in.Members); err != nil {
		return none, 0, err
	}
	if plan.MustSeeOutside(in) {
		if in.Outside, err = r.observeOutside(ctx, c, sharers); err != nil {
			return none, 0, err
		}
	}
	step := plan.Next(in)
	switch {
	case step.WaitsForOutside:
		return outsideCondition(c, secret.name, in), outsideInterval, nil
	case step.Phase == plan.Rotated:
		return r.keepRotated(ctx, conditionOf(step, secret.set), secret, sharers)
	case step.Write == nil:
		return conditionOf(step, secret.set), lookInterval, nil
	}
	return conditionOf(step, *step.Write), lookInterval, r.writeKeySet(ctx, c, sharers, secret, *step.Write)
}

// patchCondition writes the condition of a rotation if it has changed, and records an event when another step begins.
func (r *Reconciler) patchCondition(ctx context.Context, c *v1beta1.Controller, k kind, condition metav1.Condition) error {
	before := meta.FindStatusCondition(c.Status.Conditions, k.condition)
	written, err := kube.UpdateStatus(ctx, r.Writer, c, nil, func(next *v1beta1.Controller) {
		v1beta1.SetCondition(&next.Status.Conditions, k.condition, condition, c.Generation, r.now())
	})
	if !written || before != nil && before.Reason == condition.Reason {
		return err
	}
	severity := corev1.EventTypeNormal
	if !isPhase(condition.Reason) {
		severity = corev1.EventTypeWarning
	}
	r.events.Eventf(c, nil, severity, condition.Reason, k.action, "%s", condition.Message)
	return nil
}

// isPhase reports whether the reason of a condition is a step of a rotation.
func isPhase(reason string) bool {
	switch plan.Phase(reason) {
	case plan.NotBegun, plan.Distributing, plan.Resigning, plan.Switching, plan.Retiring, plan.Rotated:
		return true
	}
	return false
}
