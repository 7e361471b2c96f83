//go:build e2e

package charts

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
)

// TestHostNetwork: a pod in the network of its Kubernetes node still resolves the names of Services.
func TestHostNetwork(t *testing.T) {
	for _, chart := range []string{"slurm-operator", "slurm-metrics"} {
		text, err := renderChart(t, chart, "--set", "hostNetwork=true", "--show-only", "templates/deployment.yaml")
		if err != nil {
			t.Fatal(err)
		}
		pods := podTemplatesIn(decodeObjects(t, text))
		if len(pods) != 1 {
			t.Errorf("%s has %d Deployments", chart, len(pods))
		}
		for name, pod := range pods {
			if !pod.Spec.HostNetwork || pod.Spec.DNSPolicy != corev1.DNSClusterFirstWithHostNet {
				t.Errorf("%s of %s: hostNetwork %t, dnsPolicy %s", name, chart, pod.Spec.HostNetwork, pod.Spec.DNSPolicy)
			}
		}
	}
}
