package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/prometheus/common/version"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/util/homedir"

	"github.com/slurmtide/slurmtide/metricsapi/view/v1alpha1"
	"github.com/slurmtide/slurmtide/operator/api/certs"
)

// kube is how Kubernetes is reached.
type kube struct {
	client  kubernetes.Interface
	dynamic dynamic.Interface
}

// inPod is where a pod finds who it is.
const inPod = "/var/run/secrets/kubernetes.io/serviceaccount/"

// connect makes the clients; it makes no request. It settles where the kubeconfig
// is, so that the library finds the same.
func (o *options) connect() (kube, error) {
	if o.kubeConfig == "" {
		o.kubeConfig = defaultKubeConfig()
	}
	cfg, err := rest.InClusterConfig()
	if o.kubeConfig != "" {
		cfg, err = clientcmd.BuildConfigFromFlags("", o.kubeConfig)
	}
	if err != nil {
		return kube{}, fmt.Errorf("finding Kubernetes (give --kube.config or KUBECONFIG, or run it in a pod): %w", err)
	}
	cfg.QPS, cfg.Burst = o.kubeQPS, o.kubeBurst
	cfg.UserAgent = "slurm-metrics-adapter/" + version.Version
	client, err := kubernetes.NewForConfig(cfg)
	if err != nil {
		return kube{}, fmt.Errorf("making a client for Kubernetes: %w", err)
	}
	dyn, err := dynamic.NewForConfig(cfg)
	if err != nil {
		return kube{}, fmt.Errorf("making a client for Kubernetes: %w", err)
	}
	return kube{client, dyn}, nil
}

// defaultKubeConfig is KUBECONFIG's first file, else, outside of pods, the user's.
func defaultKubeConfig() string {
	if list := filepath.SplitList(os.Getenv("KUBECONFIG")); len(list) > 0 && list[0] != "" {
		return list[0]
	}
	if _, err := os.Stat(inPod + "token"); err == nil {
		return ""
	}
	file := filepath.Join(homedir.HomeDir(), ".kube", "config")
	if _, err := os.Stat(file); err != nil {
		return ""
	}
	return file
}

// certificate returns the keeper of a self-made certificate, which has one, or nil
// when files are given.
func (o *options) certificate(ctx context.Context, k kube, log logger) (*certs.Keeper, error) {
	if o.library.SecureServing.ServerCert.CertKey.CertFile != "" {
		return nil, nil
	}
	namespace := o.certNamespace
	if namespace == "" {
		text, err := os.ReadFile(inPod + "namespace")
		if err != nil {
			return nil, errors.New("keeping a certificate in a Secret needs --certificate.namespace outside of a pod (or give --tls-cert-file and --tls-private-key-file)")
		}
		namespace = strings.TrimSpace(string(text))
	}
	keeper := certs.New(certs.Config{
		Store:     &certs.SecretStore{Client: k.client, Namespace: namespace, Secret: o.certSecret},
		Announcer: &certs.APIServices{Client: k.dynamic, Namespace: namespace, Service: o.certService, Names: o.apiServices()},
		Subject:   "slurm-metrics-adapter",
		Names:     []string{o.certService + "." + namespace + ".svc", o.certService + "." + namespace, o.certService},
		Renewed:   func(why string) { log.Info("made a certificate", "secret", namespace+"/"+o.certSecret, "reason", why) },
		Failed:    func(err error) { log.Warn("looking after the certificate fails", "err", err) },
	})
	return keeper, firstCertificate(ctx, keeper, log)
}

// firstCertificate waits for a certificate to serve with.
func firstCertificate(ctx context.Context, keeper *certs.Keeper, log logger) error {
	const patience, pause = 30 * time.Second, 2 * time.Second
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for {
		err := keeper.Look(ctx)
		if keeper.HasCertificate() {
			if err != nil {
				log.Warn("looking after the certificate fails", "err", err)
			}
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("there is no certificate to serve with: %w", err)
		case <-time.After(pause):
			log.Warn("there is no certificate to serve with yet", "err", err)
		}
	}
}

// apiServices are the names of those that lead to the adapter.
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
