package main

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"
	"time"

	"github.com/prometheus/exporter-toolkit/web"
	"github.com/spf13/pflag"

	"github.com/slurmtide/slurmtide/cmd/internal/flags"
	"github.com/slurmtide/slurmtide/exporter"
	"github.com/slurmtide/slurmtide/exporter/collector"
	"github.com/slurmtide/slurmtide/exporter/exposition"
	"github.com/slurmtide/slurmtide/exporter/tally"
	"github.com/slurmtide/slurmtide/slurmclient"
)

// options are the flags.
type options struct {
	url, userName, apiVersion   string
	tokenFile, tokenEnv         string
	keyFile, keyUser            string
	keyLifetime                 time.Duration
	caFile, certFile, clientKey string
	timeout, period, slow       time.Duration
	jobsReader                  string
	simulate                    bool

	cluster     string
	collectors  map[string]*bool
	compat      []exposition.Set
	limits      tally.Limits
	metricsPath string
	maxRequests int
	web         *web.FlagConfig

	logLevel, logFormat string
}

const description = `Serves the metrics of a Slurm cluster to Prometheus.

It polls slurmrestd (API v0.0.40 to v0.0.45) and serves the last values: scrapes make no
requests to Slurm. When slurmrestd does not respond, the last values stay, slurm_up is 0
and slurm_exporter_snapshot_age_seconds grows.

  slurm-exporter --slurm.url=http://slurmrestd:6820 --slurm.token-file=/run/token
  slurm-exporter --slurm.simulate`

// parseFlags reads the flags. For --help and --version, which it prints, the error is
// flags.ErrPrinted.
func parseFlags(args []string) (*options, error) {
	program, o := newProgram()
	if err := program.Parse(args, os.Stdout); err != nil {
		return nil, err
	}
	return o, o.check()
}

// newProgram returns the program's flags and the options that they set.
func newProgram() (*flags.Program, *options) {
	o := &options{collectors: map[string]*bool{}}
	p := flags.New("slurm-exporter", description)
	o.slurmFlags(p.Group("Slurm"))
	o.pollFlags(p.Group("Slurm"))
	o.metricFlags(p.Group("Metrics"))
	o.webFlags(p.Group("HTTP server"))
	o.logFlags(p.Group("Logs"))
	return p, o
}

// webFlags adds the flags that all exporters have in common.
func (o *options) webFlags(set *pflag.FlagSet) {
	o.web = &web.FlagConfig{WebListenAddresses: new([]string), WebSystemdSocket: new(bool), WebConfigFile: new(string)}
	if runtime.GOOS == "linux" {
		set.BoolVar(o.web.WebSystemdSocket, "web.systemd-socket", false, "Use systemd socket activation listeners "+
			"instead of port listeners (Linux only).")
	}
	set.StringArrayVar(o.web.WebListenAddresses, "web.listen-address", []string{":9341"},
		"Addresses on which to expose metrics and web interface. Repeatable for multiple addresses. Examples: "+
			":9100 or [::1]:9100 for http, vsock://:9100 for vsock")
	set.StringVar(o.web.WebConfigFile, "web.config.file", "", "Path to configuration file that can enable TLS or "+
		"authentication. See: https://github.com/prometheus/exporter-toolkit/blob/master/docs/web-configuration.md")
}

func (o *options) logFlags(set *pflag.FlagSet) {
	flags.ChoiceVar(set, &o.logLevel, "log.level", "Minimum log level: debug, info, warn or error.",
		"info", "debug", "warn", "error")
	flags.ChoiceVar(set, &o.logFormat, "log.format", "Log format: logfmt or json.", "logfmt", "json")
}

func (o *options) slurmFlags(set *pflag.FlagSet) {
	set.StringVar(&o.url, "slurm.url", "", "URL of slurmrestd: http://HOST:PORT, https://HOST:PORT or unix:///PATH.")
	flags.BindEnvironment(set, "slurm.url", "SLURM_URL")
	set.StringVar(&o.tokenFile, "slurm.token-file", "", "File with the token (JWT). It is reloaded when it changes.")
	flags.BindEnvironment(set, "slurm.token-file", "SLURM_JWT_FILE")
	set.StringVar(&o.tokenEnv, "slurm.token-env", "SLURM_JWT", "Environment variable with the token, used without "+
		"--slurm.token-file and --slurm.jwt-key-file.")
	set.StringVar(&o.keyFile, "slurm.jwt-key-file", "", "File with slurmctld's HS256 key (jwt_hs256.key). Tokens "+
		"are minted with it instead of read.")
	set.StringVar(&o.keyUser, "slurm.jwt-user", "slurm", "User of the minted tokens.")
	set.DurationVar(&o.keyLifetime, "slurm.jwt-lifetime", 30*time.Minute,
		"Lifetime of minted tokens. They are renewed before they expire.")
	set.StringVar(&o.userName, "slurm.user-name", "", "User to send as X-SLURM-USER-NAME. Not needed if the token "+
		"contains a user.")
	set.StringVar(&o.apiVersion, "slurm.api-version", "", "API version, such as v0.0.42. Default: the newest "+
		"version that slurmrestd serves.")
	set.StringVar(&o.caFile, "slurm.ca-file", "", "File with the CA certificates (PEM) that verify slurmrestd's "+
		"certificate. Default: the system's CAs.")
	set.StringVar(&o.certFile, "slurm.cert-file", "", "File with a client certificate (PEM).")
	set.StringVar(&o.clientKey, "slurm.key-file", "", "File with the client certificate's key (PEM).")
	set.DurationVar(&o.timeout, "slurm.timeout", 30*time.Second,
		"Timeout of a request, or of one chunk of a long response.")
	set.BoolVar(&o.simulate, "slurm.simulate", false, "Serve a simulated cluster that continuously runs jobs.")
}

func (o *options) pollFlags(set *pflag.FlagSet) {
	set.DurationVar(&o.period, "slurm.poll-interval", 10*time.Second,
		"Interval between polls of nodes and jobs. Slow polls increase it automatically.")
	set.DurationVar(&o.slow, "slurm.slow-poll-interval", 5*time.Minute, "Interval between polls of shares and QOS.")
	flags.ChoiceVar(set, &o.jobsReader, "slurm.jobs-reader", "How jobs are read: list requests all jobs, delta "+
		"only the changed ones (for queues of thousands), auto picks the cheaper one.",
		"auto", "list", "delta")
}

func (o *options) metricFlags(set *pflag.FlagSet) {
	for _, c := range collector.Native() {
		on := new(bool)
		o.collectors[c.Name] = on
		set.BoolVar(on, "collector."+c.Name, c.Default, "Serve "+c.Help+".")
	}
	set.StringVar(&o.cluster, "cluster", "", "Name of the Slurm cluster. Every metric gets it as the label "+
		"cluster, by which dashboards select a cluster.")
	flags.ListVar(set, &o.compat, "compat", "set",
		"Also serve the metric names of other exporters, separated by commas: "+flags.JoinNames(collector.Sets())+
			". Each set is also available separately at METRICS_PATH/SET.", collector.Sets()...)
	set.IntVar(&o.limits.Nodes, "limit.nodes", 0, "Maximum number of nodes with their own series, by name. 0 means "+
		"no limit.")
	set.IntVar(&o.limits.Users, "limit.users", 1000, "Maximum number of users with their own series, by number of "+
		"jobs. The others are summed. 0 means no limit.")
	set.IntVar(&o.limits.Accounts, "limit.accounts", 1000, "Maximum number of accounts with their own series, by "+
		"number of jobs. The others are summed. 0 means no limit.")
	set.StringVar(&o.metricsPath, "web.telemetry-path", "/metrics", "Path of the metrics.")
	set.IntVar(&o.maxRequests, "web.max-requests", 40, "Maximum number of concurrent scrapes. 0 means no limit.")
}

func (o *options) check() error {
	switch {
	case o.simulate && (o.url != "" && !o.fromEnvironment() || o.keyFile != ""):
		return errors.New("--slurm.simulate cannot be combined with --slurm.url or --slurm.jwt-key-file")
	case !o.simulate && o.url == "":
		return errors.New("no slurmrestd is configured: give --slurm.url=http://HOST:6820, or --slurm.simulate for " +
			"a simulated cluster")
	case (o.certFile == "") != (o.clientKey == ""):
		return errors.New("a client certificate needs both --slurm.cert-file and --slurm.key-file")
	case o.period < time.Second || o.slow < time.Second || o.timeout < time.Second:
		return errors.New("the poll intervals and the timeout must be at least 1s")
	}
	return nil
}

// fromEnvironment reports whether the URL comes from SLURM_URL.
func (o *options) fromEnvironment() bool { return o.url == os.Getenv("SLURM_URL") }

// token returns the source of tokens, or nil if none is needed. The error says how to configure
// one.
func (o *options) token() (slurmclient.TokenSource, error) {
	var source slurmclient.TokenSource
	var how string
	switch {
	case o.simulate:
		return slurmclient.TokenFromKey([]byte("a simulated cluster takes any token"), "root", time.Hour, time.Now), nil
	case o.keyFile != "":
		source, how = slurmclient.TokenFromKeyFile(o.keyFile, o.keyUser, o.keyLifetime), "check --slurm.jwt-key-file"
	case o.tokenFile != "":
		source, how = slurmclient.TokenFromFile(o.tokenFile), "check --slurm.token-file"
	case os.Getenv(o.tokenEnv) != "":
		source, how = slurmclient.TokenFromEnv(o.tokenEnv), "check "+o.tokenEnv
	case strings.HasPrefix(o.url, "unix:"):
		return nil, nil // slurmrestd may authenticate by the socket (rest_auth/local)
	default:
		return nil, fmt.Errorf("there is no token: give --slurm.token-file (scontrol token username=slurm "+
			"lifespan=… creates one), --slurm.jwt-key-file, or set %s", o.tokenEnv)
	}
	if _, err := source.Token(); err != nil {
		return nil, fmt.Errorf("there is no usable token: %w (%s)", err, how)
	}
	return source, nil
}

func (o *options) client(token slurmclient.TokenSource, observer slurmclient.Observer) (*slurmclient.Client, error) {
	tlsConfig, err := o.tls()
	if err != nil {
		return nil, err
	}
	return slurmclient.New(slurmclient.Config{
		URL: o.url, Version: o.apiVersion, UserName: o.userName, Token: token,
		TLS: tlsConfig, Timeout: o.timeout, Observer: observer,
	})
}

func (o *options) tls() (*tls.Config, error) {
	if o.caFile == "" && o.certFile == "" {
		return nil, nil
	}
	cfg := &tls.Config{MinVersion: tls.VersionTLS12}
	if o.caFile != "" {
		pem, err := os.ReadFile(o.caFile)
		if err != nil {
			return nil, fmt.Errorf("reading --slurm.ca-file: %w", err)
		}
		cfg.RootCAs = x509.NewCertPool()
		if !cfg.RootCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("reading --slurm.ca-file: %s contains no PEM certificate", o.caFile)
		}
	}
	if o.certFile != "" {
		if _, err := tls.LoadX509KeyPair(o.certFile, o.clientKey); err != nil {
			return nil, fmt.Errorf("reading --slurm.cert-file and --slurm.key-file: %w", err)
		}
		// Load it at every handshake, so that a renewed certificate is used.
		cfg.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
			pair, err := tls.LoadX509KeyPair(o.certFile, o.clientKey)
			return &pair, err
		}
	}
	return cfg, nil
}

func (o *options) cacheConfig(
	resources []slurmclient.Resource, progress func(slurmclient.Resource, int, int),
) slurmclient.CacheConfig {
	return slurmclient.CacheConfig{
		Period: o.period, Slow: o.slow, JobsReader: slurmclient.JobsReader(o.jobsReader), Resources: resources,
		Progress: progress,
	}
}

func (o *options) exporterConfig(requests *exporter.ClientMetrics, token slurmclient.TokenSource) exporter.Config {
	cfg := exporter.Config{
		Collectors: map[string]bool{}, Compat: o.compat, Limits: o.limits, ClientMetrics: requests,
		MaxScrapes: o.maxRequests,
	}
	for name, on := range o.collectors {
		cfg.Collectors[name] = *on
	}
	if o.cluster != "" {
		cfg.Labels = map[string]string{"cluster": o.cluster}
	}
	if token != nil {
		cfg.TokenExpiry = token.Expiry
	}
	return cfg
}
