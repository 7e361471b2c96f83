package wakeup

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestNodeSetNames(t *testing.T) {
	for _, tc := range []struct {
		name, apiVersion, kind string
		want                   []string
	}{
		{"a NodeSet", "slinky.slurm.net/v1beta1", "NodeSet", []string{"gpu"}},
		{"a NodeSet of another version", "slinky.slurm.net/v1alpha1", "NodeSet", []string{"gpu"}},
		{"another kind", "slinky.slurm.net/v1beta1", "LoginSet", nil},
		{"another group", "apps/v1", "NodeSet", nil},
		{"no group", "v1", "NodeSet", nil},
		{"no version", "a/b/c", "NodeSet", nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			h := newHPA("h")
			h.Spec.ScaleTargetRef.APIVersion, h.Spec.ScaleTargetRef.Kind = tc.apiVersion, tc.kind
			if diff := cmp.Diff(tc.want, NodeSetNames(h)); diff != "" {
				t.Error(diff)
			}
			var requested []string
			for _, r := range requestsForHPA(t.Context(), h) {
				requested = append(requested, r.Name)
			}
			if diff := cmp.Diff(tc.want, requested); diff != "" {
				t.Error(diff)
			}
		})
	}
}
