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

	"github.com/slurmtide/slurmtide/operator/api/certs"
	"github.com/slurmtide/slurmtide/operator/api/v1alpha1"
	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
)

// Announcer tells the API server where the webhooks are and whom to trust there: in a
// ValidatingWebhookConfiguration, and in the definitions of the kinds of two versions.
type Announcer struct {
	// Client reads and writes without a cache. Its scheme has
	// admissionregistration.k8s.io/v1 and apiextensions.k8s.io/v1.
	Client client.Client
	// Configuration is the name of the ValidatingWebhookConfiguration. One that is
	// absent, and webhooks in it that lead elsewhere, are left alone.
	Configuration string
	Endpoint      WebhookEndpoint
}

var _ certs.Announcer = (*Announcer)(nil)

// definitionNames are the names of those with two versions.
func definitionNames() []string {
	return []string{"clusters." + v1beta1.GroupName, "nodesets." + v1beta1.GroupName}
}

// Announce implements certs.Announcer. With an empty caBundle the ones that are there
// stay as they are: somebody else writes them. It is no error when another replica
// writes at the same time.
func (a *Announcer) Announce(ctx context.Context, caBundle []byte) error {
	configuration := &admissionregistrationv1.ValidatingWebhookConfiguration{}
	err := a.updateObject(ctx, a.Configuration, configuration, func() bool { return a.setCABundles(configuration, caBundle) })
	if err != nil {
		return fmt.Errorf("announcing the webhooks: %w", err)
	}
	for _, name := range definitionNames() {
		definition := &apiextensionsv1.CustomResourceDefinition{}
		if err := a.updateObject(ctx, name, definition, func() bool { return a.setConversion(definition, caBundle) }); err != nil {
			return fmt.Errorf("announcing who converts: %w", err)
		}
	}
	return nil
}

// updateObject reads the object of that name, and writes it when edit says that it changed it.
func (a *Announcer) updateObject(ctx context.Context, name string, into client.Object, edit func() bool) error {
	err := a.Client.Get(ctx, client.ObjectKey{Name: name}, into)
	if apierrors.IsNotFound(err) {
		return nil // it may come later
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

// setCABundles puts the CAs into the webhooks that lead here, and reports whether it changed any.
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

// setConversion makes a definition serve v1alpha1 and have it converted here, and reports
// whether it did not before. One without v1alpha1 is not ours.
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
