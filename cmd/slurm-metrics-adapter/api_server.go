package main

import (
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/spf13/pflag"
	genericapiserver "k8s.io/apiserver/pkg/server"
	"k8s.io/apiserver/pkg/server/healthz"
	basecmd "sigs.k8s.io/custom-metrics-apiserver/pkg/cmd"
	liboptions "sigs.k8s.io/custom-metrics-apiserver/pkg/cmd/options"

	"github.com/slurmtide/slurmtide/metricsapi"
	"github.com/slurmtide/slurmtide/metricsapi/view"
	"github.com/slurmtide/slurmtide/operator/certs"
)

// securePort is the default port of the API server.
const securePort = 6443

// authorizationCacheTTL is how long a positive answer of the API server about permissions is cached
// by default. It matches the default of kubelet and kube-apiserver. With the library's 10 s, each
// query of an HPA, 15 s after the previous one, would request a new answer.
const authorizationCacheTTL = 5 * time.Minute

// libraryFlags adds the useful flags of the API server library under the names that all Kubernetes
// API servers use.
func (o *options) libraryFlags(added *pflag.FlagSet) {
	o.library = liboptions.NewCustomMetricsAdapterServerOptions()
	o.library.SecureServing.BindPort = securePort
	o.library.SecureServing.ServerCert.CertDirectory = "" // write no certificate to disk
	o.library.Authorization.AllowCacheTTL = authorizationCacheTTL
	set := pflag.NewFlagSet("", pflag.ContinueOnError)
	o.library.SecureServing.AddFlags(set)
	o.library.Authentication.AddFlags(set)
	o.library.Authorization.AddFlags(set)
	for _, name := range []string{
		"bind-address", "secure-port", "tls-cert-file", "tls-private-key-file", "tls-min-version", "tls-cipher-suites",
		"http2-max-streams-per-connection",
		"authentication-kubeconfig", "authentication-skip-lookup", "authentication-tolerate-lookup-failure",
		"authentication-token-webhook-cache-ttl", "client-ca-file",
		"requestheader-client-ca-file", "requestheader-allowed-names", "requestheader-username-headers",
		"requestheader-uid-headers", "requestheader-group-headers", "requestheader-extra-headers-prefix",
		"authorization-kubeconfig", "authorization-always-allow-paths",
		"authorization-webhook-cache-authorized-ttl", "authorization-webhook-cache-unauthorized-ttl",
	} {
		f := set.Lookup(name)
		f.Usage = strings.Join(strings.Fields(f.Usage), " ")
		if name == "tls-cert-file" {
			f.Usage = "File with the serving certificate followed by its CA's (PEM). It is reloaded when it changes. " +
				"Without it the adapter creates a certificate, see --certificate.secret."
		}
		added.AddFlag(f)
	}
	added.DurationVar(&o.shutdownDelay, "shutdown-delay", 5*time.Second,
		"How long to keep serving, unready, after a signal, so that clients can move to other replicas.")
}

// newServer returns the API server, which listens but does not serve yet. settled returns the reason why it is not
// ready. keeper is nil if the flags name certificate files; a nil view leaves out its API group.
func (o *options) newServer(
	p *metricsapi.Provider, shown *view.View, keeper *certs.Rotator, settled func() error,
) (*genericapiserver.GenericAPIServer, error) {
	base := &basecmd.AdapterBase{
		Name: "slurm-metrics-adapter", CustomMetricsAdapterServerOptions: o.library,
		FlagSet: pflag.NewFlagSet("", pflag.ContinueOnError),
	}
	o.prepareLibrary(base)
	base.WithCustomMetrics(p)
	if o.external {
		base.WithExternalMetrics(p)
	}
	scheme, err := view.NewScheme()
	if err != nil {
		return nil, err
	}
	if shown != nil {
		o.addOpenAPI(base, scheme)
	}
	config, err := base.Config()
	if err != nil {
		return nil, fmt.Errorf("configuring the server: %w", err)
	}
	config.GenericConfig.ShutdownDelayDuration = o.shutdownDelay
	if keeper != nil {
		config.GenericConfig.SecureServing.Cert = keeper
	}
	server, err := base.Server()
	if err != nil {
		return nil, fmt.Errorf("creating the server: %w", err)
	}
	if shown != nil {
		if err := shown.Install(server.GenericAPIServer, scheme,
			config.GenericConfig.Authorization.Authorizer); err != nil {
			return nil, err
		}
	}
	check := healthz.NamedCheck("slurm-clusters", func(*http.Request) error { return settled() })
	if err := server.GenericAPIServer.AddReadyzChecks(check); err != nil {
		return nil, fmt.Errorf("creating the server: %w", err)
	}
	return server.GenericAPIServer, nil
}

// prepareLibrary sets what the library's own flags would set.
func (o *options) prepareLibrary(base *basecmd.AdapterBase) {
	base.InstallFlags()
	base.RemoteKubeConfigFile = o.kube.ConfigFile
	base.ClientQPS, base.ClientBurst, base.DiscoveryInterval = o.kube.QPS, o.kube.Burst, 10*time.Minute
	for _, file := range []*string{&o.library.Authentication.RemoteKubeConfigFile,
		&o.library.Authorization.RemoteKubeConfigFile} {
		if *file == "" {
			*file = o.kube.ConfigFile
		}
	}
}
