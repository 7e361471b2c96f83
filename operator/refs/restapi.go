package refs

import (
	"cmp"
	"fmt"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
	"github.com/slurmtide/slurmtide/operator/names"
)

// CACertKey is the key of CA certificates in a Secret or ConfigMap, as cert-manager writes it.
const CACertKey = "ca.crt"

// RestAPIPort returns the port of the Service of a RestApi.
func RestAPIPort(a *v1beta1.RestApi) int32 {
	if a.Spec.TLS != nil {
		return cmp.Or(int32(a.Spec.Service.Port), names.SlurmrestdTLSPort)
	}
	return cmp.Or(int32(a.Spec.Service.Port), names.SlurmrestdPort)
}

// RestAPIHost returns the Service name that our programs use for a RestApi. Its certificate must be for this name.
func RestAPIHost(a *v1beta1.RestApi) string {
	return names.RestAPIService(a.Name) + "." + a.Namespace + ".svc"
}

// RestAPIURL returns the URL of a RestApi.
func RestAPIURL(a *v1beta1.RestApi) string {
	scheme := "http"
	if a.Spec.TLS != nil {
		scheme = "https"
	}
	return fmt.Sprintf("%s://%s:%d", scheme, RestAPIHost(a), RestAPIPort(a))
}

// RestAPICA returns the reference to the CA certificates that verify a RestApi, and reports whether the key may be
// missing: then the system's CAs verify. Without TLS it refers to nothing.
func RestAPICA(a *v1beta1.RestApi) (ca KeyRef, optional bool) {
	switch tls := a.Spec.TLS; {
	case tls == nil:
		return KeyRef{}, false
	case tls.CARef != nil:
		return caKeyRef(a.Namespace, tls.CARef), false
	default:
		return KeyRef{"Secret", a.Namespace, tls.SecretName, CACertKey}, true
	}
}

// caKeyRef returns the reference to CA certificates in a namespace.
func caKeyRef(namespace string, ca *v1beta1.CAReference) KeyRef {
	return KeyRef{cmp.Or(string(ca.Kind), string(v1beta1.CAInSecret)), namespace, ca.Name,
		cmp.Or(ca.Key, CACertKey)}
}
