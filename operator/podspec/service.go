package podspec

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
)

// NewService returns the Service of a daemon with the user's part. Its port leads to the port of the selected pods
// with the same name. The error names the faulty field.
func NewService(metadata metav1.ObjectMeta, selector map[string]string, portName string, port int32,
	user v1beta1.ServiceSpec) (*corev1.Service, error) {
	out := &corev1.Service{
		ObjectMeta: metadata,
		Spec: corev1.ServiceSpec{Selector: selector, Ports: []corev1.ServicePort{{
			Name: portName, Protocol: corev1.ProtocolTCP, Port: port, NodePort: int32(user.NodePort),
			TargetPort: intstr.FromString(portName)}}},
	}
	if err := MergeObject(&out.Spec, Part{Field: "spec.service.spec", Raw: user.Spec}); err != nil {
		return nil, err
	}
	out.Labels = MergeMaps(user.Metadata.Labels, out.Labels)
	out.Annotations = MergeMaps(nil, user.Metadata.Annotations)
	out.APIVersion, out.Kind = "v1", "Service"
	return out, nil
}

// KeepSourceAddress makes a load balancer use only the Kubernetes nodes that run the daemon, unless the user's
// part overrides it. Any other node replaces the client's address with its own. slurmctld would use that as the
// address of a dynamic node that registers, and slurmdbd as a slurmctld's (docs/development/slurm.md, "Hosts
// outside of Kubernetes").
func KeepSourceAddress(service *corev1.Service) {
	if service.Spec.Type == corev1.ServiceTypeLoadBalancer && service.Spec.ExternalTrafficPolicy == "" {
		service.Spec.ExternalTrafficPolicy = corev1.ServiceExternalTrafficPolicyLocal
	}
}
