package podspec

import corev1 "k8s.io/api/core/v1"

// DNSPolicyOf returns the default DNS policy for a pod with the user's part: with the network of its Kubernetes
// node it would otherwise resolve no names of Services. It is empty where Kubernetes' own default will do.
func DNSPolicyOf(user *corev1.PodSpec) corev1.DNSPolicy {
	if user.HostNetwork {
		return corev1.DNSClusterFirstWithHostNet
	}
	return ""
}
