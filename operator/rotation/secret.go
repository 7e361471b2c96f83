package rotation

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
	"github.com/slurmtide/slurmtide/operator/names"
	"github.com/slurmtide/slurmtide/operator/podspec"
	"github.com/slurmtide/slurmtide/operator/problem"
	"github.com/slurmtide/slurmtide/operator/rotation/keyfile"
	"github.com/slurmtide/slurmtide/operator/rotation/plan"
	"github.com/slurmtide/slurmtide/operator/slurmconf"
)

// keySize is the size in bytes of a new key.
const keySize = 64

// keySecret is the Secret with a key set.
type keySecret struct {
	// live is the Secret as it was read, nil if there is none.
	live *corev1.Secret
	set  plan.KeySet
	// requests are the values of AnnotationRotateKeys for which there are keys, by Controller.
	requests map[string]string
}

// readKeySecret reads the Secret with the key set that follows a key. The error is *problem.Error if somebody else
// has made it.
func (r *Reconciler) readKeySecret(ctx context.Context, namespace string, key corev1.SecretKeySelector) (
	keySecret, error) {
	out := keySecret{requests: map[string]string{}}
	secret := &corev1.Secret{}
	name := names.KeySetSecret(key.Name, key.Key)
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
	if out.set, err = plan.ParseKeySet(string(secret.Data[slurmconf.KeySetFile])); err != nil {
		return out, problem.New(v1beta1.ReasonInvalidSpec, "Secret %s: %v", name, err)
	}
	out.live = secret
	return out, nil
}

// writeKeySet writes the next key set, on condition that the Secret has not changed since it was read. Keys that are
// in no Secret are made.
func (r *Reconciler) writeKeySet(ctx context.Context, c *v1beta1.Controller, s sharers, from keySecret,
	next plan.KeySet) error {
	keys, err := r.readKeys(ctx, c, from)
	if err != nil {
		return err
	}
	for _, id := range next.IDs() {
		if len(keys[id]) == 0 {
			keys[id] = make([]byte, keySize)
			if _, err := rand.Read(keys[id]); err != nil {
				return fmt.Errorf("making a key: %w", err)
			}
		}
	}
	secret, err := renderSecret(c, s, from, next, keys)
	if err != nil {
		return err
	}
	if from.live == nil {
		err = r.Client.Create(ctx, secret, r.Owner)
	} else {
		err = r.Client.Patch(ctx, secret, client.MergeFromWithOptions(from.live, client.MergeFromWithOptimisticLock{}),
			r.Owner)
	}
	if apierrors.IsForbidden(err) {
		return problem.New(v1beta1.ReasonForbidden, "the operator may not write Secret %s: add the namespace to the "+
			"chart's rbac.secretNamespaces, and leave rbac.writeSecrets on", secret.Name)
	}
	if err != nil {
		return fmt.Errorf("writing Secret %s: %w", secret.Name, err)
	}
	return nil
}

// readKeys returns the present keys by their ids.
func (r *Reconciler) readKeys(ctx context.Context, c *v1beta1.Controller, from keySecret) (map[string][]byte, error) {
	if from.live != nil {
		keys, err := keyfile.Decode(from.live.Data[podspec.SlurmJWKSFile])
		if err != nil {
			return nil, problem.New(v1beta1.ReasonInvalidSpec, "Secret %s: %v", from.live.Name, err)
		}
		return keys, nil
	}
	ref := c.Spec.SlurmKeyRef
	secret := &corev1.Secret{}
	err := r.Uncached.Get(ctx, client.ObjectKey{Namespace: c.Namespace, Name: ref.Name}, secret)
	if client.IgnoreNotFound(err) != nil {
		return nil, fmt.Errorf("reading Secret %s: %w", ref.Name, err)
	}
	if len(secret.Data[ref.Key]) == 0 {
		return nil, problem.New(v1beta1.ReasonReferenceNotFound, "spec.slurmKeyRef: there is no key %s of a Secret %s",
			ref.Key, ref.Name)
	}
	return map[string][]byte{plan.FirstKey: secret.Data[ref.Key]}, nil
}

// renderSecret returns the Secret with a key set. It belongs to all Controllers that have the key, and is deleted
// with the last of them.
func renderSecret(c *v1beta1.Controller, s sharers, from keySecret, next plan.KeySet, keys map[string][]byte) (
	*corev1.Secret, error) {
	text, err := keyfile.Encode(next, keys)
	if err != nil {
		return nil, err
	}
	requests := map[string]string{}
	for _, sharer := range s.controllers { // those that are gone are left out
		if value, has := from.requests[sharer.Name]; has {
			requests[sharer.Name] = value
		}
	}
	if from.set.IsPlain() || len(from.set.IDs()) < len(next.IDs()) {
		requests[c.Name] = c.Annotations[v1beta1.AnnotationRotateKeys]
	}
	done, err := json.Marshal(requests)
	if err != nil {
		return nil, err
	}
	out := &corev1.Secret{Type: corev1.SecretTypeOpaque, ObjectMeta: metav1.ObjectMeta{Namespace: c.Namespace,
		Name: names.KeySetSecret(c.Spec.SlurmKeyRef.Name, c.Spec.SlurmKeyRef.Key)}}
	if from.live != nil {
		out = from.live.DeepCopy()
	}
	out.Annotations = podspec.MergeMaps(out.Annotations, map[string]string{v1beta1.AnnotationRotatedFor: string(done)})
	out.OwnerReferences = nil
	for _, sharer := range s.controllers {
		out.OwnerReferences = append(out.OwnerReferences, metav1.OwnerReference{
			APIVersion: v1beta1.SchemeGroupVersion.String(), Kind: v1beta1.KindController, Name: sharer.Name,
			UID: sharer.UID})
	}
	out.Data = map[string][]byte{podspec.SlurmJWKSFile: text, slurmconf.KeySetFile: []byte(next.String())}
	return out, nil
}

// newKeyID returns the id of a new key. It is part of what daemons sign, so that it tells nothing of the key.
func newKeyID(now time.Time) (string, error) {
	random := make([]byte, 2)
	if _, err := rand.Read(random); err != nil {
		return "", fmt.Errorf("making the id of a key: %w", err)
	}
	return now.UTC().Format("20060102") + "-" + hex.EncodeToString(random), nil
}
