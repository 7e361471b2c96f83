package kube

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/slurmtide/slurmtide/operator/access"
	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
	"github.com/slurmtide/slurmtide/operator/problem"
	"github.com/slurmtide/slurmtide/operator/sshd"
)

// CreateHostKeys creates the Secret with the host keys of sshd unless there is one. It never changes one, so users may
// also bring their own. A *problem.Error says that the operator lacks the right.
func CreateHostKeys(ctx context.Context, w Writer, meta metav1.ObjectMeta) error {
	exists, err := access.SecretExists(ctx, w.Uncached, meta.Namespace, meta.Name)
	if exists || err != nil {
		return err
	}
	secret, err := sshd.NewHostKeys(meta)
	if err != nil {
		return err
	}
	err = w.Client.Create(ctx, secret, w.Owner)
	switch {
	case err == nil, apierrors.IsAlreadyExists(err):
		return nil
	case apierrors.IsForbidden(err):
		return problem.New(v1beta1.ReasonForbidden, "the operator may not create Secret %s", meta.Name)
	}
	return fmt.Errorf("creating Secret %s: %w", meta.Name, err)
}
