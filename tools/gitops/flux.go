package main

import (
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"

	helmv2 "github.com/fluxcd/helm-controller/api/v2"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	"sigs.k8s.io/yaml"
)

// decodeAll decodes the documents of a YAML text and prints one line for each.
func decodeAll(text string, out io.Writer) error {
	var errs []error
	for document := range strings.SplitSeq(text, "\n---\n") {
		name, err := decodeStrictly([]byte(document))
		if err != nil {
			errs = append(errs, fmt.Errorf("decoding %s: %w", name, err))
			continue
		}
		fmt.Fprintln(out, name)
	}
	return errors.Join(errs...)
}

// newObjects returns an empty object of each kind by apiVersion and kind.
func newObjects() map[string]any {
	return map[string]any{
		helmv2.GroupVersion.String() + " HelmRelease":      &helmv2.HelmRelease{},
		sourcev1.GroupVersion.String() + " HelmRepository": &sourcev1.HelmRepository{},
		sourcev1.GroupVersion.String() + " OCIRepository":  &sourcev1.OCIRepository{},
	}
}

// decodeStrictly returns the kind and the name of an object of Flux, also with an error.
func decodeStrictly(document []byte) (string, error) {
	var meta struct {
		APIVersion, Kind string
		Metadata         struct{ Name string }
	}
	if err := yaml.Unmarshal(document, &meta); err != nil {
		return "an object", err
	}
	name := meta.Kind + " " + meta.Metadata.Name
	object := newObjects()[meta.APIVersion+" "+meta.Kind]
	if object == nil {
		return name, fmt.Errorf("no such kind in %s", meta.APIVersion)
	}
	return name, yaml.UnmarshalStrict(document, object)
}

// specFields returns the fields of the specs by kind.
func specFields() map[string][]string {
	return map[string][]string{
		"HelmRelease":    fieldNames(helmv2.HelmReleaseSpec{}),
		"HelmRepository": fieldNames(sourcev1.HelmRepositorySpec{}),
		"OCIRepository":  fieldNames(sourcev1.OCIRepositorySpec{}),
	}
}

// fieldNames returns the names of the fields of a struct in JSON.
func fieldNames(object any) []string {
	var out []string
	for field := range reflect.TypeOf(object).Fields() {
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		out = append(out, name)
	}
	slices.Sort(out)
	return out
}
