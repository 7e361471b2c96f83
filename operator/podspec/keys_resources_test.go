package podspec

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

func TestKeysResources(t *testing.T) {
	cpus := func(text string) corev1.ResourceList {
		return corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(text)}
	}
	for _, tc := range []struct {
		name   string
		daemon corev1.ResourceRequirements
		want   string
	}{
		{"none", corev1.ResourceRequirements{}, "100m"},
		{"a request", corev1.ResourceRequirements{Requests: cpus("2")}, "100m"},
		{"a limit alone, which is the request", corev1.ResourceRequirements{Limits: cpus("2")}, "10m"},
		{"equal ones", corev1.ResourceRequirements{Requests: cpus("2000m"), Limits: cpus("2")}, "10m"},
		{"a lower request", corev1.ResourceRequirements{Requests: cpus("100m"), Limits: cpus("2")}, "100m"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := keysResources(tc.daemon)
			if limit := got.Limits[corev1.ResourceCPU]; limit.String() != tc.want {
				t.Errorf("limit of CPUs = %v, want %v", &limit, tc.want)
			}
			if request := got.Requests[corev1.ResourceCPU]; request.String() != "10m" {
				t.Errorf("request of CPUs = %v, want 10m", &request)
			}
		})
	}
}
