package simulation

import (
	"encoding/json"
	"fmt"
	"reflect"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// toMap returns an object as decoded JSON.
func toMap(o client.Object) map[string]any {
	text, err := json.Marshal(o)
	out := map[string]any{}
	if err == nil {
		err = json.Unmarshal(text, &out)
	}
	if err != nil {
		panic(fmt.Sprintf("%s %s is no JSON: %v", kindOf(o), o.GetName(), err))
	}
	return out
}

// fromMap returns the object of a kind that decoded JSON is.
func fromMap(kind string, content map[string]any) (client.Object, error) {
	text, err := json.Marshal(content)
	if err != nil {
		return nil, err
	}
	out := newObjects[kind]()
	return out, json.Unmarshal(text, out)
}

// merge changes an object as a JSON merge patch does (RFC 7386).
func merge(into, change map[string]any) {
	for key, value := range change {
		next, isObject := value.(map[string]any)
		old, wasObject := into[key].(map[string]any)
		switch {
		case value == nil:
			delete(into, key)
		case isObject && wasObject:
			merge(old, next)
		case isObject:
			fresh := map[string]any{}
			merge(fresh, next)
			into[key] = fresh
		default:
			into[key] = value
		}
	}
}

// prune removes from an object the fields that were applied before and no longer are.
func prune(from, before, after map[string]any) {
	for key, value := range before {
		inner, isObject := value.(map[string]any)
		content, hasContent := from[key].(map[string]any)
		next, isWanted := after[key].(map[string]any)
		switch {
		case isObject && hasContent && isWanted:
			prune(content, inner, next)
		case after[key] == nil:
			delete(from, key)
		}
	}
}

// copyInto copies an object into another one of the same type, or its metadata.
func copyInto(from, into client.Object) {
	if meta, isMeta := into.(*metav1.PartialObjectMetadata); isMeta {
		copied, _ := from.DeepCopyObject().(client.Object)
		meta.ObjectMeta, _ = reflect.ValueOf(copied).Elem().FieldByName("ObjectMeta").Interface().(metav1.ObjectMeta)
		return
	}
	reflect.ValueOf(into).Elem().Set(reflect.ValueOf(from.DeepCopyObject()).Elem())
}

// listInto fills a list with the objects that the labels select, in their order.
func listInto(objects []client.Object, selector labels.Selector, into client.ObjectList) {
	items := reflect.ValueOf(into).Elem().FieldByName("Items")
	out := reflect.MakeSlice(items.Type(), 0, len(objects))
	for _, o := range objects {
		if selector == nil || selector.Matches(labels.Set(o.GetLabels())) {
			out = reflect.Append(out, reflect.ValueOf(o.DeepCopyObject()).Elem())
		}
	}
	items.Set(out)
}
