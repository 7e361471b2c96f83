package main

import (
	"strings"
	"testing"

	"k8s.io/kube-openapi/pkg/validation/spec"
)

func TestEveryModelThatIsServedIsThere(t *testing.T) {
	o := &options{external: true}
	models := o.definitions(func(path string) spec.Ref { return spec.MustCreateRef("#/" + path) })
	var next []string
	for name := range models {
		// Those of core/v1 are the library's and nobody's answer.
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
			t.Errorf("%s is not there", name)
		}
		if !seen[name] {
			seen[name] = true
			next = append(next, m.Dependencies...)
		}
	}
	if !seen["net.slurm.slinky.view.v1alpha1.SlurmJob"] {
		t.Error("there is no model of a SlurmJob")
	}
}
