package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/homedir"

	"github.com/slurmtide/slurmtide/cmd/internal/lines"
	"github.com/slurmtide/slurmtide/metricsapi/view/v1alpha1"
	"github.com/slurmtide/slurmtide/operator/certs"
)

// kubeClients are the clients of Kubernetes.
type kubeClients struct {
	config  *rest.Config
	client  kubernetes.Interface
	dynamic dynamic.Interface
}

// serviceAccountDir contains the pod's service account token and namespace.
const serviceAccountDir = "/var/run/secrets/kubernetes.io/serviceaccount/"

// connectKube creates the clients without sending a request. It also sets the file of the flags so
// that the API server library uses the same one.
func (o *options) connectKube() (kubeClients, error) {
	cfg, err := o.kube.RESTConfig("slurm-metrics-adapter")
	if err != nil {
		return kubeClients{}, err
	}
	if o.kube.ConfigFile == "" {
		o.kube.ConfigFile = defaultKubeConfig()
	}
	client, err := kubernetes.NewForConfig(cfg)
	if err != nil {
		return kubeClients{}, fmt.Errorf("creating a Kubernetes client: %w", err)
	}
	dyn, err := dynamic.NewForConfig(cfg)
	if err != nil {
		return kubeClients{}, fmt.Errorf("creating a Kubernetes client: %w", err)
	}
	return kubeClients{cfg, client, dyn}, nil
}

// defaultKubeConfig returns the first file of KUBECONFIG. Without it, it returns ~/.kube/config
// outside of pods if that exists, and "" otherwise.
func defaultKubeConfig() string {
	if list := filepath.SplitList(os.Getenv("KUBECONFIG")); len(list) > 0 && list[0] != "" {
		return list[0]
	}
	if _, err := os.Stat(serviceAccountDir + "token"); err == nil {
		return ""
	}
	file := filepath.Join(homedir.HomeDir(), ".kube", "config")
	if _, err := os.Stat(file); err != nil {
		return ""
	}
	return file
}

// newCertificateKeeper returns a keeper of a self-signed certificate after it has one. It returns
// nil when the flags name certificate files.
func (o *options) newCertificateKeeper(ctx context.Context, k kubeClients, log lines.Logger) (*certs.Rotator, error) {
	if o.library.SecureServing.ServerCert.CertKey.CertFile != "" {
		return nil, nil
	}
	namespace := o.certNamespace
	if namespace == "" {
		text, err := os.ReadFile(serviceAccountDir + "namespace")
		if err != nil {
			return nil, errors.New("outside of a pod, give --certificate.namespace for the certificate's Secret, or " +
				"--tls-cert-file and --tls-private-key-file")
		}
		namespace = strings.TrimSpace(string(text))
	}
	keeper := certs.New(certs.Config{
		Store: &certs.SecretStore{Client: k.client, Namespace: namespace, Name: o.certSecret},
		Announcer: &certs.APIServiceAnnouncer{Client: k.dynamic, Namespace: namespace, Service: o.certService,
			Names: o.apiServices()},
		Subject: "slurm-metrics-adapter",
		Names:   []string{o.certService + "." + namespace + ".svc", o.certService + "." + namespace, o.certService},
		OnRenewed: func(why string) {
			log.Info("made a certificate", "secret", namespace+"/"+o.certSecret, "reason",
				why)
		},
		OnError: func(err error) { log.Warn("maintaining the certificate fails", "err", err) },
	})
	return keeper, awaitCertificate(ctx, keeper, log)
}

// awaitCertificate waits until there is a serving certificate.
func awaitCertificate(ctx context.Context, keeper *certs.Rotator, log lines.Logger) error {
	const patience, pause = 30 * time.Second, 2 * time.Second
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for {
		err := keeper.EnsureCertificate(ctx)
		if keeper.HasCertificate() {
			if err != nil {
				log.Warn("maintaining the certificate fails", "err", err)
			}
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("there is no serving certificate: %w", err)
		case <-time.After(pause):
			log.Warn("there is no serving certificate yet", "err", err)
		}
	}
}

// apiServices returns the names of the adapter's APIServices.
func (o *options) apiServices() []string {
	names := []string{"v1beta1.custom.metrics.k8s.io", "v1beta2.custom.metrics.k8s.io"}
	if o.external {
		names = append(names, "v1beta1.external.metrics.k8s.io")
	}
	if o.view.enabled {
		names = append(names, v1alpha1.SchemeGroupVersion.Version+"."+v1alpha1.GroupName)
	}
	return names
}
