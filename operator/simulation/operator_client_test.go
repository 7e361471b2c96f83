package simulation

import (
	"context"
	"errors"
	"maps"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
)

var (
	errStale  = errors.New("the object has been modified")
	errKilled = errors.New("the operator was killed")
	// errUnknownNamespace is the error of a cache that has only other namespaces.
	errUnknownNamespace = errors.New("unknown namespace for the cache")
	errFlaky            = errors.New("the API server does not answer")
	errNoRight          = errors.New("the operator has no right to get it")
)

// ownedKinds are the kinds that the operator reads only in the namespaces where it may run daemons
// (kube.CacheOfOwned, and its rights).
var ownedKinds = []string{"StatefulSet", "Deployment", "ConfigMap", "Secret"}

// watchedKinds are the kinds that the operator may only list and watch, so that it reads single objects from its
// cache.
var watchedKinds = []string{v1beta1.KindController, v1beta1.KindAccounting, v1beta1.KindRestApi, v1beta1.KindLoginSet,
	v1beta1.KindNodeSet}

// operatorClient is how the operator reads and writes. It brings in faults, and holds every write to the promises.
type operatorClient struct {
	client.Client // has no other methods
	w             *simulation
	// isCached reads from the operator's cache.
	isCached bool
}

// write is one write of the operator.
type write struct {
	verb, kind, name string
	// content is the applied content, or the object.
	content map[string]any
	object  client.Object
	// data is a patch, and isStatus is true for a patch of the status.
	data     []byte
	isStatus bool
}

// view returns the objects of a kind that the client sees, or an error.
func (c *operatorClient) view(kind string) (map[string]client.Object, error) {
	switch f := &c.w.faults; {
	case f.killed:
		return nil, errKilled
	case c.w.restricted && !c.w.broken.ignoreNamespaces && slices.Contains(ownedKinds, kind):
		return nil, errUnknownNamespace
	case f.forbidden == kind:
		f.met = true
		return nil, apierrors.NewForbidden(schema.GroupResource{Resource: kind}, "", errFlaky)
	case f.readsUntilError == 1:
		f.readsUntilError, f.met = 0, true
		return nil, errFlaky
	case f.readsUntilError > 0:
		f.readsUntilError--
	}
	if cached := c.w.cache[kind]; c.isCached && cached != nil {
		return cached, nil
	}
	return c.w.api.objects[kind], nil
}

// Get implements client.Reader.
func (c *operatorClient) Get(_ context.Context, key client.ObjectKey, into client.Object, _ ...client.GetOption) error {
	kind := kindOf(into)
	switch into := into.(type) {
	case *metav1.PartialObjectMetadata:
		kind = into.Kind
	case *unstructured.Unstructured:
		return &meta.NoKindMatchError{GroupKind: into.GroupVersionKind().GroupKind()}
	}
	if !c.isCached && slices.Contains(watchedKinds, kind) {
		return apierrors.NewForbidden(schema.GroupResource{Group: v1beta1.GroupName, Resource: kind}, key.Name, errNoRight)
	}
	view, err := c.view(kind)
	if err != nil {
		return err
	}
	if view[key.Name] == nil {
		return newNotFound(kind, key.Name)
	}
	copyInto(view[key.Name], into)
	if alter := c.w.broken.read; alter != nil {
		alter(c.w, into)
	}
	return nil
}

// List implements client.Reader.
func (c *operatorClient) List(_ context.Context, into client.ObjectList, options ...client.ListOption) error {
	kind := kindOf(into)
	view, err := c.view(kind[:len(kind)-len("List")])
	if err != nil {
		return err
	}
	var o client.ListOptions
	o.ApplyOptions(options)
	var objects []client.Object
	for _, name := range slices.Sorted(maps.Keys(view)) {
		objects = append(objects, view[name])
	}
	listInto(objects, o.LabelSelector, into)
	if alter := c.w.broken.read; alter != nil {
		return meta.EachListItem(into, func(item runtime.Object) error {
			if o, isObject := item.(client.Object); isObject {
				alter(c.w, o)
			}
			return nil
		})
	}
	return nil
}

// do holds a write to the promises and does it, unless a fault comes in between.
func (c *operatorClient) do(next write, done func(write) error) error {
	f := &c.w.faults
	if f.killed {
		return errKilled
	}
	if alter := c.w.broken.write; alter != nil && !alter(c.w, &next) {
		return nil
	}
	f.writesUntilFault--
	if f.writesUntilFault != 0 {
		return c.w.checkedWrite(next, done)
	}
	f.met = true
	switch f.fault {
	case faultConflict:
		return apierrors.NewConflict(schema.GroupResource{Resource: next.kind}, next.name, errStale)
	case faultKillBefore:
		f.killed = true
		return errKilled
	case faultKillAfter:
		f.killed = true
		return errors.Join(c.w.checkedWrite(next, done), errKilled)
	}
	return errFlaky
}

// Apply implements client.Writer.
func (c *operatorClient) Apply(_ context.Context, o runtime.ApplyConfiguration, _ ...client.ApplyOption) error {
	wanted, isUnstructured := o.(interface{ UnstructuredContent() map[string]any })
	if !isUnstructured {
		return errors.New("only unstructured objects can be applied")
	}
	content := unstructured.Unstructured{Object: wanted.UnstructuredContent()}
	w := write{verb: "apply", kind: content.GetKind(), name: content.GetName(), content: content.Object}
	return c.do(w, func(next write) error { return c.w.api.apply(next.content) })
}

// Create implements client.Writer.
func (c *operatorClient) Create(_ context.Context, o client.Object, _ ...client.CreateOption) error {
	kind := kindOf(o)
	return c.do(write{verb: "create", kind: kind, name: o.GetName(), object: o}, func(write) error {
		if c.w.api.objects[kind][o.GetName()] != nil {
			return apierrors.NewAlreadyExists(schema.GroupResource{Resource: kind}, o.GetName())
		}
		created, _ := o.DeepCopyObject().(client.Object)
		c.w.api.put(created)
		return nil
	})
}

// Delete implements client.Writer.
func (c *operatorClient) Delete(_ context.Context, o client.Object, options ...client.DeleteOption) error {
	var d client.DeleteOptions
	d.ApplyOptions(options)
	kind := kindOf(o)
	return c.do(write{verb: "delete", kind: kind, name: o.GetName(), object: o}, func(write) error {
		live := c.w.api.objects[kind][o.GetName()]
		switch {
		case live == nil:
			return newNotFound(kind, o.GetName())
		case d.Preconditions != nil && d.Preconditions.UID != nil && *d.Preconditions.UID != live.GetUID():
			return apierrors.NewConflict(schema.GroupResource{Resource: kind}, o.GetName(), errStale)
		}
		c.w.api.delete(metav1.NewTime(c.w.now), kind, o.GetName())
		return nil
	})
}

// Patch implements client.Writer.
func (c *operatorClient) Patch(_ context.Context, o client.Object, p client.Patch, _ ...client.PatchOption) error {
	return c.patch(o, p, false)
}

func (c *operatorClient) patch(o client.Object, p client.Patch, isStatus bool) error {
	data, err := p.Data(o)
	if err != nil {
		return err
	}
	next := write{verb: "patch", kind: kindOf(o), name: o.GetName(), object: o, data: data, isStatus: isStatus}
	return c.do(next, func(next write) error { return c.w.api.patch(o, next.data, isStatus) })
}

// Status implements client.StatusClient.
func (c *operatorClient) Status() client.SubResourceWriter { return statusWriter{c: c} }

// statusWriter writes statuses only by patches.
type statusWriter struct {
	client.SubResourceWriter
	c *operatorClient
}

// Patch implements client.SubResourceWriter.
func (s statusWriter) Patch(_ context.Context, o client.Object, p client.Patch, _ ...client.SubResourcePatchOption) error {
	return s.c.patch(o, p, true)
}
