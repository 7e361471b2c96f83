package render

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/strategicpatch"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
)

// Template returns the pod template that all workers of a NodeSet share. Of its metadata only
// labels and annotations are set. Its hostname is the prefix of the workers' hostnames. An error
// names the faulty field: *v1beta1.MalformedError, or ErrNoSSH.
func Template(in Input) (corev1.PodTemplateSpec, error) {
	var none, out corev1.PodTemplateSpec
	user, err := in.parseUser()
	if err != nil {
		return none, err
	}
	doc, err := toObject(in.defaultTemplate(user))
	if err != nil {
		return none, fmt.Errorf("encoding the default pod: %w", err)
	}
	layers, err := in.layers(user)
	if err != nil {
		return none, err
	}
	for _, l := range layers {
		if doc, err = applyLayer(doc, l.patch); err != nil {
			return none, v1beta1.InField(l.field, err)
		}
	}
	if err := fromObject(doc, &out); err != nil {
		return none, v1beta1.InField("spec.template", err)
	}
	moveToFront(out.Spec.Containers, ContainerSlurmd)
	moveToFront(out.Spec.InitContainers, ContainerLogfile)
	meta := in.NodeSet.Spec.Template.Metadata
	out.Labels = mergeMaps(meta.Labels, in.sharedLabels())
	out.Annotations = mergeMaps(meta.Annotations, in.Hashes)
	return out, nil
}

// layer is one of the user's parts, as a patch of a pod template.
type layer struct {
	field string
	patch object
}

// layers returns the user's parts in ascending precedence.
func (in Input) layers(user userParts) ([]layer, error) {
	spec := &in.NodeSet.Spec
	pod, err := objectOf(spec.Template.Spec)
	if err != nil {
		return nil, v1beta1.InField(fieldPod, err)
	}
	if list, ok := pod["containers"]; ok && list == nil {
		delete(pod, "containers") // older clients write null, and a worker needs slurmd
	}
	out := []layer{{fieldPod, object{"spec": pod}}}
	for _, c := range []struct {
		field, list, name string
		raw               v1beta1.Raw
		on                bool
	}{
		{fieldSlurmd, "containers", ContainerSlurmd, spec.Slurmd, true},
		{fieldLogfile, "initContainers", ContainerLogfile, spec.Logfile, user.hasLogfile},
	} {
		patch, err := objectOf(c.raw)
		if err != nil {
			return nil, v1beta1.InField(c.field, err)
		}
		if !c.on || patch == nil {
			continue
		}
		patch["name"] = c.name
		out = append(out, layer{c.field, object{"spec": object{c.list: []any{patch}}}})
	}
	return out, nil
}

// applyLayer applies a patch to a pod template. It modifies both.
func applyLayer(doc, patch object) (object, error) {
	pod, _ := doc["spec"].(object)
	spec, _ := patch["spec"].(object)
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
