package admission_test

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/slurmtide/slurmtide/operator/admission"
)

func newEndpoint() admission.WebhookEndpoint {
	return admission.WebhookEndpoint{Namespace: "slinky", Service: "slurm-operator-webhook"}
}

// newDefinition returns the parts of a definition of the chart that matter here.
func newDefinition(name string, versions ...string) *apiextensionsv1.CustomResourceDefinition {
	d := &apiextensionsv1.CustomResourceDefinition{ObjectMeta: metav1.ObjectMeta{Name: name}}
	for _, v := range versions {
		d.Spec.Versions = append(d.Spec.Versions,
			apiextensionsv1.CustomResourceDefinitionVersion{Name: v, Served: v == "v1beta1", Storage: v == "v1beta1"})
	}
	return d
}

func newConfiguration(hooks ...admissionregistrationv1.ValidatingWebhook) *admissionregistrationv1.ValidatingWebhookConfiguration {
	return &admissionregistrationv1.ValidatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{Name: "slurm-operator"}, Webhooks: hooks}
}

// announceCAs returns the objects after announcements of CAs.
func announceCAs(t *testing.T, objects []client.Object, cas ...string) (
	*admissionregistrationv1.ValidatingWebhookConfiguration, *apiextensionsv1.CustomResourceDefinition) {
	t.Helper()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{admissionregistrationv1.AddToScheme,
		apiextensionsv1.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	c := fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).Build()
	a := &admission.Announcer{Client: c, Configuration: "slurm-operator", Endpoint: newEndpoint()}
	for _, ca := range cas {
		if err := a.Announce(t.Context(), []byte(ca)); err != nil {
			t.Fatal(err)
		}
	}
	hooks, d := &admissionregistrationv1.ValidatingWebhookConfiguration{}, &apiextensionsv1.CustomResourceDefinition{}
	if err := c.Get(t.Context(), client.ObjectKey{Name: "slurm-operator"}, hooks); client.IgnoreNotFound(err) != nil {
		t.Fatal(err)
	}
	if err := c.Get(t.Context(), client.ObjectKey{Name: "nodesets.slinky.slurm.net"}, d); client.IgnoreNotFound(
		err) != nil {
		t.Fatal(err)
	}
	return hooks, d
}

func TestWebhooksAreAnnounced(t *testing.T) {
	objects := []client.Object{
		newConfiguration(admission.ValidatingWebhooks(newEndpoint(), nil)...),
		newDefinition("nodesets.slinky.slurm.net", "v1alpha1", "v1beta1"),
	}
	hooks, d := announceCAs(t, objects, "first", "second")
	for _, hook := range hooks.Webhooks {
		if got := string(hook.ClientConfig.CABundle); got != "second" {
			t.Errorf("%s trusts %q", hook.Name, got)
		}
	}
	if !d.Spec.Versions[0].Served {
		t.Error("v1alpha1 is not served")
	}
	if c := d.Spec.Conversion; c == nil || c.Strategy != apiextensionsv1.WebhookConverter ||
		c.Webhook.ClientConfig.Service.Name != "slurm-operator-webhook" ||
		string(c.Webhook.ClientConfig.CABundle) != "second" {
		t.Errorf("conversion is %+v", c)
	}
}

func TestAnnouncingAgainWritesNothing(t *testing.T) {
	objects := func() []client.Object {
		return []client.Object{
			newConfiguration(admission.ValidatingWebhooks(newEndpoint(), nil)...),
			newDefinition("nodesets.slinky.slurm.net", "v1alpha1", "v1beta1"),
		}
	}
	hooks, d := announceCAs(t, objects(), "ca")
	hooksAgain, again := announceCAs(t, objects(), "ca", "ca", "ca")
	if hooks.ResourceVersion != hooksAgain.ResourceVersion || d.ResourceVersion != again.ResourceVersion {
		t.Error("unchanged objects are written again")
	}
}

func TestForeignCABundleIsKept(t *testing.T) {
	d := newDefinition("nodesets.slinky.slurm.net", "v1alpha1", "v1beta1")
	d.Spec.Conversion = &apiextensionsv1.CustomResourceConversion{
		Strategy: apiextensionsv1.WebhookConverter,
		Webhook:  &apiextensionsv1.WebhookConversion{ClientConfig: &apiextensionsv1.WebhookClientConfig{CABundle: []byte("theirs")}},
	}
	hooks, d := announceCAs(t,
		[]client.Object{newConfiguration(admission.ValidatingWebhooks(newEndpoint(), []byte("theirs"))...), d}, "")
	if got := string(d.Spec.Conversion.Webhook.ClientConfig.CABundle); got != "theirs" || !d.Spec.Versions[0].Served {
		t.Errorf("the definition trusts %q, v1alpha1 is served: %v", got, d.Spec.Versions[0].Served)
	}
	if got := string(hooks.Webhooks[0].ClientConfig.CABundle); got != "theirs" {
		t.Errorf("the webhooks trust %q", got)
	}
}

func TestForeignWebhooksAreNotChanged(t *testing.T) {
	elsewhere := admission.ValidatingWebhooks(admission.WebhookEndpoint{URL: "https://elsewhere.example.com"},
		[]byte("theirs"))
	hooks, d := announceCAs(t, []client.Object{newConfiguration(elsewhere...),
		newDefinition("nodesets.slinky.slurm.net", "v1beta1")}, "ours")
	if diff := cmp.Diff(elsewhere, hooks.Webhooks); diff != "" {
		t.Errorf("webhooks (-before +after):\n%s", diff)
	}
	if d.Spec.Conversion != nil {
		t.Errorf("a definition without v1alpha1 has conversion %+v", d.Spec.Conversion)
	}
	announceCAs(t, nil, "ours") // no object exists yet
}

// TestTheConversionStaysWithOneOperator: another release's stays while its Service exists.
func TestTheConversionStaysWithOneOperator(t *testing.T) {
	scheme := runtime.NewScheme()
	if err := apiextensionsv1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	if err := admissionregistrationv1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	c := fake.NewClientBuilder().WithScheme(scheme).WithObjects(newDefinition("nodesets.slinky.slurm.net", "v1alpha1", "v1beta1")).Build()
	services := map[string]bool{"first": true, "second": true}
	announcerOf := func(namespace string) *admission.Announcer {
		return &admission.Announcer{Client: c, Endpoint: admission.WebhookEndpoint{Namespace: namespace, Service: "slurm-operator"},
			ServiceExists: func(_ context.Context, namespace, _ string) bool { return services[namespace] }}
	}
	first, second := announcerOf("first"), announcerOf("second")
	announce := func(a *admission.Announcer, want string) string {
		t.Helper()
		if err := a.Announce(t.Context(), []byte(a.Endpoint.Namespace)); err != nil {
			t.Fatal(err)
		}
		d := &apiextensionsv1.CustomResourceDefinition{}
		if err := c.Get(t.Context(), client.ObjectKey{Name: "nodesets.slinky.slurm.net"}, d); err != nil {
			t.Fatal(err)
		}
		if got := d.Spec.Conversion.Webhook.ClientConfig; got.Service.Namespace != want || string(got.CABundle) != want {
			t.Errorf("the conversion is %+v, not %s's", got, want)
		}
		return d.ResourceVersion
	}
	version := announce(first, "first")
	for range 3 {
		announce(second, "first")
		if got := announce(first, "first"); got != version {
			t.Error("the definition is written again")
		}
	}
	delete(services, "first")
	announce(second, "second")
}
