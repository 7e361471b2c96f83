package main

import (
	"errors"
	"os"
	"strings"

	"github.com/alecthomas/kingpin/v2"
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

func (w *webhookOptions) flags(app *kingpin.Application) {
	app.Flag("webhook", "Serve the webhooks that validate objects and convert v1alpha1.").Default("true").
		BoolVar(&w.enabled)
	app.Flag("webhook.host", "Address of the webhooks. Default: all addresses.").StringVar(&w.host)
	app.Flag("webhook.port", "Port of the webhooks.").Default("9443").IntVar(&w.port)
	app.Flag("webhook.namespace",
		"Namespace of the Service and of the Secret with the certificate. Default: the pod's namespace.").
		StringVar(&w.namespace)
	app.Flag("webhook.service", "Service through which the API server reaches the webhooks.").
		Default("slurm-operator").StringVar(&w.service)
	app.Flag("webhook.service-port", "Port of the Service.").Default("443").Int32Var(&w.servicePort)
	app.Flag("webhook.url", "URL through which the API server reaches the webhooks, instead of a Service.").
		StringVar(&w.url)
	app.Flag("webhook.configuration", "Name of the ValidatingWebhookConfiguration.").Default("slurm-operator").
		StringVar(&w.configuration)
	app.Flag("webhook.secret", "Secret with the self-signed certificate that the operator creates.").
		Default("slurm-operator-certificate").StringVar(&w.secret)
	app.Flag("webhook.cert-dir",
		"Folder with tls.crt and tls.key, instead of a self-signed certificate. They are reloaded when they change. "+
			"Whoever provides them must also configure their CA in the API server.").StringVar(&w.certDir)
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
