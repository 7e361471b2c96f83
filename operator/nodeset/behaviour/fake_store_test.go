package behaviour

import (
	"context"
	"crypto/rand"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
	"github.com/slurmtide/slurmtide/operator/nodeset/observed"
)

// fakeIndexer makes the reconciler's indexes in a fake client.
type fakeIndexer struct{ *fake.ClientBuilder }

func (i fakeIndexer) IndexField(_ context.Context, of client.Object, field string, value client.IndexerFunc) error {
	i.WithIndex(of, field, value)
	return nil
}

// recordWrite records a write to the store and returns an error if the write must fail.
func (r *testEnv) recordWrite(verb string, obj client.Object) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	kinds, _, err := r.scheme.ObjectKinds(obj)
	if err != nil {
		return err
	}
	words := verb + " " + kinds[0].Kind + " " + obj.GetName()
	if err := r.before(); err != nil {
		return err
	}
	if err := r.fail[words]; err != nil {
		return err
	}
	r.writes = append(r.writes, words)
	return nil
}

func (r *testEnv) interceptCreate(ctx context.Context, c client.WithWatch, obj client.Object,
	opts ...client.CreateOption) error {
	if err := r.recordWrite("create", obj); err != nil {
		return err
	}
	obj.SetUID(types.UID(rand.Text()))
	obj.SetCreationTimestamp(metav1.NewTime(r.now))
	return r.after(c.Create(ctx, obj, opts...))
}

// interceptDelete holds deletions of pods to the safety promise, and to their preconditions.
func (r *testEnv) interceptDelete(ctx context.Context, c client.WithWatch, obj client.Object,
	opts ...client.DeleteOption) error {
	if err := r.recordWrite("delete", obj); err != nil {
		return err
	}
	if pod, ok := obj.(*corev1.Pod); ok && pod.Labels[v1beta1.LabelAppName] != v1beta1.AppReleaseLookup {
		options := (&client.DeleteOptions{}).ApplyOptions(opts)
		if p := options.Preconditions; p == nil || p.UID == nil || *p.UID != pod.UID || p.ResourceVersion == nil ||
			*p.ResourceVersion != pod.ResourceVersion {
			r.t.Errorf("pod %s is deleted on the conditions %+v", pod.Name, p)
		}
		if set := r.nodeSet(); r.slurm.Busy(observed.SlurmName(pod)) && set.Spec.DrainPolicy == nil &&
			len(pod.Status.ContainerStatuses) > 0 && options.GracePeriodSeconds == nil { // by force, by a user
			r.t.Errorf("pod %s is deleted with a job on it", pod.Name)
		}
	}
	return r.after(c.Delete(ctx, obj, opts...))
}

func (r *testEnv) interceptPatch(ctx context.Context, c client.WithWatch, obj client.Object, patch client.Patch,
	opts ...client.PatchOption) error {
	if err := r.recordWrite("patch", obj); err != nil {
		return err
	}
	return r.after(c.Patch(ctx, obj, patch, opts...))
}

func (r *testEnv) interceptStatusPatch(ctx context.Context, c client.Client, name string, obj client.Object,
	patch client.Patch, opts ...client.SubResourcePatchOption) error {
	if err := r.recordWrite("patch "+name, obj); err != nil {
		return err
	}
	return r.after(c.SubResource(name).Patch(ctx, obj, patch, opts...))
}

// cachedObject is an object that a cache returned without a copy: a change of it affects all readers.
type cachedObject struct{ given, was runtime.Object }

// interceptList remembers the objects that the cache of a manager would not copy.
func (r *testEnv) interceptList(ctx context.Context, c client.WithWatch, list client.ObjectList,
	opts ...client.ListOption) error {
	if err := c.List(ctx, list, opts...); err != nil {
		return err
	}
	options := (&client.ListOptions{}).ApplyOptions(opts)
	if options.UnsafeDisableDeepCopy == nil || !*options.UnsafeDisableDeepCopy {
		return nil
	}
	return meta.EachListItem(list, func(item runtime.Object) error {
		switch item := item.(type) { // only the list's own struct is a copy
		case *corev1.Pod:
			given := *item
			r.cachedObjects = append(r.cachedObjects, cachedObject{&given, item.DeepCopy()})
		case *corev1.Node:
			given := *item
			r.cachedObjects = append(r.cachedObjects, cachedObject{&given, item.DeepCopy()})
		default:
			r.t.Errorf("%T is read without copying it, and nothing holds that it stays as it is", item)
		}
		return nil
	})
}

// expectCacheUnchanged fails if something that is the cache's was changed.
func (r *testEnv) expectCacheUnchanged() {
	r.t.Helper()
	for _, s := range r.cachedObjects {
		if diff := cmp.Diff(s.was, s.given); diff != "" {
			r.t.Errorf("an object of the cache was changed (-was +is):\n%s", diff)
		}
	}
	r.cachedObjects = nil
}
