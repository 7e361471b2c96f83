package loginset

import (
	"context"

	"github.com/slurmtide/slurmtide/operator/access"
	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
	"github.com/slurmtide/slurmtide/operator/loginset/render"
	"github.com/slurmtide/slurmtide/operator/problem"
	"github.com/slurmtide/slurmtide/operator/refs"
)

// observe reads what the objects of a LoginSet are built from. A *problem.Error names what is missing.
func (r *Reconciler) observe(ctx context.Context, l *v1beta1.LoginSet) (render.Input, error) {
	in := render.Input{LoginSet: l, Image: r.cfg.Image, ClusterDomain: r.cfg.ClusterDomain,
		AgentImage: r.cfg.AgentImage}
	var err error
	if in.Controller, err = access.FindController(ctx, r.Client, l.Namespace, l.Spec.ControllerRef.Name); err != nil {
		return in, err
	}
	slurmctld := refs.ControllerSlurmctld(in.Controller)
	if slurmctld.Problem != "" {
		return in, problem.New(v1beta1.ReasonReferenceNotFound, "%s", slurmctld.Problem)
	}
	conf, err := refs.FindSSSDConf(render.FieldSSSDConf, l.Spec.SSSDConfRef, in.Controller)
	if err != nil {
		return in, problem.New(v1beta1.ReasonInvalidSpec, "%v", err)
	}
	exists, err := access.SecretExists(ctx, r.Uncached, l.Namespace, slurmctld.Key.Name)
	if err != nil {
		return in, err
	}
	if !exists {
		return in, problem.New(v1beta1.ReasonReferenceNotFound, "slurmKeyRef of Controller %s: there is no Secret %s",
			in.Controller.Name, slurmctld.Key.Name)
	}
	return in, access.CheckSSSDConf(ctx, r.Uncached, l.Namespace, conf)
}
