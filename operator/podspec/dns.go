package podspec

import corev1 "k8s.io/api/core/v1"

// DNSPolicyOf returns the default DNS policy for a pod with the user's part. With Kubernetes' own default, a
// pod in the network of its Kubernetes node could not resolve the names of Services.
func DNSPolicyOf(user *corev1.PodSpec) corev1.DNSPolicy {
	if user.HostNetwork {
		return corev1.DNSClusterFirstWithHostNet
	}
	return ""
}
