package controller

import (
	"context"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/slurmtide/slurmtide/operator/agentstatus"
	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
	"github.com/slurmtide/slurmtide/operator/controller/render"
	"github.com/slurmtide/slurmtide/operator/controller/status"
	"github.com/slurmtide/slurmtide/operator/daemon"
	"github.com/slurmtide/slurmtide/operator/kube"
	"github.com/slurmtide/slurmtide/operator/podspec"
	"github.com/slurmtide/slurmtide/operator/problem"
	"github.com/slurmtide/slurmtide/operator/refs"
)

// pass is one reconciliation of one Controller.
type pass struct {
	daemon.NoSteps
	*Reconciler
	controller *v1beta1.Controller
	// ignored are the fields that have no effect.
	ignored  []v1beta1.IgnoredField
	input    render.Input
	observed agentstatus.Observation
}

// Delete deletes the objects of the Controller when no NodeSet needs slurmctld.
func (p *pass) Delete(ctx context.Context) error { return p.reconcileDeletion(ctx, p.controller) }

// IsExternal reports whether slurmctld runs outside of the operator's control.
func (p *pass) IsExternal() bool { return p.controller.Spec.External }

// Begin applies the ServiceMonitor, before the Service whose label records it.
func (p *pass) Begin(ctx context.Context) error {
	var err error
	p.ignored, err = p.reconcileServiceMonitor(ctx, p.controller)
	return err
}

// BeforeObserve adds the finalizer, and creates the keys that the Controller asks for.
func (p *pass) BeforeObserve(ctx context.Context) error {
	if err := kube.AddFinalizer(ctx, p.Client, p.controller, v1beta1.FinalizerSlurmctld, p.Owner); err != nil {
		return err
	}
	return p.createKeys(ctx, p.controller)
}

// Observe reads what the objects of the Controller are built from.
func (p *pass) Observe(ctx context.Context) error {
	var err error
	p.input, err = p.observe(ctx, p.controller)
	return err
}

// Render returns the objects of slurmctld.
func (p *pass) Render() ([]podspec.KubeObject, error) { return render.Objects(p.input) }

// BeforeGuard checks that slurmctld keeps its state, and notes in its ConfigMap where that is.
func (p *pass) BeforeGuard(ctx context.Context, objects []podspec.KubeObject) error {
	if err := p.checkStateOf(ctx, p.controller, objects); err != nil {
		return err
	}
	return p.noteState(ctx, p.controller, objects)
}

// AfterApply marks the claim of the state, and deletes the Services of backups that left.
func (p *pass) AfterApply(ctx context.Context, objects []podspec.KubeObject) error {
	if err := p.markState(ctx, p.controller, objects); err != nil {
		return err
	}
	return p.deleteOtherServices(ctx, p.controller, objects)
}

// ObserveDaemon reads the StatefulSet of slurmctld and its agents.
func (p *pass) ObserveDaemon(ctx context.Context) error {
	slurmctld := slurmctldOf(p.controller)
	slurmctld.Replicas = refs.ControllerReplicas(p.controller)
	var err error
	p.observed, err = p.agents.Observe(ctx, slurmctld)
	p.observed.Object = fmt.Sprintf("controllers.slinky.slurm.net -n %s %s", p.controller.Namespace, p.controller.Name)
	return err
}

// SetStatus sets the status. With a problem the NodeSets may not have been read, and their condition stays.
func (p *pass) SetStatus(next *v1beta1.Controller, reported *problem.Error) {
	p.observed.Problem = reported
	next.Status = status.Of(p.now(), p.controller, p.observed, p.ignored...)
	if reported == nil {
		status.SetNodeSetsIncluded(&next.Status, p.input.LeftOut, p.controller.Generation, p.now())
	}
}

// RecordEvents records an event if the configuration in force has changed.
func (p *pass) RecordEvents(after []metav1.Condition) {
	kube.RecordConfigApplied(p.events, p.controller, p.controller.Status.Conditions, after)
}

// RequeueAfter returns when to look again at agents, and when to try again to apply the ServiceMonitor.
func (p *pass) RequeueAfter() time.Duration {
	if len(p.ignored) > 0 {
		return kube.Soonest(p.observed.RequeueAfter(), monitorRetryInterval)
	}
	return p.observed.RequeueAfter()
}
