//go:build e2e

package admission

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
)

func (s *env) testVersions(t *testing.T) {
	ctx := t.Context()
	err := s.createObject(ctx, t, "apiVersion: slinky.slurm.net/v1alpha1\nmetadata: {name: old}\n"+
		"spec: {clusterName: lab, replicas: 0, slurmd: {new: [false, 0, '']}}")
	if err != nil {
		t.Fatal(err)
	}
	beta, err := s.readObject(ctx, "v1beta1", "NodeSet", "old")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		path []string
		want any
	}{
		{[]string{"spec", "clusterRef"}, map[string]any{"name": "lab"}},
		{[]string{"spec", "replicas"}, int64(0)},
		{[]string{"spec", "slurmd"}, map[string]any{"new": []any{false, int64(0), ""}}},
		{[]string{"spec", "clusterName"}, nil},
	} {
		got, _, err := unstructured.NestedFieldNoCopy(beta.Object, c.path...)
		if diff := cmp.Diff(c.want, got); diff != "" || err != nil {
			t.Errorf("%v: %v (-want +got):\n%s", c.path, err, diff)
		}
	}
	s.testAlphaRoundTrip(t)
	err = s.createObject(ctx, t, "apiVersion: slinky.slurm.net/v1alpha1\nkind: Cluster\nmetadata: {name: lab}\n"+
		"spec: {server: 'https://slurm.example.com', token: {secretRef: {name: t, key: token}}}")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.readObject(ctx, "v1beta1", "Cluster", "lab"); err != nil {
		t.Error(err)
	}
	err = s.createObject(ctx, t, "apiVersion: slinky.slurm.net/v1alpha1\nmetadata: {name: bad}\n"+
		"spec: {clusterName: lab, slurmd: {image: 5}}")
	if err == nil || !strings.Contains(err.Error(), "spec.slurmd.image: Invalid value: must be a string, not number") {
		t.Errorf("a bad NodeSet of v1alpha1: %v", err)
	}
}

// testAlphaRoundTrip changes a label of a v1beta1 NodeSet through v1alpha1 and checks that nothing
// else changes.
func (s *env) testAlphaRoundTrip(t *testing.T) {
	t.Helper()
	before, err := s.readObject(t.Context(), "v1beta1", "NodeSet", "gpu")
	if err != nil {
		t.Fatal(err)
	}
	alpha, err := s.readObject(t.Context(), "v1alpha1", "NodeSet", "gpu")
	if err != nil {
		t.Fatal(err)
	}
	if name, _, err := unstructured.NestedString(alpha.Object, "spec", "clusterName"); name != "slurm" || err != nil {
		t.Errorf("clusterName is %q, %v", name, err)
	}
	alpha.SetLabels(map[string]string{"seen": "alpha"})
	if err := s.client.Update(t.Context(), alpha); err != nil {
		t.Fatal(err)
	}
	after, err := s.readObject(t.Context(), "v1beta1", "NodeSet", "gpu")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(nodeSetOf(t, before).Spec, nodeSetOf(t, after).Spec); diff != "" {
		t.Errorf("spec (-before +after):\n%s", diff)
	}
	if diff := cmp.Diff(before.GetAnnotations(), after.GetAnnotations()); diff != "" {
		t.Errorf("annotations (-before +after):\n%s", diff)
	}
}

// nodeSetOf converts u to the type that the operator reads, in which 30m equals 30m0s.
func nodeSetOf(t *testing.T, u *unstructured.Unstructured) *v1beta1.NodeSet {
	t.Helper()
	n := &v1beta1.NodeSet{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, n); err != nil {
		t.Fatal(err)
	}
	return n
}
