package admission

import (
	"strings"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
)

// WebhookEndpoint is the address at which the API server reaches the webhooks: a Service, or a URL
// if the operator runs outside of the Kubernetes cluster.
type WebhookEndpoint struct {
	// Namespace and Service name the Service; Port is its port, 0 for 443.
	Namespace, Service string
	Port               int32
	// URL ("https://host:port") replaces the Service.
	URL string
}

// defaultServicePort is the Service's port unless Port is set.
const defaultServicePort = 443

func (t WebhookEndpoint) servicePort() *int32 {
	port := t.Port
	if port == 0 {
		port = defaultServicePort
	}
	return &port
}

// hostNames returns the DNS names and addresses with which the API server reaches the webhooks.
func (t WebhookEndpoint) hostNames() []string {
	if t.URL == "" {
		return []string{t.Service + "." + t.Namespace + ".svc", t.Service + "." + t.Namespace, t.Service}
	}
	return []string{hostOf(t.URL)}
}

// clientConfig returns the client configuration of a validating webhook.
func (t WebhookEndpoint) clientConfig(path string, caBundle []byte) admissionregistrationv1.WebhookClientConfig {
	if t.URL != "" {
		return admissionregistrationv1.WebhookClientConfig{URL: new(t.URL + path), CABundle: caBundle}
	}
	service := &admissionregistrationv1.ServiceReference{
		Namespace: t.Namespace, Name: t.Service, Path: &path, Port: t.servicePort(),
	}
	return admissionregistrationv1.WebhookClientConfig{Service: service, CABundle: caBundle}
}

// isTargetOf reports whether a validating webhook has this endpoint.
func (t WebhookEndpoint) isTargetOf(c admissionregistrationv1.WebhookClientConfig) bool {
	if t.URL != "" {
		return c.URL != nil && strings.HasPrefix(*c.URL, t.URL+"/")
	}
	return c.Service != nil && c.Service.Namespace == t.Namespace && c.Service.Name == t.Service
}

// conversionConfig returns the conversion settings of a definition.
func (t WebhookEndpoint) conversionConfig(caBundle []byte) *apiextensionsv1.CustomResourceConversion {
	c := &apiextensionsv1.WebhookClientConfig{CABundle: caBundle}
	if t.URL != "" {
		c.URL = new(t.URL + ConvertPath)
	} else {
		c.Service = &apiextensionsv1.ServiceReference{
			Namespace: t.Namespace, Name: t.Service, Path: new(ConvertPath), Port: t.servicePort(),
		}
	}
	return &apiextensionsv1.CustomResourceConversion{
		Strategy: apiextensionsv1.WebhookConverter,
		Webhook:  &apiextensionsv1.WebhookConversion{ClientConfig: c, ConversionReviewVersions: []string{"v1"}},
	}
}

// webhookTimeout, in seconds, is how long the API server waits for an answer.
const webhookTimeout = 5

// ValidatingWebhooks returns the webhooks of a ValidatingWebhookConfiguration, one for each of Resources.
// Their failure policy is Ignore: an operator that is down, or is installed together with objects of its
// kinds, must not block writes. Its reconcilers validate objects too.
func ValidatingWebhooks(t WebhookEndpoint, caBundle []byte) []admissionregistrationv1.ValidatingWebhook {
	var out []admissionregistrationv1.ValidatingWebhook
	for _, plural := range Resources() {
		out = append(out, admissionregistrationv1.ValidatingWebhook{
			Name:         plural + ".admission." + v1beta1.GroupName,
			ClientConfig: t.clientConfig(ValidatePath(plural), caBundle),
			Rules: []admissionregistrationv1.RuleWithOperations{{
				Operations: []admissionregistrationv1.OperationType{
					admissionregistrationv1.Create, admissionregistrationv1.Update,
				},
				Rule: admissionregistrationv1.Rule{
					APIGroups: []string{v1beta1.GroupName}, APIVersions: []string{v1beta1.SchemeGroupVersion.Version},
					Resources: []string{plural}, Scope: new(admissionregistrationv1.NamespacedScope),
				},
			}},
			FailurePolicy:           new(admissionregistrationv1.Ignore),
			MatchPolicy:             new(admissionregistrationv1.Equivalent),
			SideEffects:             new(admissionregistrationv1.SideEffectClassNone),
			TimeoutSeconds:          new(int32(webhookTimeout)),
			AdmissionReviewVersions: []string{"v1"},
		})
	}
	return out
}
