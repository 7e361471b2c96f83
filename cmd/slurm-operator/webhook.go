package main

import (
	"errors"
	"os"
	"strings"

	"github.com/spf13/pflag"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/slurmtide/slurmtide/operator/admission"
)

// webhookOptions configure how the API server reaches the webhooks.
type webhookOptions struct {
	enabled                        bool
	host                           string
	port                           int
	namespace, service, url        string
	servicePort                    int32
	configuration, secret, certDir string
}

func (w *webhookOptions) addFlags(set *pflag.FlagSet) {
	set.BoolVar(&w.enabled, "webhook", true, "Serve the webhooks that validate objects and convert v1alpha1.")
	set.StringVar(&w.host, "webhook.host", "", "Address of the webhooks. Default: all addresses.")
	set.IntVar(&w.port, "webhook.port", 9443, "Port of the webhooks.")
	set.StringVar(&w.namespace, "webhook.namespace", "", "Namespace of the Service and of the Secret with the "+
		"certificate. Default: the pod's namespace.")
	set.StringVar(&w.service, "webhook.service", "slurm-operator",
		"Service through which the API server reaches the webhooks.")
	set.Int32Var(&w.servicePort, "webhook.service-port", 443, "Port of the Service.")
	set.StringVar(&w.url, "webhook.url", "", "URL through which the API server reaches the webhooks, instead of a "+
		"Service.")
	set.StringVar(&w.configuration, "webhook.configuration", "slurm-operator",
		"Name of the ValidatingWebhookConfiguration.")
	set.StringVar(&w.secret, "webhook.secret", "slurm-operator-certificate",
		"Secret with the self-signed certificate that the operator creates.")
	set.StringVar(&w.certDir, "webhook.cert-dir", "", "Folder with tls.crt and tls.key, instead of a self-signed "+
		"certificate. They are reloaded when they change. Whoever provides them must also configure their CA in "+
		"the API server.")
}

// namespaceFile contains the namespace of the pod.
const namespaceFile = "/var/run/secrets/kubernetes.io/serviceaccount/namespace"

// setup adds the webhooks to the manager.
func (w *webhookOptions) setup(mgr ctrl.Manager) error {
	if !w.enabled {
		return nil
	}
	namespace := w.namespace
	if namespace == "" {
		text, err := os.ReadFile(namespaceFile)
		if err != nil {
			return errors.New("the namespace of the webhooks' Service is unknown: give --webhook.namespace, or " +
				"--no-webhook")
		}
		namespace = strings.TrimSpace(string(text))
	}
	return admission.SetupWithManager(mgr, admission.Config{
		Host: w.host, Port: w.port, Configuration: w.configuration, CertDir: w.certDir, Namespace: namespace,
		Secret:   w.secret,
		Endpoint: admission.WebhookEndpoint{Namespace: namespace, Service: w.service, Port: w.servicePort, URL: w.url},
	})
}
