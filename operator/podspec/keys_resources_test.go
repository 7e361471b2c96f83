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
		want   [2]string // the request and the limit of CPUs
	}{
		{"none", corev1.ResourceRequirements{}, [2]string{"25m", "100m"}},
		{"a request", corev1.ResourceRequirements{Requests: cpus("2")}, [2]string{"25m", "100m"}},
		{"a limit alone, which is the request", corev1.ResourceRequirements{Limits: cpus("2")}, [2]string{"10m", "10m"}},
		{"equal ones", corev1.ResourceRequirements{Requests: cpus("2000m"), Limits: cpus("2")}, [2]string{"10m", "10m"}},
		{"a lower request", corev1.ResourceRequirements{Requests: cpus("100m"), Limits: cpus("2")}, [2]string{"25m", "100m"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := keysResources(tc.daemon)
			request, limit := got.Requests[corev1.ResourceCPU], got.Limits[corev1.ResourceCPU]
			if cpus := [2]string{request.String(), limit.String()}; cpus != tc.want {
				t.Errorf("request and limit of CPUs = %v, want %v", cpus, tc.want)
			}
		})
	}
}
