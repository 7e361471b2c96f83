// Package helmrelease acts on the custom resources of a Helm release that contains their operator too.
package helmrelease

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
)

// The annotations with which Helm marks the objects of a release.
const (
	releaseName      = "meta.helm.sh/release-name"
	releaseNamespace = "meta.helm.sh/release-namespace"
)

// reportInterval is the interval of messages about the objects that are waited for.
const reportInterval = 30 * time.Second

// Release is a Helm release.
type Release struct {
	Client          client.Client
	Name, Namespace string
	// Revision of the release at which it was rendered, 0 for unknown. A rollback keeps the number of the revision that it restores.
	Revision int
	// Job is the Job of the hook, or empty, in the namespace of the operator.
	Job, OperatorNamespace string
	// Namespaces are the namespaces that the operator manages, empty for all.
	Namespaces []string
	// Interval is the time between two reads while waiting.
	Interval time.Duration
	// Logf reports progress.
	Logf func(format string, args ...any)
}

// object is a custom resource of the operator's group.
type object struct{ unstructured.Unstructured }

func (o object) String() string { return o.GetKind() + " " + o.GetNamespace() + "/" + o.GetName() }

// findCondition returns a condition of the object, or nil.
func (o object) findCondition(name string) *metav1.Condition {
	var status struct {
		Conditions []metav1.Condition `json:"conditions"`
	}
	content, _, _ := unstructured.NestedMap(o.Object, "status") //nolint:errcheck // then there is no condition
	if runtime.DefaultUnstructuredConverter.FromUnstructured(content, &status) != nil {
		return nil
	}
	return meta.FindStatusCondition(status.Conditions, name)
}

// listObjects returns the objects of a kind in the namespaces that the operator manages. It returns none if the kind is not defined.
func (r *Release) listObjects(ctx context.Context, kind string) ([]object, error) {
	var out []object
	namespaces := r.Namespaces
	if len(namespaces) == 0 {
		namespaces = []string{metav1.NamespaceAll}
	}
	for _, namespace := range namespaces {
		list := &unstructured.UnstructuredList{}
		list.SetGroupVersionKind(v1beta1.SchemeGroupVersion.WithKind(kind + "List"))
		if err := r.Client.List(ctx, list, client.InNamespace(namespace)); meta.IsNoMatchError(err) {
			return nil, nil
		} else if err != nil {
			return nil, fmt.Errorf("listing %ss: %w", kind, err)
		}
		for _, item := range list.Items {
			out = append(out, object{item})
		}
	}
	return out, nil
}

// listOwn returns the objects of a kind that the release contains.
func (r *Release) listOwn(ctx context.Context, kind string) ([]object, error) {
	all, err := r.listObjects(ctx, kind)
	return slices.DeleteFunc(all, func(o object) bool { return !r.containsObject(o) }), err
}

func (r *Release) containsObject(o object) bool {
	marks := o.GetAnnotations()
	return marks[releaseName] == r.Name && marks[releaseNamespace] == r.Namespace
}

// failuresInRow is the number of consecutive reads that may fail. With the program's interval it is also the number of seconds, such as
// while an API server is replaced.
const failuresInRow = 300

// waitUntilNone calls look until it returns nothing. It reports what it waits for whenever that changes. describe returns the reason,
// or "" for nothing to report.
func (r *Release) waitUntilNone(ctx context.Context, look func() ([]object, error), describe func(object) string) error {
	var last []string
	failures := 0
	for reported := (time.Time{}); ; {
		left, err := look()
		refused := (*RefusedError)(nil)
		switch {
		case err == nil && len(left) == 0:
			return nil
		case errors.As(err, &refused), err != nil && failures >= failuresInRow:
			return err
		case err != nil:
			failures++
			r.Logf("trying again: %v", err)
		default:
			failures = 0
		}
		var lines []string
		for _, o := range left {
			if text := describe(o); text != "" {
				lines = append(lines, fmt.Sprintf("%s %s", o, text))
			}
		}
		if len(lines) > 0 && (time.Since(reported) >= reportInterval || !slices.Equal(lines, last)) {
			for _, line := range lines {
				r.Logf("%s", line)
			}
			reported, last = time.Now(), lines
		}
		select {
		case <-ctx.Done():
			if len(left) == 0 {
				return fmt.Errorf("%w: %w", err, context.Cause(ctx))
			}
			return fmt.Errorf("waiting for %s: %w", left[0], context.Cause(ctx))
		case <-time.After(r.Interval):
		}
	}
}
