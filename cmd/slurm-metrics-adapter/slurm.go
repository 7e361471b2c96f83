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

	"github.com/spf13/pflag"

	"github.com/slurmtide/slurmtide/cmd/internal/flags"
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

func (s *slurmOptions) addFlags(set *pflag.FlagSet) {
	set.StringVar(&s.user, "slurm.user", "slurm", "User of the tokens that are minted with the keys of Controllers "+
		"or with --slurm.jwt-key-file.")
	set.DurationVar(&s.lifetime, "slurm.jwt-lifetime", 30*time.Minute,
		"Lifetime of minted tokens. They are renewed before they expire.")
	set.StringVar(&s.apiVersion, "slurm.api-version", "", "API version, such as v0.0.42. Default: the newest "+
		"version that each slurmrestd serves.")
	set.DurationVar(&s.timeout, "slurm.timeout", 30*time.Second,
		"Timeout of a request, or of one chunk of a long response.")
	set.DurationVar(&s.period, "slurm.poll-interval", 10*time.Second,
		"Interval between polls of nodes and jobs. Slow polls increase it automatically.")
	set.DurationVar(&s.lookInterval, "slurm.look-interval", time.Second,
		"Interval between checks for new jobs, which cost one cheap request each. New jobs trigger a poll at once. "+
			"0 disables the checks.")
	set.DurationVar(&s.slow, "slurm.slow-poll-interval", 5*time.Minute, "Interval between polls of shares and QOS.")
	flags.ChoiceVar(set, &s.jobsReader, "slurm.jobs-reader", "How jobs are read: list requests all jobs, delta "+
		"only the changed ones (for queues of thousands), auto picks the cheaper one.",
		"auto", "list", "delta")

	set.StringVar(&s.url, "slurm.url", "", "URL of the only slurmrestd to read, instead of those of Controllers "+
		"and Clusters: http://HOST:PORT, https://HOST:PORT or unix:///PATH.")
	set.StringVar(&s.namespace, "cluster-namespace", "", "With --slurm.url: namespace of the Cluster or Controller "+
		"that this slurmrestd belongs to.")
	set.StringVar(&s.name, "cluster-name", "", "With --slurm.url: name of the Cluster or Controller that this "+
		"slurmrestd belongs to. The NodeSets that refer to this object belong to the cluster. Without a name, all "+
		"NodeSets of all namespaces do.")
	set.StringVar(&s.tokenFile, "slurm.token-file", "", "With --slurm.url: file with the token (JWT). It is "+
		"reloaded when it changes.")
	set.StringVar(&s.tokenEnv, "slurm.token-env", "SLURM_JWT", "With --slurm.url: environment variable with the "+
		"token, used without --slurm.token-file and --slurm.jwt-key-file.")
	set.StringVar(&s.keyFile, "slurm.jwt-key-file", "", "With --slurm.url: file with slurmctld's HS256 key "+
		"(jwt_hs256.key). Tokens are minted with it instead of read.")
	set.StringVar(&s.userName, "slurm.user-name", "", "With --slurm.url: user to send as X-SLURM-USER-NAME. Not "+
		"needed if the token contains a user.")
	set.StringVar(&s.caFile, "slurm.ca-file", "", "With --slurm.url: file with the CA certificates (PEM) that "+
		"verify slurmrestd's certificate. Default: the system's CAs.")
	set.StringVar(&s.certFile, "slurm.cert-file", "", "With --slurm.url: file with a client certificate (PEM).")
	set.StringVar(&s.clientKey, "slurm.key-file", "", "With --slurm.url: file with the client certificate's key (PEM).")
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
