package accounting

import (
	"context"
	"crypto/rand"
	"fmt"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/slurmtide/slurmtide/operator/access"
	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
	"github.com/slurmtide/slurmtide/operator/names"
	"github.com/slurmtide/slurmtide/operator/problem"
)

// createPassword makes the Secret with the password of the database if it does not exist, and AnnotationGenerateKeys asks for it. It never
// changes a Secret, and makes none once there is a StatefulSet: the database has the lost password. The Secret has no owner, since the
// database may outlive the Accounting.
func (r *Reconciler) createPassword(ctx context.Context, a *v1beta1.Accounting) error {
	ref := a.Spec.StorageConfig.PasswordKeyRef
	asked := strings.Split(a.Annotations[v1beta1.AnnotationGenerateKeys], ",")
	isAsked := slices.ContainsFunc(asked, func(part string) bool { return strings.TrimSpace(part) == v1beta1.GenerateStoragePassword })
	if !isAsked || ref.Name == "" || ref.Key == "" {
		return nil
	}
	exists, err := access.SecretExists(ctx, r.Uncached, a.Namespace, ref.Name)
	if err != nil || exists {
		return err
	}
	id := client.ObjectKey{Namespace: a.Namespace, Name: names.AccountingStatefulSet(a.Name)}
	switch err := r.Uncached.Get(ctx, id, &appsv1.StatefulSet{}); {
	case err == nil:
		return problem.New(v1beta1.ReasonReferenceNotFound, "there is no Secret %s any more, and the database has its password: bring it "+
			"back, or give the user of the database another password and put that into the Secret", ref.Name)
	case !apierrors.IsNotFound(err):
		return fmt.Errorf("reading StatefulSet %s: %w", id.Name, err)
	}
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: ref.Name, Namespace: a.Namespace},
		Type: corev1.SecretTypeOpaque, Data: map[string][]byte{ref.Key: []byte(rand.Text())}}
	switch err := r.Client.Create(ctx, secret, r.Owner); {
	case apierrors.IsAlreadyExists(err):
		return nil
	case apierrors.IsForbidden(err):
		return problem.New(v1beta1.ReasonForbidden, "the operator may not create Secret %s: add the namespace to the chart's "+
			"rbac.secretNamespaces, and leave rbac.writeSecrets on (%v)", ref.Name, err)
	case err != nil:
		return fmt.Errorf("creating Secret %s: %w", ref.Name, err)
	}
	r.events.Eventf(a, nil, corev1.EventTypeNormal, "PasswordGenerated", "GenerateKeys", "generated %s of Secret %s", ref.Key, ref.Name)
	return nil
}
