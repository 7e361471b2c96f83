package loginset

import (
	"context"

	"github.com/slurmtide/slurmtide/operator/access"
	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
	"github.com/slurmtide/slurmtide/operator/loginset/render"
	"github.com/slurmtide/slurmtide/operator/problem"
	"github.com/slurmtide/slurmtide/operator/refs"
)

// observe reads what the objects of a LoginSet are built from. A *problem.Error says what is missing.
func (r *Reconciler) observe(ctx context.Context, l *v1beta1.LoginSet) (render.Input, error) {
	in := render.Input{LoginSet: l, Image: r.cfg.Image, ClusterDomain: r.cfg.ClusterDomain,
		AgentImage: r.cfg.AgentImage, AgentPullPolicy: r.cfg.AgentPullPolicy}
	var err error
	if in.Controller, err = access.FindController(ctx, r.Client, l.Namespace, l.Spec.ControllerRef.Name); err != nil {
		return in, err
	}
	slurmctld := refs.ControllerSlurmctld(in.Controller)
	if slurmctld.Problem != "" {
		return in, problem.New(v1beta1.ReasonReferenceNotFound, "%s", slurmctld.Problem)
	}
	for _, secret := range []struct{ field, name string }{
		{"slurmKeyRef of Controller " + in.Controller.Name, slurmctld.Key.Name},
		{"spec.sssdConfRef", l.Spec.SSSDConfRef.Name},
	} {
		exists, err := access.SecretExists(ctx, r.Uncached, l.Namespace, secret.name)
		if err != nil {
			return in, err
		}
		if !exists {
			return in, problem.New(v1beta1.ReasonReferenceNotFound, "%s: there is no Secret %s", secret.field, secret.name)
		}
	}
	return in, nil
}
