package daemon

import (
	"context"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/slurmtide/slurmtide/operator/podspec"
	"github.com/slurmtide/slurmtide/operator/problem"
	"github.com/slurmtide/slurmtide/operator/releases"
	"github.com/slurmtide/slurmtide/operator/upgrade"
)

// Kind defines a kind of objects. Only Watch, ReadState and RequiredStatus may be nil.
type Kind[O upgrade.Object] struct {
	// Name is the name of the kind, such as v1beta1.KindController.
	Name string
	// NewObject returns an empty object, and NewPass a pass over one that was read.
	NewObject func() O
	NewPass   func(O) Pass[O]
	// Workload is an empty object of the kind that runs the daemon, such as a StatefulSet.
	Workload client.Object
	// Watch adds what the reconciler watches besides the objects and what they own.
	Watch func(*builder.Builder)
	// RequiredStatus returns the fields of the status that are written with each change, by their JSON names.
	RequiredStatus func(O) map[string]any
	// ReadState is the ReadState of the image guard.
	ReadState func(context.Context, client.Object) (releases.Release, error)
}

// Pass is one reconciliation of one object. It keeps what its steps read. The Reconciler calls each method once at most,
// in the order of the package comment, from one goroutine.
type Pass[O upgrade.Object] interface {
	Steps

	// Observe reads what the objects are built from. A *problem.Error names what is missing.
	Observe(context.Context) error
	// Render returns the objects of the daemon. An error is a problem of the specification.
	Render() ([]podspec.KubeObject, error)
	// ObserveDaemon reads what runs, also if nothing could be applied.
	ObserveDaemon(context.Context) error
	// SetStatus sets the status of a copy of the object. reported is the reason why the objects were not applied, nil if
	// they were.
	SetStatus(next O, reported *problem.Error)
}

// Steps are the steps of a Pass that only some kinds have. A kind embeds NoSteps for the others.
type Steps interface {
	// Delete deletes the objects of an object that is being deleted, and reports in its status what it waits for, which it returns as
	// a *problem.Error.
	Delete(context.Context) error
	// IsExternal reports whether the daemon runs outside of the operator's control.
	IsExternal() bool
	// DeleteLeftovers deletes the objects of a daemon that became external.
	DeleteLeftovers(context.Context) error
	// Begin reads and writes what does not depend on the daemon's objects. It runs in each namespace.
	Begin(context.Context) error
	// BeforeObserve writes what Observe requires, such as keys.
	BeforeObserve(context.Context) error
	// BeforeGuard returns a *problem.Error if the rendered objects would lose the daemon's state, and completes them.
	BeforeGuard(context.Context, []podspec.KubeObject) error
	// BeforeApply writes what the objects refer to.
	BeforeApply(context.Context) error
	// AfterApply writes what depends on the applied objects, and deletes what they replace.
	AfterApply(context.Context, []podspec.KubeObject) error
	// RecordEvents records the events of a status that was written. after are its conditions.
	RecordEvents(after []metav1.Condition)
	// RequeueAfter returns when to look again if the objects were applied, 0 for never.
	RequeueAfter() time.Duration
}

// NoSteps implements Steps without doing anything. Its daemons are never external.
type NoSteps struct{}

// Delete implements Steps.
func (NoSteps) Delete(context.Context) error { return nil }

// IsExternal implements Steps.
func (NoSteps) IsExternal() bool { return false }

// DeleteLeftovers implements Steps.
func (NoSteps) DeleteLeftovers(context.Context) error { return nil }

// Begin implements Steps.
func (NoSteps) Begin(context.Context) error { return nil }

// BeforeObserve implements Steps.
func (NoSteps) BeforeObserve(context.Context) error { return nil }

// BeforeGuard implements Steps.
func (NoSteps) BeforeGuard(context.Context, []podspec.KubeObject) error { return nil }

// BeforeApply implements Steps.
func (NoSteps) BeforeApply(context.Context) error { return nil }

// AfterApply implements Steps.
func (NoSteps) AfterApply(context.Context, []podspec.KubeObject) error { return nil }

// RecordEvents implements Steps.
func (NoSteps) RecordEvents([]metav1.Condition) {}

// RequeueAfter implements Steps.
func (NoSteps) RequeueAfter() time.Duration { return 0 }
