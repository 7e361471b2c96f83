package render

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
)

func TestRequestedKeySecrets(t *testing.T) {
	ref := func(name, key string) *corev1.SecretKeySelector {
		return &corev1.SecretKeySelector{LocalObjectReference: corev1.LocalObjectReference{Name: name}, Key: key}
	}
	for _, tc := range []struct {
		name, request string
		spec          v1beta1.ControllerSpec
		want          []KeySecret
	}{
		{"nothing is requested", "", v1beta1.ControllerSpec{SlurmKeyRef: ref("a", "k"), JWTKeyRef: ref("b", "k")}, nil},
		{"both", "slurmKeyRef,jwtKeyRef", v1beta1.ControllerSpec{SlurmKeyRef: ref("a", "k"), JWTKeyRef: ref("b", "k")},
			[]KeySecret{{"a", []string{"k"}}, {"b", []string{"k"}}}},
		{"one of two Secrets, with space", " jwtKeyRef ",
			v1beta1.ControllerSpec{SlurmKeyRef: ref("a", "k"), JWTKeyRef: ref("b", "k")}, []KeySecret{{"b", []string{"k"}}}},
		{"the older name of jwtKeyRef", "jwtKeyRef", v1beta1.ControllerSpec{JWTHS256KeyRef: ref("b", "k")},
			[]KeySecret{{"b", []string{"k"}}}},
		{"one Secret with both keys", "slurmKeyRef,jwtKeyRef",
			v1beta1.ControllerSpec{SlurmKeyRef: ref("a", "x"), JWTKeyRef: ref("a", "y")},
			[]KeySecret{{"a", []string{"x", "y"}}}},
		{"one Secret with both keys, of which one is requested", "jwtKeyRef",
			v1beta1.ControllerSpec{SlurmKeyRef: ref("a", "x"), JWTKeyRef: ref("a", "y")}, nil},
		{"one key for both", "slurmKeyRef,jwtKeyRef",
			v1beta1.ControllerSpec{SlurmKeyRef: ref("a", "x"), JWTKeyRef: ref("a", "x")}, []KeySecret{{"a", []string{"x"}}}},
		{"no references", "slurmKeyRef,jwtKeyRef", v1beta1.ControllerSpec{}, nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c := &v1beta1.Controller{Spec: tc.spec}
			c.Annotations = map[string]string{v1beta1.AnnotationGenerateKeys: tc.request}
			got := RequestedKeySecrets(c)
			if len(got) == 0 && len(tc.want) == 0 {
				return
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
