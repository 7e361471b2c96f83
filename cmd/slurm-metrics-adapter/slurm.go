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

// slurmOptions say how Slurm is read.
type slurmOptions struct {
	user, apiVersion      string
	lifetime              time.Duration
	timeout, period, slow time.Duration
	look                  time.Duration
	jobsReader            string

	// One cluster instead of those that are found.
	url, userName               string
	tokenFile, tokenEnv         string
	keyFile                     string
	caFile, certFile, clientKey string
	namespace, name             string
}

func (s *slurmOptions) flags(app *kingpin.Application) {
	app.Flag("slurm.user", "User to mint tokens for, with the keys of Controllers or with --slurm.jwt-key-file.").Default("slurm").StringVar(&s.user)
	app.Flag("slurm.jwt-lifetime", "Lifetime of minted tokens; they are renewed before it ends.").Default("30m").DurationVar(&s.lifetime)
	app.Flag("slurm.api-version", "API version to use, such as v0.0.42, instead of the newest that each slurmrestd serves.").StringVar(&s.apiVersion)
	app.Flag("slurm.timeout", "Time that one request may take, or one chunk of a long answer.").Default("30s").DurationVar(&s.timeout)
	app.Flag("slurm.poll-interval", "Pause between polls of nodes and jobs; it grows by itself where a poll takes long.").Default("10s").DurationVar(&s.period)
	app.Flag("slurm.look-interval", "Pause between looks for new jobs, one cheap request each; jobs are polled at once when there are some. 0 leaves new jobs to the next poll.").Default("1s").DurationVar(&s.look)
	app.Flag("slurm.slow-poll-interval", "Pause between polls of shares and QOS.").Default("5m").DurationVar(&s.slow)
	app.Flag("slurm.jobs-reader", "How jobs are read: list asks for all of them, delta for what changed (for queues of thousands), auto takes what costs less.").
		Default("auto").EnumVar(&s.jobsReader, "auto", "list", "delta")

	app.Flag("slurm.url", "URL of the one slurmrestd to read, instead of those of Controllers and Clusters: http://HOST:PORT, https://HOST:PORT or unix:///PATH.").StringVar(&s.url)
	app.Flag("cluster-namespace", "With --slurm.url: namespace of the Cluster or Controller that it stands for.").StringVar(&s.namespace)
	app.Flag("cluster-name", "With --slurm.url: name of the Cluster or Controller that it stands for; NodeSets that name it are its own. Without it every NodeSet of every namespace is.").StringVar(&s.name)
	app.Flag("slurm.token-file", "With --slurm.url: file with the token (JWT); it is read again when it changes.").StringVar(&s.tokenFile)
	app.Flag("slurm.token-env", "With --slurm.url: environment variable with the token, used when there is no --slurm.token-file or --slurm.jwt-key-file.").Default("SLURM_JWT").StringVar(&s.tokenEnv)
	app.Flag("slurm.jwt-key-file", "With --slurm.url: file with slurmctld's HS256 key (jwt_hs256.key), to mint tokens from instead of reading one.").StringVar(&s.keyFile)
	app.Flag("slurm.user-name", "With --slurm.url: user to send as X-SLURM-USER-NAME; not needed when the token names one.").StringVar(&s.userName)
	app.Flag("slurm.ca-file", "With --slurm.url: file with the certificates (PEM) that slurmrestd's is verified with, instead of the system's.").StringVar(&s.caFile)
	app.Flag("slurm.cert-file", "With --slurm.url: file with a client certificate (PEM).").StringVar(&s.certFile)
	app.Flag("slurm.key-file", "With --slurm.url: file with the client certificate's key (PEM).").StringVar(&s.clientKey)
}

func (s *slurmOptions) check() error {
	alone := cmp.Or(s.tokenFile, s.keyFile, s.userName, s.caFile, s.certFile, s.clientKey, s.namespace, s.name)
	switch {
	case s.url == "" && alone != "":
		return errors.New("flags for one cluster need --slurm.url: found clusters have theirs in their objects")
	case (s.namespace == "") != (s.name == ""):
		return errors.New("--cluster-namespace and --cluster-name go together")
	case (s.certFile == "") != (s.clientKey == ""):
		return errors.New("a client certificate needs both --slurm.cert-file and --slurm.key-file")
	case s.period < time.Second || s.slow < time.Second || s.timeout < time.Second:
		return errors.New("the poll intervals and the timeout must be at least 1s")
	case s.look != 0 && s.look < time.Second:
		return errors.New("--slurm.look-interval must be 0 or at least 1s")
	case s.lifetime < time.Minute:
		return errors.New("--slurm.jwt-lifetime must be at least 1m")
	}
	return nil
}

// fixed is the one cluster, nil where clusters are found.
func (s *slurmOptions) fixed() *clusters.Fixed {
	if s.url == "" {
		return nil
	}
	return &clusters.Fixed{Namespace: s.namespace, Name: s.name}
}

// connect makes the client of the one cluster.
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

// token is where tokens come from, nil where none is needed.
func (s *slurmOptions) token() slurmclient.TokenSource {
	switch {
	case s.keyFile != "":
		return slurmclient.TokenFromKeyFile(s.keyFile, s.user, s.lifetime)
	case s.tokenFile != "":
		return slurmclient.TokenFromFile(s.tokenFile)
	case os.Getenv(s.tokenEnv) == "" && strings.HasPrefix(s.url, "unix:"):
		return nil // slurmrestd may know the user by the socket (rest_auth/local)
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
			return nil, fmt.Errorf("reading --slurm.ca-file: %s holds no certificate in PEM", s.caFile)
		}
	}
	if s.certFile != "" {
		// Read at every handshake, so that a renewed certificate is used.
		cfg.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
			pair, err := tls.LoadX509KeyPair(s.certFile, s.clientKey)
			return &pair, err
		}
	}
	return cfg, nil
}
