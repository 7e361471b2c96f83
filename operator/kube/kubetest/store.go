// Package kubetest has a store of objects for tests of reconcilers.
package kubetest

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/managedfields"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	applyconfigurations "k8s.io/client-go/applyconfigurations"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
	"github.com/slurmtide/slurmtide/operator/holder"
)

// Store is a store of objects that counts writes and can be cut off at one.
type Store struct {
	client.Client
	// Writes is how many writes there were.
	Writes int
	// Kill returns what becomes of the write with a number, from 1 on: whether it is done, and its error. The field
	// may be nil: all are done.
	Kill func(write int) (reached bool, err error)
}

// NewStore returns a store with objects, of which owner has a status, all in namespace "team".
func NewStore(t *testing.T, owner client.Object, objects ...client.Object) *Store {
	t.Helper()
	objects = append(objects, owner)
	for _, o := range objects {
		if _, isNamespace := o.(*corev1.Namespace); !isNamespace {
			o.SetNamespace("team")
		}
	}
	s := &Store{}
	s.Client = fake.NewClientBuilder().WithScheme(sharedScheme()).WithTypeConverters(sharedConverters()...).
		WithObjects(objects...).WithStatusSubresource(owner).WithInterceptorFuncs(s.countWrites()).Build()
	return s
}

// NewIndexedStore returns a store with objects, of which those of our kinds have a status, and with the indexes that
// addIndexes registers. Objects of kinds with a namespace are in namespace "team".
func NewIndexedStore(t *testing.T, addIndexes func(context.Context, client.FieldIndexer) error, objects ...client.Object) *Store {
	t.Helper()
	withStatus := []client.Object{&corev1.Pod{}}
	for _, o := range objects {
		switch o.(type) {
		case *corev1.Namespace, *corev1.Node:
		default:
			o.SetNamespace("team")
		}
		if _, ours := o.(holder.Object); ours {
			withStatus = append(withStatus, o)
		}
	}
	s := &Store{}
	b := fake.NewClientBuilder().WithScheme(sharedScheme()).WithTypeConverters(sharedConverters()...).WithObjects(objects...).
		WithStatusSubresource(withStatus...).WithInterceptorFuncs(s.countWrites())
	if err := addIndexes(t.Context(), indexBuilder{b}); err != nil {
		t.Fatal(err)
	}
	s.Client = b.Build()
	return s
}

// indexBuilder registers indexes with a fake client.
type indexBuilder struct{ *fake.ClientBuilder }

func (b indexBuilder) IndexField(_ context.Context, of client.Object, field string, value client.IndexerFunc) error {
	b.WithIndex(of, field, value)
	return nil
}

// sharedScheme has the types that all stores know.
var sharedScheme = sync.OnceValue(func() *runtime.Scheme {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{corev1.AddToScheme, appsv1.AddToScheme, autoscalingv2.AddToScheme,
		policyv1.AddToScheme, v1beta1.AddToScheme} {
		utilruntime.Must(add(scheme))
	}
	return scheme
})

// sharedConverters are the converters that a fake client makes for itself, at the cost of a scheme of all of Kubernetes'
// types each time.
var sharedConverters = sync.OnceValue(func() []managedfields.TypeConverter {
	return []managedfields.TypeConverter{applyconfigurations.NewTypeConverter(clientgoscheme.Scheme),
		managedfields.NewDeducedTypeConverter()}
})

// countWrites returns what counts every write of a client.
func (s *Store) countWrites() interceptor.Funcs {
	return interceptor.Funcs{
		Apply: func(ctx context.Context, c client.WithWatch, o runtime.ApplyConfiguration, options ...client.ApplyOption) error {
			return s.write(func() error { return c.Apply(ctx, o, options...) })
		},
		Create: func(ctx context.Context, c client.WithWatch, o client.Object, options ...client.CreateOption) error {
			return s.write(func() error { return c.Create(ctx, o, options...) })
		},
		Delete: func(ctx context.Context, c client.WithWatch, o client.Object, options ...client.DeleteOption) error {
			return s.write(func() error { return c.Delete(ctx, o, options...) })
		},
		Patch: func(ctx context.Context, c client.WithWatch, o client.Object, p client.Patch, options ...client.PatchOption) error {
			return s.write(func() error { return c.Patch(ctx, o, p, options...) })
		},
		SubResourcePatch: func(ctx context.Context, c client.Client, sub string, o client.Object, p client.Patch,
			options ...client.SubResourcePatchOption) error {
			return s.write(func() error { return c.SubResource(sub).Patch(ctx, o, p, options...) })
		},
	}
}

// write counts a write and does it, unless it fails.
func (s *Store) write(do func() error) error {
	s.Writes++
	if s.Kill == nil {
		return do()
	}
	reached, killed := s.Kill(s.Writes)
	if !reached {
		return killed
	}
	return errors.Join(do(), killed)
}

// Get reads an object of namespace "team", and fails the test if there is none.
func Get[T client.Object](t *testing.T, s *Store, name string, into T) T {
	t.Helper()
	if err := s.Get(t.Context(), client.ObjectKey{Namespace: "team", Name: name}, into); err != nil {
		t.Fatal(err)
	}
	return into
}

// Request returns a request for an object of namespace "team".
func Request(name string) ctrl.Request {
	return ctrl.Request{NamespacedName: client.ObjectKey{Namespace: "team", Name: name}}
}

// Noon is a clock that stands still.
func Noon() time.Time { return time.Date(2030, 1, 1, 12, 0, 0, 0, time.UTC) }
