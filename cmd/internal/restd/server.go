// Package restd has the flags and connections that the programs share when they read a slurmrestd.
package restd

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/slurmtide/slurmtide/cmd/internal/flags"
	"github.com/slurmtide/slurmtide/slurmclient"
)

// Server is a slurmrestd that flags name: its address, and how it is authenticated on both sides.
type Server struct {
	URL, UserName                 string
	TokenFile, TokenEnv, KeyFile  string
	CAFile, CertFile, CertKeyFile string
}

// AddFlags adds the flags of the server. when is the condition under which they are used, such as
// "With --slurm.url: ", or empty.
func (s *Server) AddFlags(set *pflag.FlagSet, urlUsage, when string) {
	text := func(usage string) string {
		if when == "" {
			return usage
		}
		return when + strings.ToLower(usage[:1]) + usage[1:]
	}
	set.StringVar(&s.URL, "slurm.url", "", urlUsage+": http://HOST:PORT, https://HOST:PORT or unix:///PATH.")
	set.StringVar(&s.TokenFile, "slurm.token-file", "",
		text("File with the token (JWT). It is reloaded when it changes."))
	set.StringVar(&s.TokenEnv, "slurm.token-env", "SLURM_JWT",
		text("Environment variable with the token, used without --slurm.token-file and --slurm.jwt-key-file."))
	set.StringVar(&s.KeyFile, "slurm.jwt-key-file", "",
		text("File with slurmctld's HS256 key (jwt_hs256.key). Tokens are minted with it instead of read."))
	set.StringVar(&s.UserName, "slurm.user-name", "",
		text("User to send as X-SLURM-USER-NAME. Not needed if the token contains a user."))
	set.StringVar(&s.CAFile, "slurm.ca-file", "", text("File with the CA certificates (PEM) that verify slurmrestd's "+
		"certificate. Default: the system's CAs."))
	set.StringVar(&s.CertFile, "slurm.cert-file", "", text("File with a client certificate (PEM)."))
	set.StringVar(&s.CertKeyFile, "slurm.key-file", "", text("File with the client certificate's key (PEM)."))
}

// Check returns an error if the flags contradict each other. It reads no file.
func (s *Server) Check() error {
	if (s.CertFile == "") != (s.CertKeyFile == "") {
		return errors.New("a client certificate needs both --slurm.cert-file and --slurm.key-file")
	}
	return nil
}

// Token returns the source of tokens, or nil if the server may need no token. It mints tokens for user that are valid
// for lifetime. If a token is missing or unusable, the error names the flags that configure one.
func (s *Server) Token(user string, lifetime time.Duration) (slurmclient.TokenSource, error) {
	var source slurmclient.TokenSource
	var how string
	switch {
	case s.KeyFile != "":
		source, how = slurmclient.TokenFromKeyFile(s.KeyFile, user, lifetime), "check --slurm.jwt-key-file"
	case s.TokenFile != "":
		source, how = slurmclient.TokenFromFile(s.TokenFile), "check --slurm.token-file"
	case os.Getenv(s.TokenEnv) != "":
		source, how = slurmclient.TokenFromEnv(s.TokenEnv), "check "+s.TokenEnv
	case strings.HasPrefix(s.URL, "unix:"):
		return nil, nil // slurmrestd may authenticate by the socket (rest_auth/local)
	default:
		return nil, fmt.Errorf("there is no token: give --slurm.token-file (scontrol token username=USER "+
			"lifespan=… creates one; an ordinary user is enough to read), --slurm.jwt-key-file, or set %s", s.TokenEnv)
	}
	if _, err := source.Token(); err != nil {
		return nil, fmt.Errorf("there is no usable token: %w (%s)", err, how)
	}
	return source, nil
}

// NewClient returns a client of the server. It reads the certificates, and sends no request.
func (s *Server) NewClient(p Polling, token slurmclient.TokenSource, observer slurmclient.Observer) (
	*slurmclient.Client, error) {
	tlsConfig, err := s.tlsConfig()
	if err != nil {
		return nil, err
	}
	return slurmclient.New(slurmclient.Config{
		URL: s.URL, Version: p.APIVersion, UserName: s.UserName, Token: token,
		TLS: tlsConfig, Timeout: p.Timeout, Observer: observer,
	})
}

func (s *Server) tlsConfig() (*tls.Config, error) {
	if s.CAFile == "" && s.CertFile == "" {
		return nil, nil
	}
	cfg := &tls.Config{MinVersion: tls.VersionTLS12}
	if s.CAFile != "" {
		pem, err := os.ReadFile(s.CAFile)
		if err != nil {
			return nil, fmt.Errorf("reading --slurm.ca-file: %w", err)
		}
		cfg.RootCAs = x509.NewCertPool()
		if !cfg.RootCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("reading --slurm.ca-file: %s contains no PEM certificate", s.CAFile)
		}
	}
	if s.CertFile != "" {
		if _, err := tls.LoadX509KeyPair(s.CertFile, s.CertKeyFile); err != nil {
			return nil, fmt.Errorf("reading --slurm.cert-file and --slurm.key-file: %w", err)
		}
		// Load it at every handshake, so that a renewed certificate is used.
		cfg.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
			pair, err := tls.LoadX509KeyPair(s.CertFile, s.CertKeyFile)
			return &pair, err
		}
	}
	return cfg, nil
}

// Polling is how a slurmrestd is read.
type Polling struct {
	APIVersion string
	// Lifetime is how long minted tokens are valid.
	Lifetime time.Duration
	// Timeout is the timeout of a request, or of one chunk of a long response.
	Timeout time.Duration
	// Period is the interval between polls of nodes and jobs, and Slow the interval between polls of shares and QOS. 0
	// means the default.
	Period, Slow time.Duration
	JobsReader   string
}

// AddFlags adds the flags for reading slurmrestd. each is "slurmrestd", or "each slurmrestd" for a program that reads
// several.
func (p *Polling) AddFlags(set *pflag.FlagSet, each string) {
	set.DurationVar(&p.Lifetime, "slurm.jwt-lifetime", 30*time.Minute,
		"Lifetime of minted tokens. They are renewed before they expire.")
	set.StringVar(&p.APIVersion, "slurm.api-version", "", "API version, such as v0.0.42. Default: the newest "+
		"version that "+each+" serves.")
	set.DurationVar(&p.Timeout, "slurm.timeout", 30*time.Second,
		"Timeout of a request, or of one chunk of a long response.")
	set.DurationVar(&p.Period, "slurm.poll-interval", 10*time.Second,
		"Interval between polls of nodes and jobs. Slow polls increase it automatically.")
	flags.ChoiceVar(set, &p.JobsReader, "slurm.jobs-reader", "How jobs are read: list requests all jobs, delta "+
		"only the changed ones (for queues of thousands), auto picks the cheaper one.",
		"auto", "list", "delta")
}

// AddSlowFlag adds the flag of Slow, for programs that read shares or QOS.
func (p *Polling) AddSlowFlag(set *pflag.FlagSet) {
	set.DurationVar(&p.Slow, "slurm.slow-poll-interval", 5*time.Minute, "Interval between polls of shares and QOS.")
}

// Check returns an error if an interval or the timeout is shorter than least, or if the lifetime is shorter than a
// minute.
func (p *Polling) Check(least time.Duration) error {
	switch {
	case p.Period < least || p.Slow != 0 && p.Slow < least || p.Timeout < least:
		return fmt.Errorf("the poll intervals and the timeout must be at least %s", least)
	case p.Lifetime < time.Minute:
		return errors.New("--slurm.jwt-lifetime must be at least 1m")
	}
	return nil
}

// CacheConfig returns the configuration of a cache that polls so.
func (p *Polling) CacheConfig() slurmclient.CacheConfig {
	return slurmclient.CacheConfig{Period: p.Period, Slow: p.Slow, JobsReader: slurmclient.JobsReader(p.JobsReader)}
}
