package kube

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
	"github.com/slurmtide/slurmtide/operator/problem"
)

// Writer reads and writes the objects of one reconciler. All fields but Namespaces are required.
type Writer struct {
	// Client writes, and reads what the manager caches.
	Client client.Client
	// Uncached reads past the cache, which holds only some objects and no Secrets.
	Uncached client.Reader
	// Owner is the field manager of the writes.
	Owner client.FieldOwner
	// Namespaces are those in which the operator may run daemons, empty for all.
	Namespaces []string
}

// CheckNamespace returns a *problem.Error if the operator may not run daemons in a namespace.
func (w Writer) CheckNamespace(namespace string) error {
	if w.MayRunIn(namespace) {
		return nil
	}
	return problem.New(v1beta1.ReasonForbidden, "the operator runs daemons of Slurm only in %s: add this namespace to "+
		"rbac.secretNamespaces of the chart slurm-operator", strings.Join(w.Namespaces, ", "))
}

// MayRunIn reports whether the operator may run daemons in a namespace.
func (w Writer) MayRunIn(namespace string) bool {
	return len(w.Namespaces) == 0 || slices.Contains(w.Namespaces, namespace)
}

// FindLive reads an object from the cache, and reports whether there is one that is not being deleted.
func (w Writer) FindLive(ctx context.Context, key client.ObjectKey, into client.Object) (bool, error) {
	found, err := w.Find(ctx, key, into)
	return found && into.GetDeletionTimestamp().IsZero(), err
}

// FindOwned is Find for an object that the operator makes. There is none where it may not run daemons.
func (w Writer) FindOwned(ctx context.Context, key client.ObjectKey, into client.Object) (bool, error) {
	if !w.MayRunIn(key.Namespace) {
		return false, nil
	}
	return w.Find(ctx, key, into)
}

// Find reads an object from the cache, and reports whether there is one.
func (w Writer) Find(ctx context.Context, key client.ObjectKey, into client.Object) (bool, error) {
	err := w.Client.Get(ctx, key, into)
	switch {
	case apierrors.IsNotFound(err):
		return false, nil
	case err != nil:
		return false, fmt.Errorf("reading %s %s: %w", kindOf(into), key, err)
	}
	return true, nil
}

// ApplyAll makes objects as they are wanted, one after the other, until one cannot be (see Apply).
func ApplyAll[T client.Object](ctx context.Context, w Writer, objects []T) error {
	for _, object := range objects {
		if err := Apply(ctx, w.Client, w.Uncached, object, w.Owner); err != nil {
			return err
		}
	}
	return nil
}

// DeleteAll deletes objects of a namespace, given by their kinds and names, that owner controls, until one
// cannot be deleted (see DeleteOwned).
func (w Writer) DeleteAll(ctx context.Context, owner metav1.Object, objects ...client.Object) error {
	for _, object := range objects {
		object.SetNamespace(owner.GetNamespace())
		if err := DeleteOwned(ctx, w.Client, w.Uncached, owner, object); err != nil {
			return err
		}
	}
	return nil
}

// UpdateStatus writes the status that set gives a copy of an object, if it is another one, and reports whether it
// has written one. required returns the required fields of PatchStatus; it may be nil. An object that is gone is no error.
func UpdateStatus[T client.Object](ctx context.Context, w Writer, observed T, required func(next T) map[string]any,
	set func(next T)) (bool, error) {
	next, ok := observed.DeepCopyObject().(T)
	if !ok {
		return false, fmt.Errorf("copying %s: the copy is of another type", describeObject(observed))
	}
	set(next)
	if isSame, err := areSame(observed, next); isSame || err != nil {
		return false, err
	}
	var fields map[string]any
	if required != nil {
		fields = required(next)
	}
	err := PatchStatus(ctx, w.Client, observed, next, fields, w.Owner)
	return err == nil, client.IgnoreNotFound(err)
}

// areSame reports whether two objects are the same, also as they are written: an empty list is not a missing one.
func areSame(a, b client.Object) (bool, error) {
	if !apiequality.Semantic.DeepEqual(a, b) {
		return false, nil
	}
	one, err := json.Marshal(a)
	other, otherErr := json.Marshal(b)
	return bytes.Equal(one, other), errors.Join(err, otherErr)
}
