package render

import (
	"bytes"
	"encoding/json"
	"fmt"

	corev1 "k8s.io/api/core/v1"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
)

// WithImage returns the input with another image of slurmd, wherever the NodeSet names the present one. If the NodeSet
// names no image, the default is replaced, so that the revision stays the same.
func (in Input) WithImage(present, image string) (Input, error) {
	out := in
	out.NodeSet = in.NodeSet.DeepCopy()
	spec := &out.NodeSet.Spec
	found := false
	for _, part := range []*v1beta1.Raw{&spec.Template.Spec, &spec.Slurmd, &spec.Logfile} {
		replaced, err := replaceImage(part.Raw, present, image)
		if err != nil {
			return Input{}, fmt.Errorf("replacing the image of nodeset %s: %w", in.NodeSet.Name, err)
		}
		if replaced != nil {
			part.Raw, found = replaced, true
		}
	}
	if !found {
		out.Image = image
	}
	return out, nil
}

// replaceImage returns JSON with each present image replaced, or nil without an image.
func replaceImage(text []byte, present, image string) ([]byte, error) {
	if len(text) == 0 {
		return nil, nil
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber() // keeps the digits of numbers
	var value any
	if err := decoder.Decode(&value); err != nil {
		return nil, err
	}
	if !setImages(value, present, image) {
		return nil, nil
	}
	return json.Marshal(value)
}

// setImages sets the fields "image" that are present, at every depth, and reports whether it found one.
func setImages(value any, present, image string) bool {
	found := false
	switch value := value.(type) {
	case map[string]any:
		for key, field := range value {
			if key == "image" && field == present {
				value[key], found = image, true
			} else {
				found = setImages(field, present, image) || found
			}
		}
	case []any:
		for _, item := range value {
			found = setImages(item, present, image) || found
		}
	}
	return found
}

// ImageNamed returns the image of slurmd that the NodeSet names, empty if it leaves it to the default.
func (in Input) ImageNamed() (string, error) {
	in.Image = ""
	template, err := Template(in)
	if err != nil {
		return "", err
	}
	return SlurmdImage(template.Spec.Containers), nil
}

// SlurmdImage returns the image of slurmd among the containers of a worker, or an empty string.
func SlurmdImage(containers []corev1.Container) string {
	for i := range containers {
		if containers[i].Name == ContainerSlurmd {
			return containers[i].Image
		}
	}
	return ""
}
