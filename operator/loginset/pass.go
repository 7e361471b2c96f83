package loginset

import (
	"context"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
	"github.com/slurmtide/slurmtide/operator/daemon"
	"github.com/slurmtide/slurmtide/operator/kube"
	"github.com/slurmtide/slurmtide/operator/loginset/render"
	"github.com/slurmtide/slurmtide/operator/loginset/status"
	"github.com/slurmtide/slurmtide/operator/names"
	"github.com/slurmtide/slurmtide/operator/podspec"
	"github.com/slurmtide/slurmtide/operator/problem"
)

// pass is one reconciliation of one LoginSet.
type pass struct {
	daemon.NoSteps
	*Reconciler
	loginSet *v1beta1.LoginSet
	// canChoose reports whether a scale-in can choose between several login pods.
	canChoose bool
	input     render.Input
	// deployment is nil if it is missing.
	deployment *appsv1.Deployment
}

// Begin updates the deletion costs of several login pods.
func (p *pass) Begin(ctx context.Context) error {
	var err error
	p.canChoose, err = p.hasChoice(ctx, p.loginSet)
	if err != nil || !p.canChoose {
		return err
	}
	return p.updateDeletionCosts(ctx, p.loginSet)
}

// Observe reads what the objects of the LoginSet are built from.
func (p *pass) Observe(ctx context.Context) error {
	var err error
	p.input, err = p.observe(ctx, p.loginSet)
	return err
}

// Render returns the objects of the login pods.
func (p *pass) Render() ([]podspec.KubeObject, error) { return render.Objects(p.input) }

// BeforeApply creates the host keys, which the login pods mount.
func (p *pass) BeforeApply(ctx context.Context) error {
	return kube.CreateHostKeys(ctx, p.Writer, p.input.HostKeysMeta())
}

// ObserveDaemon reads the Deployment of the login pods.
func (p *pass) ObserveDaemon(ctx context.Context) error {
	var err error
	key := client.ObjectKey{Namespace: p.loginSet.Namespace, Name: names.LoginDeployment(p.loginSet.Name)}
	p.deployment, err = daemon.FindDeployment(ctx, p.Writer, key)
	return err
}

// SetStatus sets the status.
func (p *pass) SetStatus(next *v1beta1.LoginSet, reported *problem.Error) {
	next.Status = status.Of(p.now(), p.loginSet, p.deployment, reported)
}

// RequeueAfter returns when to count the sessions of several login pods again.
func (p *pass) RequeueAfter() time.Duration {
	if p.canChoose {
		return sessionInterval
	}
	return 0
}
