package main

import (
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/alecthomas/kingpin/v2"
	"github.com/spf13/pflag"
	genericapiserver "k8s.io/apiserver/pkg/server"
	"k8s.io/apiserver/pkg/server/healthz"
	basecmd "sigs.k8s.io/custom-metrics-apiserver/pkg/cmd"
	liboptions "sigs.k8s.io/custom-metrics-apiserver/pkg/cmd/options"

	"github.com/slurmtide/slurmtide/metricsapi"
	"github.com/slurmtide/slurmtide/metricsapi/view"
	"github.com/slurmtide/slurmtide/operator/api/certs"
)

// securePort is where Kubernetes asks for metrics, unless told otherwise.
const securePort = 6443

// allowedFor is how long the API server's word that somebody may read a metric is good
// for, unless told otherwise: as long as with Kubernetes' own servers (kubelet and
// kube-apiserver), where the library's 10 s would have each HPA's next query, 15 s
// later, ask again.
const allowedFor = 5 * time.Minute

// libraryFlags are the flags of the API server library that are of use here, by
// the names that every Kubernetes API server gives them.
func (o *options) libraryFlags(app *kingpin.Application) {
	o.library = liboptions.NewCustomMetricsAdapterServerOptions()
	o.library.SecureServing.BindPort = securePort
	o.library.SecureServing.ServerCert.CertDirectory = "" // nothing is written to disk
	o.library.Authorization.AllowCacheTTL = allowedFor
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
		help := strings.Join(strings.Fields(f.Usage), " ")
		if name == "tls-cert-file" {
			help = "File with the serving certificate and, behind it, its CA's (PEM); read again when it changes. Without it the adapter makes one, see --certificate.secret."
		}
		if d := f.DefValue; d != "" && d != "[]" && d != "false" {
			help += " Default: " + d + "."
		}
		app.Flag(name, help).SetValue(f.Value)
	}
	app.Flag("shutdown-delay", "How long to go on serving, unready, after a signal, so that everybody has gone elsewhere.").Default("5s").DurationVar(&o.shutdownDelay)
}

// server returns the API server, which listens and does not serve yet. settled
// tells why it is not ready. Without a keeper it serves with the files of the flags,
// without a view the API group of it is not there.
func (o *options) server(p *metricsapi.Provider, shown *view.View, keeper *certs.Keeper, settled func() error) (*genericapiserver.GenericAPIServer, error) {
	base := &basecmd.AdapterBase{
		Name: "slurm-metrics-adapter", CustomMetricsAdapterServerOptions: o.library,
		FlagSet: pflag.NewFlagSet("", pflag.ContinueOnError),
	}
	o.prepare(base)
	base.WithCustomMetrics(p)
	if o.external {
		base.WithExternalMetrics(p)
	}
	scheme, err := view.NewScheme()
	if err != nil {
		return nil, err
	}
	if shown != nil {
		o.describe(base, scheme)
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
		return nil, fmt.Errorf("making the server: %w", err)
	}
	if shown != nil {
		if err := shown.Install(server.GenericAPIServer, scheme, config.GenericConfig.Authorization.Authorizer); err != nil {
			return nil, err
		}
	}
	check := healthz.NamedCheck("slurm-clusters", func(*http.Request) error { return settled() })
	if err := server.GenericAPIServer.AddReadyzChecks(check); err != nil {
		return nil, fmt.Errorf("making the server: %w", err)
	}
	return server.GenericAPIServer, nil
}

// prepare sets what the library's own flags would set.
func (o *options) prepare(base *basecmd.AdapterBase) {
	base.InstallFlags()
	base.RemoteKubeConfigFile = o.kubeConfig
	base.ClientQPS, base.ClientBurst, base.DiscoveryInterval = o.kubeQPS, o.kubeBurst, 10*time.Minute
	for _, file := range []*string{&o.library.Authentication.RemoteKubeConfigFile, &o.library.Authorization.RemoteKubeConfigFile} {
		if *file == "" {
			*file = o.kubeConfig
		}
	}
}
