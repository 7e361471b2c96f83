package main

import (
	"strings"
	"testing"

	"k8s.io/kube-openapi/pkg/validation/spec"
)

func TestEveryServedModelIsDefined(t *testing.T) {
	o := &options{external: true}
	models := o.openAPIDefinitions(func(path string) spec.Ref { return spec.MustCreateRef("#/" + path) })
	var next []string
	for name := range models {
		// The models of core/v1 come from the library and are never served.
		if !strings.HasPrefix(name, "io.k8s.api.core.") {
			next = append(next, name)
		}
	}
	seen := map[string]bool{}
	for len(next) > 0 {
		name := next[0]
		next = next[1:]
		m, ok := models[name]
		if !ok {
			t.Errorf("%s is not defined", name)
		}
		if !seen[name] {
			seen[name] = true
			next = append(next, m.Dependencies...)
		}
	}
	if !seen["net.slurm.slinky.view.v1alpha1.SlurmJob"] {
		t.Error("no model of a SlurmJob")
	}
}
