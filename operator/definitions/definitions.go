// Package definitions upgrades the custom resource definitions of an older release to the operator's.
package definitions

import (
	"fmt"
	"io/fs"
	"slices"
	"strconv"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"

	crds "github.com/slurmtide/slurmtide/charts/slurm-operator-crds"
	"github.com/slurmtide/slurmtide/operator/api/v1alpha1"
)

// RevisionAnnotation has the revision of a definition, a number that hack/crds increments with each change. Definitions
// without it are not ours: another operator's definitions have the same names.
const RevisionAnnotation = "slinky.slurm.net/definition-revision"

// ReadOwn returns the operator's own definitions.
func ReadOwn() ([]*apiextensionsv1.CustomResourceDefinition, error) {
	files, err := fs.Glob(crds.Files, "templates/*.yaml")
	if err != nil {
		return nil, err
	}
	var out []*apiextensionsv1.CustomResourceDefinition
	for _, file := range files {
		text, err := crds.Files.ReadFile(file)
		if err != nil {
			return nil, err
		}
		definition := &apiextensionsv1.CustomResourceDefinition{}
		if err := yaml.UnmarshalStrict(text, definition); err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		out = append(out, definition)
	}
	return out, nil
}

// Upgrade returns the upgraded definition, or nil if the installed one is not ours or not older than the operator's own.
// Objects keep their fields: it returns an error if they are stored in a version that the operator's own definition
// lacks.
func Upgrade(installed, own *apiextensionsv1.CustomResourceDefinition) (*apiextensionsv1.CustomResourceDefinition, error) {
	have, isOurs := revisionOf(installed)
	want, known := revisionOf(own)
	if !known {
		return nil, fmt.Errorf("the operator's own definition %s has no revision", own.Name)
	}
	if !isOurs || have >= want {
		return nil, nil //nolint:nilnil // it is documented
	}
	for _, stored := range installed.Status.StoredVersions {
		if versionOf(own, stored) == nil {
			return nil, fmt.Errorf("objects of %s are stored as %s, which the operator does not know", own.Name, stored)
		}
	}
	out := installed.DeepCopy()
	out.Annotations[RevisionAnnotation] = strconv.Itoa(want)
	own.Spec.DeepCopyInto(&out.Spec)
	// The webhooks are announced apart from this (package admission).
	out.Spec.Conversion = installed.Spec.Conversion.DeepCopy()
	if before := versionOf(installed, v1alpha1.SchemeGroupVersion.Version); before != nil {
		if now := versionOf(out, before.Name); now != nil {
			now.Served = before.Served
		}
	}
	return out, nil
}

func versionOf(d *apiextensionsv1.CustomResourceDefinition, name string) *apiextensionsv1.CustomResourceDefinitionVersion {
	i := slices.IndexFunc(d.Spec.Versions, func(v apiextensionsv1.CustomResourceDefinitionVersion) bool {
		return v.Name == name
	})
	if i < 0 {
		return nil
	}
	return &d.Spec.Versions[i]
}

// revisionOf returns the revision of a definition, and whether it has one.
func revisionOf(d *apiextensionsv1.CustomResourceDefinition) (int, bool) {
	revision, err := strconv.Atoi(d.Annotations[RevisionAnnotation])
	return revision, err == nil && revision > 0
}
