package main

import (
	"errors"
	"os"
	"strings"

	"github.com/alecthomas/kingpin/v2"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/slurmtide/slurmtide/operator/admission"
)

// webhookOptions say how the API server reaches the webhooks.
type webhookOptions struct {
	enabled                        bool
	host                           string
	port                           int
	namespace, service, url        string
	servicePort                    int32
	configuration, secret, certDir string
}

func (w *webhookOptions) flags(app *kingpin.Application) {
	app.Flag("webhook", "Serve the webhooks by which the API server checks objects and converts v1alpha1.").Default("true").BoolVar(&w.enabled)
	app.Flag("webhook.host", "Address of the webhooks; every address without it.").StringVar(&w.host)
	app.Flag("webhook.port", "Port of the webhooks.").Default("9443").IntVar(&w.port)
	app.Flag("webhook.namespace", "Namespace of the Service and of the Secret with the certificate; the pod's own without it.").StringVar(&w.namespace)
	app.Flag("webhook.service", "Service by which the API server reaches the webhooks.").Default("slurm-operator").StringVar(&w.service)
	app.Flag("webhook.service-port", "Its port.").Default("443").Int32Var(&w.servicePort)
	app.Flag("webhook.url", "URL by which the API server reaches the webhooks, instead of a Service.").StringVar(&w.url)
	app.Flag("webhook.configuration", "Name of the ValidatingWebhookConfiguration.").Default("slurm-operator").StringVar(&w.configuration)
	app.Flag("webhook.secret", "Secret in which a certificate is kept that the operator makes by itself.").Default("slurm-operator-certificate").StringVar(&w.secret)
	app.Flag("webhook.cert-dir", "Folder with tls.crt and tls.key, instead of a certificate of the operator's own; they are read again when they change, and who wrote them tells the API server of their CA.").StringVar(&w.certDir)
}

// namespaceFile is where a pod finds its namespace.
const namespaceFile = "/var/run/secrets/kubernetes.io/serviceaccount/namespace"

// setup makes the manager run the webhooks.
func (w *webhookOptions) setup(mgr ctrl.Manager) error {
	if !w.enabled {
		return nil
	}
	namespace := w.namespace
	if namespace == "" {
		text, err := os.ReadFile(namespaceFile)
		if err != nil {
			return errors.New("there is no telling in which namespace the webhooks' Service is: give --webhook.namespace, or --no-webhook")
		}
		namespace = strings.TrimSpace(string(text))
	}
	return admission.SetupWithManager(mgr, admission.Config{
		Host: w.host, Port: w.port, Configuration: w.configuration, CertDir: w.certDir, Namespace: namespace, Secret: w.secret,
		Target: admission.Target{Namespace: namespace, Service: w.service, Port: w.servicePort, URL: w.url},
	})
}
