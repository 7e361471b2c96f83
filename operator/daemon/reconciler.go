package daemon

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
	"github.com/slurmtide/slurmtide/operator/kube"
	"github.com/slurmtide/slurmtide/operator/problem"
	"github.com/slurmtide/slurmtide/operator/upgrade"
)

// Reconciler reconciles the objects of one kind.
type Reconciler[O upgrade.Object] struct {
	kube.Writer
	kind  Kind[O]
	gate  *kube.Gate
	guard upgrade.Guard
	now   func() time.Time
}

// New returns a Reconciler of a kind. It reads and writes through w, and reads the time from now.
func New[O upgrade.Object](w kube.Writer, recorder events.EventRecorder, now func() time.Time, kind Kind[O]) *Reconciler[O] {
	guard := upgrade.NewGuard(w, recorder, now)
	guard.ReadState = kind.ReadState
	return &Reconciler[O]{Writer: w, kind: kind, gate: kube.NewGate(w.Client, w.Owner, now), guard: guard, now: now}
}

// SetupWithManager registers the reconciler with the manager.
func (r *Reconciler[O]) SetupWithManager(mgr ctrl.Manager, guard kube.Guard) error {
	b := kube.NewDaemonController(mgr, r.kind.NewObject(), r.kind.Workload)
	if r.kind.Watch != nil {
		r.kind.Watch(b)
	}
	if err := b.Complete(guard.Wrap(r)); err != nil {
		return fmt.Errorf("setting up the reconciler of %ss: %w", r.kind.Name, err)
	}
	return nil
}

// Reconcile applies the objects of one object and writes its status.
func (r *Reconciler[O]) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	object := r.kind.NewObject()
	if found, err := r.gate.Enter(ctx, req.NamespacedName, object); !found {
		return kube.ResultOf(0, err)
	}
	pass := r.kind.NewPass(object)
	switch {
	case !object.GetDeletionTimestamp().IsZero():
		waits, err := problem.Split(pass.Delete(ctx))
		return kube.ResultOf(kube.RetryDelay(waits), err)
	case pass.IsExternal():
		return kube.ResultOf(0, r.reconcileExternal(ctx, object, pass))
	}
	return kube.ResultOf(r.reconcileDaemon(ctx, object, pass))
}

// reconcileExternal deletes what was made before the daemon ran elsewhere, and writes the status.
func (r *Reconciler[O]) reconcileExternal(ctx context.Context, object O, pass Pass[O]) error {
	if err := r.guard.DeleteLookups(ctx, object); err != nil {
		return err
	}
	err := pass.DeleteLeftovers(ctx)
	return errors.Join(err, r.patchStatus(ctx, object, pass, nil, nil))
}

// reconcileDaemon applies the objects of a daemon, writes the status, and returns when to look again.
func (r *Reconciler[O]) reconcileDaemon(ctx context.Context, object O, pass Pass[O]) (time.Duration, error) {
	decision, err := r.applyObjects(ctx, object, pass)
	reported, err := problem.Split(err)
	if err != nil {
		return 0, err
	}
	if err := pass.ObserveDaemon(ctx); err != nil {
		return 0, err
	}
	if err := r.patchStatus(ctx, object, pass, decision, reported); err != nil {
		return 0, err
	}
	delay := cmp.Or(kube.RetryDelay(reported), pass.RequeueAfter())
	return kube.Soonest(delay, decision.RequeueAfter()), nil
}

// applyObjects applies the objects of a daemon, with the current image until the new one is allowed. If one object cannot be
// rendered, none is applied: a daemon that runs continues.
func (r *Reconciler[O]) applyObjects(ctx context.Context, object O, pass Pass[O]) (*upgrade.Decision, error) {
	if err := pass.Begin(ctx); err != nil {
		return nil, err
	}
	if err := r.CheckNamespace(object.GetNamespace()); err != nil {
		return nil, err
	}
	if err := pass.BeforeObserve(ctx); err != nil {
		return nil, err
	}
	if err := pass.Observe(ctx); err != nil {
		return nil, err
	}
	objects, err := pass.Render()
	if err != nil {
		return nil, problem.New(v1beta1.ReasonInvalidSpec, "%v", err)
	}
	if err := pass.BeforeGuard(ctx, objects); err != nil {
		return nil, err
	}
	decision, err := r.guard.Restrain(ctx, object, objects)
	if err != nil {
		return nil, err
	}
	if err := pass.BeforeApply(ctx); err != nil {
		return nil, err
	}
	if err := kube.ApplyAll(ctx, r.Writer, objects); err != nil {
		return nil, err
	}
	if err := pass.AfterApply(ctx, objects); err != nil {
		return nil, err
	}
	return decision, nil
}

// patchStatus writes the status if it has changed, and then records its events.
func (r *Reconciler[O]) patchStatus(ctx context.Context, object O, pass Pass[O], decision *upgrade.Decision,
	reported *problem.Error) error {
	var after []metav1.Condition
	written, err := kube.UpdateStatus(ctx, r.Writer, object, r.kind.RequiredStatus, func(next O) {
		pass.SetStatus(next, reported)
		decision.Record(next, r.now())
		after = *next.ConditionsOf()
	})
	if written {
		pass.RecordEvents(after)
		r.guard.RecordEvent(object, decision)
	}
	return err
}
