package rotation

import (
	"context"
	"errors"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
	"github.com/slurmtide/slurmtide/operator/kube"
	"github.com/slurmtide/slurmtide/operator/names"
	"github.com/slurmtide/slurmtide/operator/refs"
)

// The Secret of a rotation has the keys of running daemons. It belongs to all Controllers and Accountings that have the key. As long
// as one of them is a Controller, it also belongs to the namespace: otherwise the garbage collector would delete it as soon as a
// foreground deletion of the last Controller begins, whose workers still run. ReleaseSecrets ends that.

// owners returns references to all objects that have the key.
func (s sharers) owners() []metav1.OwnerReference {
	var out []metav1.OwnerReference
	add := func(kind string, o metav1.Object) {
		out = append(out, metav1.OwnerReference{APIVersion: v1beta1.SchemeGroupVersion.String(), Kind: kind, Name: o.GetName(),
			UID: o.GetUID()})
	}
	for i := range s.controllers {
		add(v1beta1.KindController, &s.controllers[i])
	}
	for i := range s.accountings {
		add(v1beta1.KindAccounting, &s.accountings[i])
	}
	return out
}

// anchorOf returns the reference to the namespace that the Secret has, or a new one.
func (r *Reconciler) anchorOf(ctx context.Context, namespace string, from rotationSecret) (metav1.OwnerReference, error) {
	if from.live != nil {
		for _, owner := range from.live.OwnerReferences {
			if isAnchor(owner) {
				return owner, nil
			}
		}
	}
	live := &corev1.Namespace{}
	if err := r.Uncached.Get(ctx, client.ObjectKey{Name: namespace}, live); err != nil {
		return metav1.OwnerReference{}, fmt.Errorf("reading namespace %s: %w", namespace, err)
	}
	return refs.Anchor(namespace, live.UID), nil
}

// addOwners adds the existing Controllers and Accountings that own a Secret, except one that is gone.
func (s *sharers) addOwners(ctx context.Context, c client.Client, secret *corev1.Secret, gone types.UID) error {
	controllers, accountings := &v1beta1.ControllerList{}, &v1beta1.AccountingList{}
	err := errors.Join(c.List(ctx, controllers, client.InNamespace(secret.Namespace)),
		c.List(ctx, accountings, client.InNamespace(secret.Namespace)))
	if err != nil {
		return fmt.Errorf("listing the owners of Secret %s: %w", secret.Name, err)
	}
	has := map[types.UID]bool{}
	for _, owner := range s.owners() {
		has[owner.UID] = true
	}
	owns := map[types.UID]bool{}
	for _, owner := range secret.OwnerReferences {
		owns[owner.UID] = owner.UID != gone && !has[owner.UID]
	}
	for _, o := range controllers.Items {
		if owns[o.UID] {
			s.controllers = append(s.controllers, o)
		}
	}
	for _, o := range accountings.Items {
		if owns[o.UID] {
			s.accountings = append(s.accountings, o)
		}
	}
	return nil
}

func isAnchor(owner metav1.OwnerReference) bool { return owner.Kind == "Namespace" }

// keepOwners adds the objects that must also own the Secret after a rotation: objects that now refer to the key, and the owners in a
// Secret that an older operator wrote.
func (r *Reconciler) keepOwners(ctx context.Context, from rotationSecret, all sharers) error {
	if from.live == nil {
		return nil
	}
	anchor, err := r.anchorOf(ctx, from.live.Namespace, from)
	if err != nil {
		return err
	}
	next := from.live.DeepCopy()
	next.OwnerReferences = withOwners(next.OwnerReferences, append(all.owners(), anchor))
	if len(next.OwnerReferences) == len(from.live.OwnerReferences) {
		return nil
	}
	return r.writeSecret(ctx, from, next)
}

// withOwners returns the owners, and the missing ones from more. An owner that now refers to another key stays: its daemons have this
// one as long as the other key is missing, or their pods are old.
func withOwners(owners, more []metav1.OwnerReference) []metav1.OwnerReference {
	out := slices.Clone(owners)
	for _, owner := range more {
		if !slices.ContainsFunc(out, func(o metav1.OwnerReference) bool { return o.UID == owner.UID }) {
			out = append(out, owner)
		}
	}
	return out
}

// ReleaseSecrets removes a Controller that is being deleted, and whose daemons are gone, from the owners of the Secrets with rotated
// keys. It deletes a Secret if no other object of the namespace has its key. A Secret that the operator may not read or write stays.
func ReleaseSecrets(ctx context.Context, w kube.Writer, c *v1beta1.Controller) error {
	for _, kind := range []struct {
		refs keyRefs
		name func(secret, key string) string
	}{{slurmKeyRefs, names.KeySetSecret}, {jwtKeyRefs, names.JWTKeysSecret}} {
		key := kind.refs.ofController(c)
		if key == nil {
			continue
		}
		all, err := listSharers(ctx, w.Client, c.Namespace, key, kind.refs)
		if err != nil {
			return err
		}
		all.controllers = slices.DeleteFunc(all.controllers, func(o v1beta1.Controller) bool { return o.UID == c.UID })
		err = releaseSecret(ctx, w, client.ObjectKey{Namespace: c.Namespace, Name: kind.name(key.Name, key.Key)}, all, c.UID)
		if err != nil && !apierrors.IsForbidden(err) && !apierrors.IsNotFound(err) {
			return fmt.Errorf("releasing a Secret with keys: %w", err)
		}
	}
	return nil
}

// releaseSecret leaves a Secret with keys to the remaining owners of the key, or deletes it without any. If an owner now refers to
// another key, its daemons have this one as long as the other key is missing, or their pods are old.
func releaseSecret(ctx context.Context, w kube.Writer, name client.ObjectKey, left sharers, gone types.UID) error {
	live := &corev1.Secret{}
	if err := w.Uncached.Get(ctx, name, live); err != nil {
		return err
	}
	if live.Annotations[v1beta1.AnnotationRotatedFor] == "" {
		return nil // it was made by others
	}
	next := live.DeepCopy()
	if err := left.addOwners(ctx, w.Client, live, gone); err != nil {
		return err
	}
	next.OwnerReferences = left.owners()
	switch {
	case len(next.OwnerReferences) == 0:
		return w.Client.Delete(ctx, live, client.Preconditions{UID: &live.UID})
	case len(left.controllers) > 0:
		next.OwnerReferences = append(next.OwnerReferences,
			slices.DeleteFunc(slices.Clone(live.OwnerReferences), func(o metav1.OwnerReference) bool { return !isAnchor(o) })...)
	}
	return w.Client.Patch(ctx, next, client.MergeFromWithOptions(live, client.MergeFromWithOptimisticLock{}), w.Owner)
}
