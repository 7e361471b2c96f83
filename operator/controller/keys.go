package controller

import (
	"context"
	"crypto/rand"
	"fmt"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/slurmtide/slurmtide/operator/access"
	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
	"github.com/slurmtide/slurmtide/operator/controller/render"
	"github.com/slurmtide/slurmtide/operator/names"
	"github.com/slurmtide/slurmtide/operator/problem"
)

// createKeys makes the Secrets with the keys of a Controller that do not exist, if AnnotationGenerateKeys asks for
// it. It never changes a Secret, and makes none once there is a StatefulSet: daemons that run have the lost key, and
// a new one would part them from those that start later.
func (r *Reconciler) createKeys(ctx context.Context, c *v1beta1.Controller) error {
	var missing []render.KeySecret
	for _, wanted := range render.RequestedKeySecrets(c) {
		exists, err := access.SecretExists(ctx, r.Uncached, c.Namespace, wanted.Name)
		if err != nil {
			return err
		}
		if !exists {
			missing = append(missing, wanted)
		}
	}
	if len(missing) == 0 {
		return nil
	}
	err := r.Uncached.Get(ctx, client.ObjectKey{Namespace: c.Namespace, Name: names.ControllerStatefulSet(c.Name)},
		&appsv1.StatefulSet{})
	switch {
	case err == nil:
		return problem.New(v1beta1.ReasonReferenceNotFound, "there is no Secret %s any more, and the daemons that run have "+
			"its key: bring it back, or delete StatefulSet %s and all workers for new keys", missing[0].Name,
			names.ControllerStatefulSet(c.Name))
	case !apierrors.IsNotFound(err):
		return fmt.Errorf("reading StatefulSet %s: %w", names.ControllerStatefulSet(c.Name), err)
	}
	for _, wanted := range missing {
		if err := r.createKeySecret(ctx, c, wanted); err != nil {
			return err
		}
	}
	return nil
}

// createKeySecret makes a Secret with new keys. One that somebody else makes at the same time stays as it is.
func (r *Reconciler) createKeySecret(ctx context.Context, c *v1beta1.Controller, wanted render.KeySecret) error {
	secret, err := wanted.Generate(c, rand.Reader)
	if err != nil {
		return err
	}
	err = r.Client.Create(ctx, secret, r.Owner)
	switch {
	case apierrors.IsAlreadyExists(err):
		return nil
	case apierrors.IsForbidden(err):
		return problem.New(v1beta1.ReasonForbidden, "the operator may not create Secret %s: add the namespace to the "+
			"chart's rbac.secretNamespaces, and leave rbac.writeSecrets on", wanted.Name)
	case err != nil:
		return fmt.Errorf("creating Secret %s: %w", wanted.Name, err)
	}
	r.events.Eventf(c, nil, corev1.EventTypeNormal, "KeysGenerated", "GenerateKeys", "generated %s of Secret %s",
		strings.Join(wanted.Keys, " and "), wanted.Name)
	return nil
}
