package access

import (
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
	"github.com/slurmtide/slurmtide/operator/problem"
	"github.com/slurmtide/slurmtide/operator/refs"
)

// FindController returns the Controller that the field spec.controllerRef of an object names. The error is
// *problem.Error if it is missing.
func FindController(ctx context.Context, reader client.Reader, namespace, name string) (*v1beta1.Controller, error) {
	out := &v1beta1.Controller{}
	err := reader.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, out)
	if apierrors.IsNotFound(err) {
		return nil, problem.New(v1beta1.ReasonReferenceNotFound, "spec.controllerRef: there is no Controller %s", name)
	}
	return out, err
}

// FindSlurmdbd returns the address of a Controller's slurmdbd, with an empty host without accounting. The
// error is *problem.Error if the Controller names an Accounting that does not exist.
func FindSlurmdbd(ctx context.Context, reader client.Reader, c *v1beta1.Controller) (refs.Address, error) {
	ref := c.Spec.AccountingRef
	if ref == nil || ref.Name == "" {
		return refs.Address{}, nil
	}
	accounting := &v1beta1.Accounting{}
	err := reader.Get(ctx, client.ObjectKey{Namespace: c.Namespace, Name: ref.Name}, accounting)
	if apierrors.IsNotFound(err) {
		return refs.Address{}, problem.New(v1beta1.ReasonReferenceNotFound,
			"spec.accountingRef of Controller %s: there is no Accounting %s", c.Name, ref.Name)
	}
	return refs.AccountingSlurmdbd(accounting), err
}
