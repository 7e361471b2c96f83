package admission

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/url"
	"time"

	"github.com/go-logr/logr"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/webhook"

	"github.com/slurmtide/slurmtide/operator/certs"
)

// Config configures the address and the certificate of the webhooks.
type Config struct {
	// Host and Port are the address to listen on; "" is every address, 0 is port 9443.
	Host string
	Port int
	// Endpoint is the address at which the API server reaches the webhooks.
	Endpoint WebhookEndpoint
	// Configuration is the name of the ValidatingWebhookConfiguration.
	Configuration string
	// CertDir is the directory of tls.crt and tls.key, which are read again when they change;
	// their issuer announces the CA. If it is empty, the operator issues the certificate.
	CertDir string
	// Namespace and Secret name the Secret of the certificate that the operator issues.
	Namespace, Secret string
}

// SetupWithManager makes the manager run the webhooks on every replica, renew their certificate and
// register them with the API server. The manager is ready when they are.
func SetupWithManager(mgr ctrl.Manager, cfg Config) error {
	announcer, err := newAnnouncer(mgr, cfg)
	if err != nil {
		return err
	}
	options := webhook.Options{Host: cfg.Host, Port: cfg.Port, CertDir: cfg.CertDir}
	k := &webhookAnnouncer{announcer: announcer, log: mgr.GetLogger().WithName("webhooks")}
	if cfg.CertDir == "" {
		if k.rotator, err = newRotator(mgr, cfg, announcer, k.log); err != nil {
			return err
		}
		options.TLSOpts = []func(*tls.Config){func(c *tls.Config) { c.GetCertificate = k.getCertificate }}
	}
	server := webhook.NewServer(options)
	if err := Register(server); err != nil {
		return err
	}
	if err := mgr.Add(server); err != nil {
		return fmt.Errorf("adding the webhooks: %w", err)
	}
	if err := mgr.AddReadyzCheck("webhooks", server.StartedChecker()); err != nil {
		return fmt.Errorf("adding the webhooks' check: %w", err)
	}
	return mgr.Add(k)
}

func newAnnouncer(mgr ctrl.Manager, cfg Config) (*Announcer, error) {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{admissionregistrationv1.AddToScheme,
		apiextensionsv1.AddToScheme} {
		if err := add(scheme); err != nil {
			return nil, fmt.Errorf("registering types: %w", err)
		}
	}
	c, err := client.New(mgr.GetConfig(), client.Options{Scheme: scheme, HTTPClient: mgr.GetHTTPClient()})
	if err != nil {
		return nil, fmt.Errorf("making a client for definitions: %w", err)
	}
	return &Announcer{Client: c, Configuration: cfg.Configuration, Endpoint: cfg.Endpoint, ServiceExists: serviceExists}, nil
}

// serviceExists reports whether DNS resolves a Service, or gives no clear answer. The operator has no right to read Services of
// other namespaces.
func serviceExists(ctx context.Context, namespace, name string) bool {
	ctx, cancel := context.WithTimeout(ctx, lookupTimeout)
	defer cancel()
	_, err := net.DefaultResolver.LookupHost(ctx, name+"."+namespace+".svc")
	missing := (*net.DNSError)(nil)
	return err == nil || !errors.As(err, &missing) || !missing.IsNotFound
}

// lookupTimeout is how long the DNS of the Kubernetes cluster may take.
const lookupTimeout = 5 * time.Second

func newRotator(mgr ctrl.Manager, cfg Config, announcer certs.Announcer, log logr.Logger) (*certs.Rotator, error) {
	c, err := kubernetes.NewForConfigAndClient(mgr.GetConfig(), mgr.GetHTTPClient())
	if err != nil {
		return nil, fmt.Errorf("making a client for the certificate: %w", err)
	}
	return certs.New(certs.Config{
		Store:     &certs.SecretStore{Client: c, Namespace: cfg.Namespace, Name: cfg.Secret},
		Announcer: announcer,
		Subject:   "slurm-operator",
		Names:     cfg.Endpoint.hostNames(),
		OnRenewed: func(why string) { log.Info("made a certificate", "reason", why) },
	}), nil
}

// webhookAnnouncer renews the certificate and announces the webhooks, on every replica.
type webhookAnnouncer struct {
	rotator   *certs.Rotator // nil if the certificate is read from files
	announcer *Announcer
	log       logr.Logger
}

// NeedLeaderElection implements manager.LeaderElectionRunnable: every replica runs it.
func (*webhookAnnouncer) NeedLeaderElection() bool { return false }

// Start checks the certificate and announces the webhooks until ctx ends: every second until a certificate exists, then every
// certs.CheckInterval.
func (k *webhookAnnouncer) Start(ctx context.Context) error {
	announce := func(ctx context.Context) error { return k.announcer.Announce(ctx, nil) }
	if k.rotator != nil {
		announce = k.rotator.EnsureCertificate
	}
	const retryInterval = time.Second
	for {
		pause := certs.CheckInterval
		if err := announce(ctx); err != nil && ctx.Err() == nil {
			k.log.Error(err, "announcing the webhooks")
		}
		if k.rotator != nil && !k.rotator.HasCertificate() {
			pause = retryInterval
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(pause):
		}
	}
}

// getCertificate is the GetCertificate of a tls.Config.
func (k *webhookAnnouncer) getCertificate(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	cert, key := k.rotator.CurrentCertKeyContent()
	if len(cert) == 0 {
		return nil, errors.New("there is no certificate yet")
	}
	pair, err := tls.X509KeyPair(cert, key)
	if err != nil {
		return nil, fmt.Errorf("reading the certificate: %w", err)
	}
	return &pair, nil
}

// hostOf returns the host of a URL, or "" if the URL is malformed.
func hostOf(text string) string {
	u, err := url.Parse(text)
	if err != nil {
		return ""
	}
	return u.Hostname()
}
