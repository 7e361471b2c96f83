// Package removal deletes the Slurm clusters of a Helm release while their operator still runs: NodeSets and Controllers
// have finalizers that nobody else takes off, so that a release which removes both at once would leave them behind.
package removal

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
)

// The annotations with which Helm marks the objects of a release.
const (
	releaseName      = "meta.helm.sh/release-name"
	releaseNamespace = "meta.helm.sh/release-namespace"
)

// reportInterval is how often the objects that are waited for are named again.
const reportInterval = 30 * time.Second

// Remover deletes the NodeSets and Controllers of a Helm release.
type Remover struct {
	Client client.Client
	// Namespaces are those that the operator manages, empty for all.
	Namespaces []string
	// Release and ReleaseNamespace are those of the Helm release.
	Release, ReleaseNamespace string
	// Interval is the time between two looks at what is left.
	Interval time.Duration
	// Logf reports progress.
	Logf func(format string, args ...any)
}

// object is one with a finalizer of the operator.
type object struct {
	client.Object
	kind       string
	conditions []metav1.Condition
}

func (o object) String() string { return o.kind + " " + o.GetNamespace() + "/" + o.GetName() }

// waitsFor returns what keeps a deleted object.
func (o object) waitsFor() string {
	var reasons []string
	for _, name := range []string{v1beta1.ConditionDraining, v1beta1.ConditionReady} {
		if c := meta.FindStatusCondition(o.conditions, name); c != nil && c.Message != "" &&
			(name == v1beta1.ConditionReady) == (c.Status != metav1.ConditionTrue) {
			reasons = append(reasons, c.Message)
		}
	}
	return strings.Join(reasons, "; ")
}

// DeleteClusters deletes the NodeSets of the release, waits until their jobs have ended and they are gone, and then does
// the same with the Controllers. It deletes nothing if the operator is needed for objects that are not the release's: an
// error names them. It blocks until ctx ends.
func (r *Remover) DeleteClusters(ctx context.Context) error {
	if err := r.refuseOthers(ctx); err != nil {
		return err
	}
	for _, of := range kinds() {
		if err := r.deleteAll(ctx, of); err != nil {
			return err
		}
	}
	return nil
}

// refuseOthers returns an error that names the objects of other releases which the operator must outlive.
func (r *Remover) refuseOthers(ctx context.Context) error {
	var others []string
	for _, of := range kinds() {
		all, err := r.list(ctx, of)
		if err != nil {
			return err
		}
		for _, o := range all {
			if !r.isOfRelease(o) && len(o.GetFinalizers()) > 0 {
				others = append(others, o.String())
			}
		}
	}
	if len(others) > 0 {
		slices.Sort(others)
		return fmt.Errorf("the operator is still needed for %s, which the release %s does not contain: delete them first, "+
			"or uninstall with --no-hooks and install another operator for them", strings.Join(others, ", "), r.Release)
	}
	return nil
}

// deleteAll deletes the objects of a kind that the release contains, and waits until they are gone.
func (r *Remover) deleteAll(ctx context.Context, of kind) error {
	for reported := (time.Time{}); ; {
		all, err := r.list(ctx, of)
		if err != nil {
			return err
		}
		left := slices.DeleteFunc(all, func(o object) bool { return !r.isOfRelease(o) })
		if len(left) == 0 {
			return nil
		}
		if time.Since(reported) >= reportInterval && r.report(left) {
			reported = time.Now()
		}
		for _, o := range left {
			if err := r.delete(ctx, o); err != nil {
				return err
			}
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("waiting for %s: %w", left[0], context.Cause(ctx))
		case <-time.After(r.Interval):
		}
	}
}

// report names the objects that are being deleted, and returns whether there are any.
func (r *Remover) report(left []object) bool {
	reported := false
	for _, o := range left {
		if !o.GetDeletionTimestamp().IsZero() {
			r.Logf("%s is being deleted: %s", o, o.waitsFor())
			reported = true
		}
	}
	return reported
}

// delete deletes an object unless it is being deleted.
func (r *Remover) delete(ctx context.Context, o object) error {
	if !o.GetDeletionTimestamp().IsZero() {
		return nil
	}
	uid := o.GetUID()
	r.Logf("deleting %s", o)
	if err := r.Client.Delete(ctx, o.Object, client.Preconditions{UID: &uid}); err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("deleting %s: %w", o, err)
	}
	return nil
}

func (r *Remover) isOfRelease(o object) bool {
	marks := o.GetAnnotations()
	return marks[releaseName] == r.Release && marks[releaseNamespace] == r.ReleaseNamespace
}

// kind is one whose objects have a finalizer of the operator.
type kind struct {
	name    string
	newList func() client.ObjectList
}

// kinds returns them in the order of removal: the workers of a Controller need its slurmctld until their jobs have ended.
func kinds() []kind {
	return []kind{
		{"NodeSet", func() client.ObjectList { return &v1beta1.NodeSetList{} }},
		{"Controller", func() client.ObjectList { return &v1beta1.ControllerList{} }},
	}
}

// list returns the objects of a kind: none if its definition is gone.
func (r *Remover) list(ctx context.Context, of kind) ([]object, error) {
	var out []object
	namespaces := r.Namespaces
	if len(namespaces) == 0 {
		namespaces = []string{metav1.NamespaceAll}
	}
	for _, namespace := range namespaces {
		list := of.newList()
		if err := r.Client.List(ctx, list, client.InNamespace(namespace)); meta.IsNoMatchError(err) {
			return nil, nil
		} else if err != nil {
			return nil, fmt.Errorf("listing %ss: %w", of.name, err)
		}
		err := meta.EachListItem(list, func(item runtime.Object) error {
			switch o := item.(type) {
			case *v1beta1.NodeSet:
				out = append(out, object{o, of.name, o.Status.Conditions})
			case *v1beta1.Controller:
				out = append(out, object{o, of.name, o.Status.Conditions})
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return out, nil
}
