package simulation

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
)

// newObjects make an empty object of each kind that the API server has.
var newObjects = map[string]func() client.Object{
	"Namespace":               func() client.Object { return &corev1.Namespace{} },
	"Secret":                  func() client.Object { return &corev1.Secret{} },
	"ConfigMap":               func() client.Object { return &corev1.ConfigMap{} },
	"Service":                 func() client.Object { return &corev1.Service{} },
	"Pod":                     func() client.Object { return &corev1.Pod{} },
	"StatefulSet":             func() client.Object { return &appsv1.StatefulSet{} },
	"Deployment":              func() client.Object { return &appsv1.Deployment{} },
	"HorizontalPodAutoscaler": func() client.Object { return &autoscalingv2.HorizontalPodAutoscaler{} },
	"NodeSet":                 func() client.Object { return &v1beta1.NodeSet{} },
	v1beta1.KindController:    func() client.Object { return &v1beta1.Controller{} },
	v1beta1.KindAccounting:    func() client.Object { return &v1beta1.Accounting{} },
	v1beta1.KindRestApi:       func() client.Object { return &v1beta1.RestApi{} },
	v1beta1.KindLoginSet:      func() client.Object { return &v1beta1.LoginSet{} },
}

// apiServer is Kubernetes' API server for one namespace: it stores the same as kubetest.Store, at a fraction
// of its cost.
type apiServer struct {
	// objects are by kind and name. They are replaced and never changed.
	objects map[string]map[string]client.Object
	// applied is the last applied content, by kind and name.
	applied map[string]map[string]any
	version int
}

func newAPIServer() *apiServer {
	s := &apiServer{objects: map[string]map[string]client.Object{}, applied: map[string]map[string]any{}}
	for kind := range newObjects {
		s.objects[kind] = map[string]client.Object{}
	}
	return s
}

// clone returns an independent copy. The objects are shared, since they are never changed.
func (s *apiServer) clone() *apiServer {
	out := &apiServer{objects: map[string]map[string]client.Object{}, applied: maps.Clone(s.applied), version: s.version}
	for kind, of := range s.objects {
		out.objects[kind] = maps.Clone(of)
	}
	return out
}

func kindOf(o any) string { return reflect.TypeOf(o).Elem().Name() }

// find returns an object, or nil. The caller must not change it.
func find[T client.Object](s *apiServer, name string) T {
	var none T
	out, _ := s.objects[kindOf(none)][name].(T)
	return out
}

// each returns the objects of a type in the order of their names. The caller must not change them.
func each[T client.Object](s *apiServer) []T {
	var none T
	of := s.objects[kindOf(none)]
	out := make([]T, 0, len(of))
	for _, name := range slices.Sorted(maps.Keys(of)) {
		out = append(out, of[name].(T)) //nolint:forcetypeassert // the kind is that of the type
	}
	return out
}

// change changes a copy of an object, if it exists, and stores it.
func change[T client.Object](s *apiServer, name string, change func(T)) {
	if live := find[T](s, name); !reflect.ValueOf(live).IsNil() {
		next, _ := live.DeepCopyObject().(T)
		change(next)
		s.put(next)
	}
}

// put stores an object as the newest version, unless it is the same.
func (s *apiServer) put(o client.Object) {
	kind, name := kindOf(o), o.GetName()
	live, has := s.objects[kind][name]
	switch {
	case !has:
		o.SetUID(types.UID(fmt.Sprintf("uid-%s-%d", name, s.version)))
		o.SetGeneration(1)
	case reflect.DeepEqual(live, o):
		return
	case !reflect.DeepEqual(specOf(live), specOf(o)):
		o.SetGeneration(live.GetGeneration() + 1)
	}
	s.version++
	o.SetResourceVersion(strconv.Itoa(s.version))
	s.objects[kind][name] = o
	if o.GetDeletionTimestamp() != nil && len(o.GetFinalizers()) == 0 && kind != "Pod" {
		s.remove(kind, name)
	}
}

func (s *apiServer) remove(kind, name string) {
	s.version++
	delete(s.objects[kind], name)
	delete(s.applied, kind+"/"+name)
}

func specOf(o client.Object) any {
	if spec := reflect.ValueOf(o).Elem().FieldByName("Spec"); spec.IsValid() {
		return spec.Interface()
	}
	return nil
}

// delete deletes an object; its finalizers, and the containers of a pod, keep it for a while.
func (s *apiServer) delete(now metav1.Time, kind, name string) {
	live := s.objects[kind][name]
	if live == nil || live.GetDeletionTimestamp() != nil {
		return
	}
	if len(live.GetFinalizers()) == 0 && kind != "Pod" {
		s.remove(kind, name)
		return
	}
	next, _ := live.DeepCopyObject().(client.Object)
	next.SetDeletionTimestamp(&now)
	s.put(next)
}

// apply is server-side apply with a single owner: fields that it applied before and no longer wants are
// removed.
func (s *apiServer) apply(wanted map[string]any) error {
	kind, _ := wanted["kind"].(string)
	meta, _ := wanted["metadata"].(map[string]any)
	name, _ := meta["name"].(string)
	live, content := s.objects[kind][name], map[string]any{}
	uid, hasUID := meta["uid"].(string)
	switch {
	case hasUID && live == nil:
		return apierrors.NewConflict(schema.GroupResource{Resource: kind}, name, errStale)
	case hasUID && uid != string(live.GetUID()):
		return apierrors.NewInvalid(schema.GroupKind{Kind: kind}, name,
			field.ErrorList{field.Invalid(field.NewPath("metadata", "uid"), uid, "field is immutable")})
	case live != nil:
		content = toMap(live)
	}
	prune(content, s.applied[kind+"/"+name], wanted)
	merge(content, wanted)
	next, err := fromMap(kind, content)
	if err != nil {
		return apierrors.NewBadRequest(err.Error())
	}
	if live != nil {
		if err := checkImmutable(live, next); err != nil {
			return err
		}
	}
	s.put(next)
	s.applied[kind+"/"+name] = wanted
	return nil
}

// checkImmutable refuses changes that the API server refuses.
func checkImmutable(live, next client.Object) error {
	same := true
	switch live := live.(type) {
	case *appsv1.StatefulSet:
		next, _ := next.(*appsv1.StatefulSet)
		same = reflect.DeepEqual(live.Spec.Selector, next.Spec.Selector) && live.Spec.ServiceName == next.Spec.ServiceName &&
			reflect.DeepEqual(live.Spec.VolumeClaimTemplates, next.Spec.VolumeClaimTemplates)
	case *appsv1.Deployment:
		next, _ := next.(*appsv1.Deployment)
		same = reflect.DeepEqual(live.Spec.Selector, next.Spec.Selector)
	}
	if same {
		return nil
	}
	return apierrors.NewInvalid(schema.GroupKind{Kind: kindOf(live)}, live.GetName(),
		field.ErrorList{field.Forbidden(field.NewPath("spec"), "the field is immutable")})
}

// patch changes an object by a JSON merge patch (RFC 7386): only its status, or everything else.
func (s *apiServer) patch(o client.Object, data []byte, isStatus bool) error {
	kind := kindOf(o)
	live := s.objects[kind][o.GetName()]
	if live == nil {
		return newNotFound(kind, o.GetName())
	}
	change := map[string]any{}
	if err := json.Unmarshal(data, &change); err != nil {
		return apierrors.NewBadRequest(err.Error())
	}
	meta, _ := change["metadata"].(map[string]any)
	if version, has := meta["resourceVersion"]; has && version != live.GetResourceVersion() {
		return apierrors.NewConflict(schema.GroupResource{Resource: kind}, o.GetName(), errStale)
	}
	if isStatus {
		change = map[string]any{"status": change["status"]}
	} else {
		delete(change, "status")
	}
	content := toMap(live)
	merge(content, change)
	next, err := fromMap(kind, content)
	if err != nil {
		return apierrors.NewBadRequest(err.Error())
	}
	s.put(next)
	copyInto(next, o)
	return nil
}

func newNotFound(kind, name string) error {
	return apierrors.NewNotFound(schema.GroupResource{Resource: kind}, name)
}
