package access

import (
	"errors"
	"maps"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
	"github.com/slurmtide/slurmtide/operator/problem"
)

// TestReadIncludes reads ConfigMaps only where they matter.
func TestReadIncludes(t *testing.T) {
	site := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "site"},
		Data: map[string]string{"site.conf": "MessageTimeout=99", "gres.conf": "AutoDetect=nvml"}}
	reader := fake.NewClientBuilder().WithObjects(site).Build()
	for _, tc := range []struct {
		name, extraConf, configMap string
		want                       map[string]string
		reason                     string
	}{
		{"an Include", "Include site.conf", "site", site.Data, ""},
		{"no Include", "MessageTimeout=10 # Include site.conf", "gone", nil, ""},
		{"a ConfigMap that is missing", "include site.conf", "gone", nil, v1beta1.ReasonReferenceNotFound},
	} {
		c := &v1beta1.Controller{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "slurm"}}
		c.Spec.ExtraConf, c.Spec.ConfigFileRefs = tc.extraConf, []corev1.LocalObjectReference{{Name: tc.configMap}}
		got, err := ReadIncludes(t.Context(), reader, c)
		var reported *problem.Error
		if errors.As(err, &reported); !maps.Equal(got, tc.want) || (reported == nil) != (tc.reason == "") ||
			reported != nil && reported.Reason != tc.reason {
			t.Errorf("%s: files %v, error %v", tc.name, got, err)
		}
	}
}
