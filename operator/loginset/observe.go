package loginset

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

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
		exists, err := r.secretExists(ctx, l.Namespace, secret.name)
		if err != nil {
			return in, err
		}
		if !exists {
			return in, problem.New(v1beta1.ReasonReferenceNotFound, "%s: there is no Secret %s", secret.field, secret.name)
		}
	}
	return in, nil
}

// secretExists reports whether there is a Secret. It reads its metadata alone.
func (r *Reconciler) secretExists(ctx context.Context, namespace, name string) (bool, error) {
	meta := &metav1.PartialObjectMetadata{}
	meta.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Secret"))
	err := r.Uncached.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, meta)
	switch {
	case apierrors.IsNotFound(err):
		return false, nil
	case apierrors.IsForbidden(err):
		return false, problem.New(v1beta1.ReasonForbidden, "the operator may not read Secret %s", name)
	case err != nil:
		return false, fmt.Errorf("reading Secret %s: %w", name, err)
	}
	return true, nil
}

// createHostKeys creates the Secret with the host keys unless there is one. It never changes one, so users may
// also bring their own.
func (r *Reconciler) createHostKeys(ctx context.Context, in render.Input) error {
	name := render.HostKeysMeta(in).Name
	exists, err := r.secretExists(ctx, in.LoginSet.Namespace, name)
	if exists || err != nil {
		return err
	}
	secret, err := render.NewHostKeys(in)
	if err != nil {
		return err
	}
	err = r.Client.Create(ctx, secret, r.Owner)
	switch {
	case err == nil, apierrors.IsAlreadyExists(err):
		return nil
	case apierrors.IsForbidden(err):
		return problem.New(v1beta1.ReasonForbidden, "the operator may not create Secret %s", name)
	}
	return fmt.Errorf("creating Secret %s: %w", name, err)
}
