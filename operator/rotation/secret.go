package rotation

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
	"github.com/slurmtide/slurmtide/operator/podspec"
	"github.com/slurmtide/slurmtide/operator/problem"
	"github.com/slurmtide/slurmtide/operator/rotation/keyfile"
	"github.com/slurmtide/slurmtide/operator/rotation/plan"
	"github.com/slurmtide/slurmtide/operator/slurmconf"
)

// keySize is the size in bytes of a new key.
const keySize = 64

// rotationSecret is the Secret with the keys of a rotation.
type rotationSecret struct {
	name string
	// live is the Secret as it was read, or nil.
	live *corev1.Secret
	// requests maps each Controller to the rotation that it already received.
	requests map[string]string
}

// readSecret reads the Secret with a name. The error is *problem.Error if the operator did not make it.
func (r *Reconciler) readSecret(ctx context.Context, namespace, name string) (rotationSecret, error) {
	out := rotationSecret{name: name, requests: map[string]string{}}
	secret := &corev1.Secret{}
	err := r.Uncached.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, secret)
	switch {
	case apierrors.IsNotFound(err):
		return out, nil
	case apierrors.IsForbidden(err):
		return out, problem.New(v1beta1.ReasonForbidden, "the operator may not read Secret %s", name)
	case err != nil:
		return out, fmt.Errorf("reading Secret %s: %w", name, err)
	}
	if json.Unmarshal([]byte(secret.Annotations[v1beta1.AnnotationRotatedFor]), &out.requests) != nil {
		return out, problem.New(v1beta1.ReasonObjectTaken, "Secret %s exists already and was not made by the "+
			"operator; delete or rename it", name)
	}
	out.live = secret
	return out, nil
}

// isImmutable reports whether the Secret is immutable.
func (s rotationSecret) isImmutable() bool {
	return s.live != nil && s.live.Immutable != nil && *s.live.Immutable
}

// hasKeySet reports whether the Secret with a key set of auth/slurm exists, and is neither empty nor damaged: without slurm.jwks
// daemons have only the retired slurm.key, whatever slurmtide.keys contains.
func (s rotationSecret) hasKeySet() bool {
	names, text := bytes.TrimSpace(s.data(slurmconf.KeySetFile)), s.data(podspec.SlurmJWKSFile)
	set, err := plan.ParseKeySet(string(names))
	if err != nil {
		return true // readKeySecret reports it
	}
	return len(names) > 0 && keyfile.Check(text, set) == nil
}

// data returns the value of a key, or nil.
func (s rotationSecret) data(key string) []byte {
	if s.live == nil {
		return nil
	}
	return s.live.Data[key]
}

// readUsersKey returns the key of a Secret that a user's field refers to.
func (r *Reconciler) readUsersKey(ctx context.Context, namespace, field string, ref *corev1.SecretKeySelector) ([]byte, error) {
	secret := &corev1.Secret{}
	err := r.Uncached.Get(ctx, client.ObjectKey{Namespace: namespace, Name: ref.Name}, secret)
	if client.IgnoreNotFound(err) != nil {
		return nil, fmt.Errorf("reading Secret %s: %w", ref.Name, err)
	}
	if len(secret.Data[ref.Key]) == 0 {
		return nil, problem.New(v1beta1.ReasonReferenceNotFound, "%s: there is no key %s of a Secret %s", field, ref.Key,
			ref.Name)
	}
	return secret.Data[ref.Key], nil
}

// isNewRequest reports whether the annotation of a Controller requests a key that was not made yet.
func (s rotationSecret) isNewRequest(c *v1beta1.Controller, annotation string) bool {
	value := c.Annotations[annotation]
	return value != "" && s.requests[c.Name] != value
}

// renderSecret returns the Secret with other data. c's request is done if a rotation begins with it.
func (r *Reconciler) renderSecret(ctx context.Context, from rotationSecret, c *v1beta1.Controller, all sharers, begunFor string,
	data map[string][]byte) (*corev1.Secret, error) {
	requests := map[string]string{}
	for _, sharer := range all.controllers { // missing ones are left out
		if value, has := from.requests[sharer.Name]; has {
			requests[sharer.Name] = value
		}
	}
	if begunFor != "" {
		requests[c.Name] = begunFor
	}
	done, err := json.Marshal(requests)
	if err != nil {
		return nil, err
	}
	out := &corev1.Secret{Type: corev1.SecretTypeOpaque, ObjectMeta: metav1.ObjectMeta{Namespace: c.Namespace, Name: from.name}}
	if from.live != nil {
		out = from.live.DeepCopy()
	}
	out.Annotations = podspec.MergeMaps(out.Annotations, map[string]string{v1beta1.AnnotationRotatedFor: string(done)})
	out.Data = data
	anchor, err := r.anchorOf(ctx, c.Namespace, from)
	out.OwnerReferences = withOwners(out.OwnerReferences, append(all.owners(), anchor))
	return out, err
}

// writeSecret writes the Secret, on condition that it has not changed since it was read. The error is *problem.Error if the
// operator cannot write it.
func (r *Reconciler) writeSecret(ctx context.Context, from rotationSecret, next *corev1.Secret) error {
	if from.isImmutable() && !equality.Semantic.DeepEqual(from.live.Data, next.Data) {
		return problem.New(v1beta1.ReasonSecretImmutable, "Secret %[1]s is immutable, so that the next keys cannot be written: "+
			"replace it by one of the same content and annotations without the field immutable, in one step: kubectl get secret "+
			"--namespace %[2]s %[1]s -o json | jq 'del(.immutable)' | kubectl replace --force -f -", next.Name, next.Namespace)
	}
	var err error
	if from.live == nil {
		err = r.Client.Create(ctx, next, r.Owner)
	} else {
		err = r.Client.Patch(ctx, next, client.MergeFromWithOptions(from.live, client.MergeFromWithOptimisticLock{}), r.Owner)
	}
	if apierrors.IsForbidden(err) {
		return problem.New(v1beta1.ReasonForbidden, "the operator may not write Secret %s: add the namespace to the "+
			"chart's rbac.secretNamespaces, and leave rbac.writeSecrets on", next.Name)
	}
	if err != nil {
		return fmt.Errorf("writing Secret %s: %w", next.Name, err)
	}
	return nil
}
