package access

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
	"github.com/slurmtide/slurmtide/operator/problem"
	"github.com/slurmtide/slurmtide/operator/refs"
)

// SecretExists reports whether a Secret exists. It reads only its metadata. The error is *problem.Error if the operator may not read
// it.
func SecretExists(ctx context.Context, reader client.Reader, namespace, name string) (bool, error) {
	meta := &metav1.PartialObjectMetadata{}
	meta.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Secret"))
	err := reader.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, meta)
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

// CheckSSSDConf returns a *problem.Error if the Secret for sssd.conf is missing. It does not check the content, which only SSSD can
// judge.
func CheckSSSDConf(ctx context.Context, reader client.Reader, namespace string, conf refs.SSSDConf) error {
	exists, err := SecretExists(ctx, reader, namespace, conf.Name)
	if err == nil && !exists {
		err = problem.New(v1beta1.ReasonReferenceNotFound, "%s: there is no Secret %s", conf.Field, conf.Name)
	}
	return err
}

// labelPodSecurity is a namespace's label with the pod security standard that it enforces.
const labelPodSecurity = "pod-security.kubernetes.io/enforce"

// CheckDaemonSSSD returns a *problem.Error if pods of slurmctld or slurmrestd cannot run SSSD with the configuration. Either its key is
// missing, or a label of their namespace forbids the container: Kubernetes would then end pods and start none.
func CheckDaemonSSSD(ctx context.Context, reader client.Reader, namespace string, conf refs.SSSDConf) error {
	of := &metav1.PartialObjectMetadata{}
	of.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Namespace"))
	if err := reader.Get(ctx, client.ObjectKey{Name: namespace}, of); err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("reading namespace %s: %w", namespace, err)
	}
	if of.Labels[labelPodSecurity] == "restricted" {
		return problem.New(v1beta1.ReasonInvalidSpec, "%s: namespace %s enforces the pod security standard "+
			"restricted, which refuses the container of SSSD; label it %s=baseline, or remove the field", conf.Field, namespace, labelPodSecurity)
	}
	return CheckKeys(ctx, reader, namespace, RequiredKey{conf.Field, &conf.SecretKeySelector})
}

// CheckConfigMapKey returns a *problem.Error if the key of a ConfigMap that a field refers to is missing. The kubelet does not start a
// pod without it. ref is nil if the field is not set.
func CheckConfigMapKey(ctx context.Context, reader client.Reader, namespace, field string,
	ref *corev1.ConfigMapKeySelector) error {
	if ref == nil {
		return nil
	}
	config := &corev1.ConfigMap{}
	err := reader.Get(ctx, client.ObjectKey{Namespace: namespace, Name: ref.Name}, config)
	_, isText := config.Data[ref.Key]
	_, isBinary := config.BinaryData[ref.Key]
	switch {
	case apierrors.IsNotFound(err):
		return problem.New(v1beta1.ReasonReferenceNotFound, "%s: there is no ConfigMap %s", field, ref.Name)
	case err != nil:
		return fmt.Errorf("reading ConfigMap %s: %w", ref.Name, err)
	case !isText && !isBinary:
		return problem.New(v1beta1.ReasonReferenceNotFound, "%s: ConfigMap %s has no key %s", field, ref.Name, ref.Key)
	}
	return nil
}

// RequiredKey is a key of a Secret without which an object's pods would wait without a word.
type RequiredKey struct {
	// Field is the path of the reference, which errors name.
	Field string
	// Ref is nil if the field is not set.
	Ref *corev1.SecretKeySelector
}

// CheckKeys returns a *problem.Error about the first key that is unset, missing in the namespace, or in a Secret that a Token made. It
// does not check the content.
func CheckKeys(ctx context.Context, reader client.Reader, namespace string, keys ...RequiredKey) error {
	for _, key := range keys {
		if key.Ref == nil {
			return problem.New(v1beta1.ReasonInvalidSpec, "%s must be given", key.Field)
		}
		secret := &corev1.Secret{}
		err := reader.Get(ctx, client.ObjectKey{Namespace: namespace, Name: key.Ref.Name}, secret)
		switch {
		case apierrors.IsNotFound(err):
			return problem.New(v1beta1.ReasonReferenceNotFound, "%s: there is no Secret %s", key.Field, key.Ref.Name)
		case apierrors.IsForbidden(err):
			return problem.New(v1beta1.ReasonForbidden, "%s: the operator may not read Secret %s", key.Field, key.Ref.Name)
		case err != nil:
			return fmt.Errorf("reading Secret %s: %w", key.Ref.Name, err)
		case isOfToken(secret):
			return problem.New(v1beta1.ReasonInvalidSpec, "%s: a Token made Secret %s, so what it contains is no key; name "+
				"another Secret, and give the Token another one", key.Field, key.Ref.Name)
		case len(secret.Data[key.Ref.Key]) == 0:
			return problem.New(v1beta1.ReasonReferenceNotFound, "%s: Secret %s has no key %s", key.Field, key.Ref.Name,
				key.Ref.Key)
		}
	}
	return nil
}
