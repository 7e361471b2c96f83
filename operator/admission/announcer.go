package admission

import (
	"bytes"
	"context"
	"fmt"
	"slices"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/slurmtide/slurmtide/operator/api/v1alpha1"
	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
	"github.com/slurmtide/slurmtide/operator/certs"
)

// Announcer registers the webhooks and their CA with the API server: in a
// ValidatingWebhookConfiguration, and in the definitions of the kinds that have two versions.
type Announcer struct {
	// Client reads and writes without a cache. Its scheme has
	// admissionregistration.k8s.io/v1 and apiextensions.k8s.io/v1.
	Client client.Client
	// Configuration is the name of the ValidatingWebhookConfiguration. It is not created if it
	// is absent, and webhooks in it that have another target are not changed.
	Configuration string
	Endpoint      WebhookEndpoint
	// ServiceExists reports whether a Service exists. The conversion stays with an existing Service: otherwise two operators would
	// overwrite each other's every few seconds, and each time the API server would end all watches of the kind. nil means that no
	// Service exists.
	ServiceExists func(ctx context.Context, namespace, name string) bool
}

var _ certs.Announcer = (*Announcer)(nil)

// definitionNames returns the names of the definitions with two versions.
func definitionNames() []string {
	return []string{"clusters." + v1beta1.GroupName, "nodesets." + v1beta1.GroupName}
}

// Announce implements certs.Announcer. If caBundle is empty, the existing CAs are kept: another program writes them. A conflict with
// another replica is not an error.
func (a *Announcer) Announce(ctx context.Context, caBundle []byte) error {
	configuration := &admissionregistrationv1.ValidatingWebhookConfiguration{}
	err := a.updateObject(ctx, a.Configuration, configuration,
		func() bool { return a.setCABundles(configuration, caBundle) })
	if err != nil {
		return fmt.Errorf("announcing the webhooks: %w", err)
	}
	for _, name := range definitionNames() {
		definition := &apiextensionsv1.CustomResourceDefinition{}
		if err := a.updateObject(ctx, name, definition,
			func() bool {
				return !a.isConvertedByAnother(ctx, definition) && a.setConversion(definition, caBundle)
			}); err != nil {
			return fmt.Errorf("announcing the conversion webhook: %w", err)
		}
	}
	return nil
}

// updateObject reads the object of that name, and writes it if edit reports a change.
func (a *Announcer) updateObject(ctx context.Context, name string, into client.Object, edit func() bool) error {
	err := a.Client.Get(ctx, client.ObjectKey{Name: name}, into)
	if apierrors.IsNotFound(err) {
		return nil // it may be created later
	}
	if err != nil {
		return fmt.Errorf("reading %s: %w", name, err)
	}
	if !edit() {
		return nil
	}
	if err := a.Client.Update(ctx, into); err != nil && !apierrors.IsConflict(err) {
		return fmt.Errorf("writing %s: %w", name, err)
	}
	return nil
}

// setCABundles sets the CAs of the webhooks whose target is ours, and reports whether any changed.
func (a *Announcer) setCABundles(c *admissionregistrationv1.ValidatingWebhookConfiguration, caBundle []byte) bool {
	changed := false
	for i := range c.Webhooks {
		config := &c.Webhooks[i].ClientConfig
		if len(caBundle) > 0 && a.Endpoint.isTargetOf(*config) && !bytes.Equal(config.CABundle, caBundle) {
			config.CABundle, changed = caBundle, true
		}
	}
	return changed
}

// isConvertedByAnother reports whether the conversion webhook of a definition is another Service that exists.
func (a *Announcer) isConvertedByAnother(ctx context.Context, d *apiextensionsv1.CustomResourceDefinition) bool {
	c := d.Spec.Conversion
	if a.ServiceExists == nil || c == nil || c.Webhook == nil || c.Webhook.ClientConfig == nil || c.Webhook.ClientConfig.Service == nil {
		return false
	}
	s := c.Webhook.ClientConfig.Service
	return (s.Namespace != a.Endpoint.Namespace || s.Name != a.Endpoint.Service) && a.ServiceExists(ctx, s.Namespace, s.Name)
}

// setConversion makes a definition serve v1alpha1 and use our conversion webhook, and reports
// whether it changed the definition. A definition without v1alpha1 is not ours.
func (a *Announcer) setConversion(d *apiextensionsv1.CustomResourceDefinition, caBundle []byte) bool {
	alpha := slices.IndexFunc(d.Spec.Versions, func(v apiextensionsv1.CustomResourceDefinitionVersion) bool {
		return v.Name == v1alpha1.SchemeGroupVersion.Version
	})
	if alpha < 0 {
		return false
	}
	if len(caBundle) == 0 {
		if c := d.Spec.Conversion; c != nil && c.Webhook != nil && c.Webhook.ClientConfig != nil {
			caBundle = c.Webhook.ClientConfig.CABundle
		}
	}
	want := a.Endpoint.conversionConfig(caBundle)
	served := &d.Spec.Versions[alpha].Served
	if *served && apiequality.Semantic.DeepEqual(d.Spec.Conversion, want) {
		return false
	}
	*served, d.Spec.Conversion = true, want
	return true
}
