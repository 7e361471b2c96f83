package restapi

import (
	"context"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/slurmtide/slurmtide/operator/access"
	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
	"github.com/slurmtide/slurmtide/operator/daemon"
	"github.com/slurmtide/slurmtide/operator/names"
	"github.com/slurmtide/slurmtide/operator/podspec"
	"github.com/slurmtide/slurmtide/operator/problem"
	"github.com/slurmtide/slurmtide/operator/refs"
	"github.com/slurmtide/slurmtide/operator/restapi/render"
	"github.com/slurmtide/slurmtide/operator/restapi/status"
)

// pass is one reconciliation of one RestApi.
type pass struct {
	daemon.NoSteps
	*Reconciler
	api *v1beta1.RestApi
	// certificateEnd is nil without TLS.
	certificateEnd *metav1.Time
	input          render.Input
	// deployment is nil if it is missing.
	deployment *appsv1.Deployment
}

// Begin reads the certificate.
func (p *pass) Begin(ctx context.Context) error {
	var err error
	p.certificateEnd, err = p.checkCertificate(ctx, p.api)
	return err
}

// Observe reads what the objects of the RestApi are built from.
func (p *pass) Observe(ctx context.Context) error {
	var err error
	p.input, err = p.observe(ctx, p.api)
	return err
}

// Render returns the objects of slurmrestd.
func (p *pass) Render() ([]podspec.KubeObject, error) { return render.Objects(p.input) }

// ObserveDaemon reads the Deployment of slurmrestd.
func (p *pass) ObserveDaemon(ctx context.Context) error {
	var err error
	key := client.ObjectKey{Namespace: p.api.Namespace, Name: names.RestAPIDeployment(p.api.Name)}
	p.deployment, err = daemon.FindDeployment(ctx, p.Writer, key)
	return err
}

// SetStatus sets the status, which has the address of slurmrestd only without a problem.
func (p *pass) SetStatus(next *v1beta1.RestApi, reported *problem.Error) {
	next.Status = status.Of(p.now(), p.api, p.deployment, reported)
	if reported == nil {
		status.SetAddress(&next.Status, p.api, p.certificateEnd)
	}
}

// RequeueAfter returns when to look at the certificate again.
func (p *pass) RequeueAfter() time.Duration { return certificateCheckDelay(p.api) }

// observe reads what the objects of a RestApi are built from. A *problem.Error names what is missing.
func (r *Reconciler) observe(ctx context.Context, api *v1beta1.RestApi) (render.Input, error) {
	in := render.Input{RestAPI: api, Image: r.cfg.Image, AgentImage: r.cfg.AgentImage, UsesIPv6: r.cfg.UsesIPv6}
	var err error
	if in.Controller, err = access.FindController(ctx, r.Client, api.Namespace, api.Spec.ControllerRef.Name); err != nil {
		return in, err
	}
	// Slurm outside Kubernetes has addresses of its own.
	in.UsesIPv6 = in.UsesIPv6 && !in.Controller.Spec.External
	if in.Controller.Spec.SSSDConfRef != nil {
		if err = access.CheckDaemonSSSD(ctx, r.Uncached, api.Namespace, refs.ControllerSSSDConf(in.Controller)); err != nil {
			return in, err
		}
	}
	if in.Includes, err = access.ReadIncludes(ctx, r.Uncached, in.Controller); err != nil {
		return in, err
	}
	in.Accounting, err = access.FindSlurmdbd(ctx, r.Client, in.Controller)
	return in, err
}
