package podspec

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/strategicpatch"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
)

// Part is an open part of a spec.
type Part struct {
	// Field is its path, which errors name.
	Field string
	Raw   v1beta1.Raw
}

// Container is an open part that is merged into one container.
type Container struct {
	Part
	// Name is the container's name, which the part cannot change.
	Name string
	// Init is true for an init container.
	Init bool
}

func (c Container) list() string {
	if c.Init {
		return "initContainers"
	}
	return "containers"
}

// Merge returns the defaults with the user's parts: the PodSpec in pod, then the containers. The given
// containers and init containers come first in the result. An empty part changes nothing. The error names the
// field.
func Merge(defaults corev1.PodTemplateSpec, pod Part, containers ...Container) (corev1.PodTemplateSpec, error) {
	var none, out corev1.PodTemplateSpec
	doc, err := EncodeObject(defaults)
	if err != nil {
		return none, fmt.Errorf("encoding the default pod: %w", err)
	}
	layers, err := makeLayers(pod, containers)
	if err != nil {
		return none, err
	}
	for _, l := range layers {
		if doc, err = applyLayer(doc, l.patch); err != nil {
			return none, v1beta1.InField(l.field, err)
		}
	}
	if err := decodeObject(doc, &out); err != nil {
		return none, v1beta1.InField("spec.template", err)
	}
	for _, c := range slices.Backward(containers) {
		if c.Init {
			moveToFront(out.Spec.InitContainers, c.Name)
		} else {
			moveToFront(out.Spec.Containers, c.Name)
		}
	}
	return out, nil
}

// MergeObject merges an open part into an object of Kubernetes, such as a ServiceSpec, as kubectl merges
// patches. An empty part changes nothing. The error names the field.
func MergeObject[T any](into *T, part Part) error {
	patch, err := DecodeRaw(part.Raw)
	if err != nil || len(patch) == 0 {
		return v1beta1.InField(part.Field, err)
	}
	doc, err := EncodeObject(*into)
	if err != nil {
		return fmt.Errorf("encoding %T: %w", *into, err)
	}
	var out T
	if doc, err = strategicpatch.StrategicMergeMapPatch(doc, patch, out); err == nil {
		err = decodeObject(doc, &out)
	}
	if err != nil {
		return v1beta1.InField(part.Field, err)
	}
	*into = out
	return nil
}

// layer is one of the user's parts as a patch of a pod template.
type layer struct {
	field string
	patch Object
}

// makeLayers returns the user's parts in ascending precedence.
func makeLayers(pod Part, containers []Container) ([]layer, error) {
	if _, err := pod.Raw.PodSpec(); err != nil {
		return nil, v1beta1.InField(pod.Field, err)
	}
	spec, err := DecodeRaw(pod.Raw)
	if err != nil {
		return nil, v1beta1.InField(pod.Field, err)
	}
	if list, ok := spec["containers"]; ok && list == nil {
		delete(spec, "containers") // older clients write null, and no pod works without its daemon
	}
	out := []layer{{pod.Field, Object{"spec": spec}}}
	for _, c := range containers {
		if _, err := c.Raw.Container(); err != nil {
			return nil, v1beta1.InField(c.Field, err)
		}
		patch, err := DecodeRaw(c.Raw)
		if err != nil {
			return nil, v1beta1.InField(c.Field, err)
		}
		if len(patch) == 0 {
			continue
		}
		patch["name"] = c.Name
		out = append(out, layer{c.Field, Object{"spec": Object{c.list(): []any{patch}}}})
	}
	return out, nil
}

// applyLayer applies a patch to a pod template. It modifies both.
func applyLayer(doc, patch Object) (Object, error) {
	pod, _ := doc["spec"].(Object)
	spec, _ := patch["spec"].(Object)
	if spec == nil {
		return doc, nil
	}
	keepLists(pod, spec)
	replaceNamed(pod, spec, "volumes")
	for _, list := range []string{"containers", "initContainers"} {
		for name, over := range itemsByName(spec[list]) {
			under := itemsByName(pod[list])[name]
			replaceNamed(under, over, "env")
			replaceHandlers(under, over)
			keepArgs(under, over)
		}
	}
	return strategicpatch.StrategicMergeMapPatch(doc, patch, corev1.PodTemplateSpec{})
}

// moveToFront moves the container of a name to the front. The others keep their order.
func moveToFront(list []corev1.Container, name string) {
	i := slices.IndexFunc(list, func(c corev1.Container) bool { return c.Name == name })
	for ; i > 0; i-- {
		list[i], list[i-1] = list[i-1], list[i]
	}
}
