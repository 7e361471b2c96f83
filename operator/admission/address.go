package admission

import (
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
)

// checkAddress checks the name or IP address at which hosts outside find a daemon.
func (f *findings) checkAddress(at *field.Path, address string) {
	if address != "" && len(validation.IsValidIP(at, address)) > 0 && len(validation.IsDNS1123Subdomain(address)) > 0 {
		f.invalid(at, address, "must be the name of a host or an IP address, without a port")
	}
}

// checkNamedPod checks the template of a daemon that finds itself in its configuration by the name of its pod. The
// public API accepts the network of the Kubernetes node, so the finding is a warning.
func (f *findings) checkNamedPod(at *field.Path, template v1beta1.PodTemplate) {
	if pod, ok := f.checkTemplate(at, template); ok && pod.HostNetwork {
		f.warn(at.Child("spec", "hostNetwork"), "cannot work: the daemon finds itself in its configuration by the name "+
			"of its pod, which it does not have there; use spec.service and spec.address to reach it from outside")
	}
}
