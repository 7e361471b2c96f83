package main

import (
	"cmp"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/alecthomas/kingpin/v2"

	"github.com/slurmtide/slurmtide/metricsapi/clusters"
	"github.com/slurmtide/slurmtide/slurmclient"
)

// slurmOptions configure how Slurm is read.
type slurmOptions struct {
	user, apiVersion      string
	lifetime              time.Duration
	timeout, period, slow time.Duration
	lookInterval          time.Duration
	jobsReader            string

	// One cluster instead of those of the objects in Kubernetes.
	url, userName               string
	tokenFile, tokenEnv         string
	keyFile                     string
	caFile, certFile, clientKey string
	namespace, name             string
}

func (s *slurmOptions) flags(app *kingpin.Application) {
	app.Flag("slurm.user", "User of the tokens that are minted with the keys of Controllers or with "+
		"--slurm.jwt-key-file.").Default("slurm").StringVar(&s.user)
	app.Flag("slurm.jwt-lifetime", "Lifetime of minted tokens. They are renewed before they expire.").Default("30m").
		DurationVar(&s.lifetime)
	app.Flag("slurm.api-version",
		"API version, such as v0.0.42. Default: the newest version that each slurmrestd serves.").
		StringVar(&s.apiVersion)
	app.Flag("slurm.timeout", "Timeout of a request, or of one chunk of a long response.").Default("30s").
		DurationVar(&s.timeout)
	app.Flag("slurm.poll-interval", "Interval between polls of nodes and jobs. Slow polls increase it automatically.").
		Default("10s").DurationVar(&s.period)
	app.Flag("slurm.look-interval",
		"Interval between checks for new jobs, which cost one cheap request each. New jobs trigger a poll at once. "+
			"0 disables the checks.").Default("1s").DurationVar(&s.lookInterval)
	app.Flag("slurm.slow-poll-interval", "Interval between polls of shares and QOS.").Default("5m").DurationVar(&s.slow)
	app.Flag("slurm.jobs-reader",
		"How jobs are read: list requests all jobs, delta only the changed ones (for queues of thousands), auto "+
			"picks the cheaper one.").
		Default("auto").EnumVar(&s.jobsReader, "auto", "list", "delta")

	app.Flag("slurm.url", "URL of the only slurmrestd to read, instead of those of Controllers and Clusters: "+
		"http://HOST:PORT, https://HOST:PORT or unix:///PATH.").StringVar(&s.url)
	app.Flag("cluster-namespace",
		"With --slurm.url: namespace of the Cluster or Controller that this slurmrestd belongs to.").
		StringVar(&s.namespace)
	app.Flag("cluster-name", "With --slurm.url: name of the Cluster or Controller that this slurmrestd belongs to. "+
		"The NodeSets "+
		"that refer to this object belong to the cluster. Without a name, all NodeSets of all namespaces do.").
		StringVar(&s.name)
	app.Flag("slurm.token-file", "With --slurm.url: file with the token (JWT). It is reloaded when it changes.").
		StringVar(&s.tokenFile)
	app.Flag("slurm.token-env",
		"With --slurm.url: environment variable with the token, used without --slurm.token-file and "+
			"--slurm.jwt-key-file.").Default("SLURM_JWT").StringVar(&s.tokenEnv)
	app.Flag("slurm.jwt-key-file",
		"With --slurm.url: file with slurmctld's HS256 key (jwt_hs256.key). Tokens are minted with it instead of read.").StringVar(&s.keyFile)
	app.Flag("slurm.user-name",
		"With --slurm.url: user to send as X-SLURM-USER-NAME. Not needed if the token contains a user.").
		StringVar(&s.userName)
	app.Flag("slurm.ca-file",
		"With --slurm.url: file with the CA certificates (PEM) that verify slurmrestd's certificate. Default: the "+
			"system's CAs.").StringVar(&s.caFile)
	app.Flag("slurm.cert-file", "With --slurm.url: file with a client certificate (PEM).").StringVar(&s.certFile)
	app.Flag("slurm.key-file", "With --slurm.url: file with the client certificate's key (PEM).").
		StringVar(&s.clientKey)
}

func (s *slurmOptions) check() error {
	clusterFlag := cmp.Or(s.tokenFile, s.keyFile, s.userName, s.caFile, s.certFile, s.clientKey, s.namespace, s.name)
	switch {
	case s.url == "" && clusterFlag != "":
		return errors.New("flags for one cluster need --slurm.url: the objects in Kubernetes configure the other " +
			"clusters")
	case (s.namespace == "") != (s.name == ""):
		return errors.New("--cluster-namespace and --cluster-name must be set together")
	case (s.certFile == "") != (s.clientKey == ""):
		return errors.New("a client certificate needs both --slurm.cert-file and --slurm.key-file")
	case s.period < time.Second || s.slow < time.Second || s.timeout < time.Second:
		return errors.New("the poll intervals and the timeout must be at least 1s")
	case s.lookInterval != 0 && s.lookInterval < time.Second:
		return errors.New("--slurm.look-interval must be 0 or at least 1s")
	case s.lifetime < time.Minute:
		return errors.New("--slurm.jwt-lifetime must be at least 1m")
	}
	return nil
}

// fixedCluster returns the only cluster, or nil if clusters are found by their objects.
func (s *slurmOptions) fixedCluster() *clusters.FixedCluster {
	if s.url == "" {
		return nil
	}
	return &clusters.FixedCluster{Namespace: s.namespace, Name: s.name}
}

// connect returns a client of the only cluster and its token source.
func (s *slurmOptions) connect(observer slurmclient.Observer) (*slurmclient.Client, slurmclient.TokenSource, error) {
	tlsConfig, err := s.tls()
	if err != nil {
		return nil, nil, err
	}
	token := s.token()
	client, err := slurmclient.New(slurmclient.Config{
		URL: s.url, Version: s.apiVersion, UserName: s.userName, Token: token,
		TLS: tlsConfig, Timeout: s.timeout, Observer: observer,
	})
	return client, token, err
}

// token returns the source of tokens, or nil if none is needed.
func (s *slurmOptions) token() slurmclient.TokenSource {
	switch {
	case s.keyFile != "":
		return slurmclient.TokenFromKeyFile(s.keyFile, s.user, s.lifetime)
	case s.tokenFile != "":
		return slurmclient.TokenFromFile(s.tokenFile)
	case os.Getenv(s.tokenEnv) == "" && strings.HasPrefix(s.url, "unix:"):
		return nil // slurmrestd may authenticate by the socket (rest_auth/local)
	}
	return slurmclient.TokenFromEnv(s.tokenEnv)
}

func (s *slurmOptions) tls() (*tls.Config, error) {
	if s.caFile == "" && s.certFile == "" {
		return nil, nil
	}
	cfg := &tls.Config{MinVersion: tls.VersionTLS12}
	if s.caFile != "" {
		pem, err := os.ReadFile(s.caFile)
		if err != nil {
			return nil, fmt.Errorf("reading --slurm.ca-file: %w", err)
		}
		cfg.RootCAs = x509.NewCertPool()
		if !cfg.RootCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("reading --slurm.ca-file: %s contains no PEM certificate", s.caFile)
		}
	}
	if s.certFile != "" {
		// Load it at every handshake, so that a renewed certificate is used.
		cfg.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
			pair, err := tls.LoadX509KeyPair(s.certFile, s.clientKey)
			return &pair, err
		}
	}
	return cfg, nil
}
