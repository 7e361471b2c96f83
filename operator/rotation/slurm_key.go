package rotation

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
	"github.com/slurmtide/slurmtide/operator/names"
	"github.com/slurmtide/slurmtide/operator/podspec"
	"github.com/slurmtide/slurmtide/operator/problem"
	"github.com/slurmtide/slurmtide/operator/rotation/keyfile"
	"github.com/slurmtide/slurmtide/operator/rotation/plan"
	"github.com/slurmtide/slurmtide/operator/slurmconf"
)

// keySecret is the Secret with a key set of auth/slurm.
type keySecret struct {
	rotationSecret
	set plan.KeySet
}

// readKeySecret reads the Secret with the key set that replaces a key. The error is *problem.Error if the operator
// did not make it.
func (r *Reconciler) readKeySecret(ctx context.Context, namespace string, key corev1.SecretKeySelector) (
	keySecret, error) {
	secret, err := r.readSecret(ctx, namespace, names.KeySetSecret(key.Name, key.Key))
	if err != nil {
		return keySecret{}, err
	}
	out := keySecret{rotationSecret: secret}
	if !secret.hasKeySet() {
		return out, nil
	}
	if out.set, err = plan.ParseKeySet(string(secret.data(slurmconf.KeySetFile))); err != nil {
		return out, problem.New(v1beta1.ReasonInvalidSpec, "Secret %s: %v", secret.name, err)
	}
	return out, nil
}

// isKeyUnfinished reports whether daemons have several keys.
func (r *Reconciler) isKeyUnfinished(ctx context.Context, namespace string, key corev1.SecretKeySelector) (
	rotationSecret, bool, error) {
	secret, err := r.readKeySecret(ctx, namespace, key)
	return secret.rotationSecret, len(secret.set.IDs()) > 1, err
}

// writeKeySet writes the next key set. Keys that are in no Secret are made.
func (r *Reconciler) writeKeySet(ctx context.Context, c *v1beta1.Controller, s sharers, from keySecret,
	next plan.KeySet) error {
	keys, err := r.readKeys(ctx, c, from)
	if err != nil {
		return err
	}
	for _, id := range next.IDs() {
		if len(keys[id]) > 0 {
			continue
		}
		if keys[id], err = newKey(); err != nil {
			return err
		}
	}
	text, err := keyfile.Encode(next, keys)
	if err != nil {
		return err
	}
	begunFor := ""
	if slices.ContainsFunc(next.IDs(), func(id string) bool { return !slices.Contains(from.set.IDs(), id) }) {
		begunFor = c.Annotations[v1beta1.AnnotationRotateKeys]
	}
	secret, err := r.renderSecret(ctx, from.rotationSecret, c, s, begunFor, map[string][]byte{podspec.SlurmJWKSFile: text,
		slurmconf.KeySetFile: []byte(next.String())})
	if err != nil {
		return err
	}
	return r.writeSecret(ctx, from.rotationSecret, secret)
}

// readKeys returns the present keys by their ids.
func (r *Reconciler) readKeys(ctx context.Context, c *v1beta1.Controller, from keySecret) (map[string][]byte, error) {
	if from.live != nil {
		if !from.hasKeySet() {
			return nil, problem.New(v1beta1.ReasonKeySetMissing, "Secret %s has no key set: restore it from a backup, or delete it to "+
				"begin with the key of spec.slurmKeyRef, which all daemons have", from.live.Name)
		}
		keys, err := keyfile.Decode(from.live.Data[podspec.SlurmJWKSFile])
		if err != nil {
			return nil, problem.New(v1beta1.ReasonInvalidSpec, "Secret %s: %v", from.live.Name, err)
		}
		return keys, nil
	}
	key, err := r.readUsersKey(ctx, c.Namespace, "spec.slurmKeyRef", c.Spec.SlurmKeyRef)
	return map[string][]byte{plan.FirstKey: key}, err
}

// newKey returns a new key of auth/slurm or, for HS256, of auth/jwt.
func newKey() ([]byte, error) {
	out := make([]byte, keySize)
	if _, err := rand.Read(out); err != nil {
		return nil, fmt.Errorf("making a key: %w", err)
	}
	return out, nil
}

// newKeyID returns the id of a new key. The id is part of what daemons sign, so it reveals nothing of the key.
func newKeyID(now time.Time) (string, error) {
	random := make([]byte, 2)
	if _, err := rand.Read(random); err != nil {
		return "", fmt.Errorf("making the id of a key: %w", err)
	}
	return now.UTC().Format("20060102") + "-" + hex.EncodeToString(random), nil
}
