package main

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/alecthomas/kingpin/v2"
	"github.com/prometheus/common/version"
	"github.com/prometheus/exporter-toolkit/web"
	"github.com/prometheus/exporter-toolkit/web/kingpinflag"

	"github.com/slurmtide/slurmtide/exporter"
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
	compat      []exporter.Set
	limits      exporter.Limits
	metricsPath string
	maxRequests int
	web         *web.FlagConfig

	logLevel, logFormat string
}

const description = `Serves the metrics of a Slurm cluster to Prometheus.

It polls slurmrestd (API v0.0.40 to v0.0.45) and keeps what it last read: a scrape
touches no network, and when slurmrestd does not answer the last values stay,
slurm_up is 0 and slurm_exporter_snapshot_age_seconds grows.

  slurm-exporter --slurm.url=http://slurmrestd:6820 --slurm.token-file=/run/token
  slurm-exporter --slurm.simulate`

// parse reads the flags. --help and --version print and exit.
func parse(args []string) (*options, error) {
	app, o := application()
	if _, err := app.Parse(args); err != nil {
		return nil, err
	}
	return o, o.check()
}

// application returns the program's flags, and what they write to.
func application() (*kingpin.Application, *options) {
	o := &options{collectors: map[string]*bool{}}
	app := kingpin.New("slurm-exporter", description)
	app.Version(version.Print("slurm-exporter"))
	app.HelpFlag.Short('h')
	o.slurmFlags(app)
	o.pollFlags(app)
	o.metricFlags(app)
	o.web = kingpinflag.AddFlags(app, ":9341")
	app.Flag("log.level", "Least important level to log: debug, info, warn or error.").Default("info").EnumVar(&o.logLevel, "debug", "info", "warn", "error")
	app.Flag("log.format", "Format of the log: logfmt or json.").Default("logfmt").EnumVar(&o.logFormat, "logfmt", "json")
	return app, o
}

func (o *options) slurmFlags(app *kingpin.Application) {
	app.Flag("slurm.url", "URL of slurmrestd: http://HOST:PORT, https://HOST:PORT or unix:///PATH.").Envar("SLURM_URL").StringVar(&o.url)
	app.Flag("slurm.token-file", "File with the token (JWT); it is read again when it changes.").Envar("SLURM_JWT_FILE").StringVar(&o.tokenFile)
	app.Flag("slurm.token-env", "Environment variable with the token, used when there is no --slurm.token-file or --slurm.jwt-key-file.").Default("SLURM_JWT").StringVar(&o.tokenEnv)
	app.Flag("slurm.jwt-key-file", "File with slurmctld's HS256 key (jwt_hs256.key), to mint tokens from instead of reading one.").StringVar(&o.keyFile)
	app.Flag("slurm.jwt-user", "User to mint tokens for.").Default("slurm").StringVar(&o.keyUser)
	app.Flag("slurm.jwt-lifetime", "Lifetime of minted tokens; they are renewed before it ends.").Default("30m").DurationVar(&o.keyLifetime)
	app.Flag("slurm.user-name", "User to send as X-SLURM-USER-NAME; not needed when the token names one.").StringVar(&o.userName)
	app.Flag("slurm.api-version", "API version to use, such as v0.0.42, instead of the newest that slurmrestd serves.").StringVar(&o.apiVersion)
	app.Flag("slurm.ca-file", "File with the certificates (PEM) that slurmrestd's is verified with, instead of the system's.").StringVar(&o.caFile)
	app.Flag("slurm.cert-file", "File with a client certificate (PEM).").StringVar(&o.certFile)
	app.Flag("slurm.key-file", "File with the client certificate's key (PEM).").StringVar(&o.clientKey)
	app.Flag("slurm.timeout", "Time that one request may take, or one chunk of a long answer.").Default("30s").DurationVar(&o.timeout)
	app.Flag("slurm.simulate", "Show a simulated cluster that keeps running jobs, instead of a real one.").BoolVar(&o.simulate)
}

func (o *options) pollFlags(app *kingpin.Application) {
	app.Flag("slurm.poll-interval", "Pause between polls of nodes and jobs; it grows by itself where a poll takes long.").Default("10s").DurationVar(&o.period)
	app.Flag("slurm.slow-poll-interval", "Pause between polls of shares and QOS.").Default("5m").DurationVar(&o.slow)
	app.Flag("slurm.jobs-reader", "How jobs are read: list asks for all of them, delta for what changed (for queues of thousands), auto takes what costs less.").
		Default("auto").EnumVar(&o.jobsReader, "auto", "list", "delta")
}

func (o *options) metricFlags(app *kingpin.Application) {
	for _, c := range exporter.Collectors() {
		on := new(bool)
		o.collectors[c.Name] = on
		app.Flag("collector."+c.Name, "Show "+c.Help+".").Default(fmt.Sprint(c.Default)).BoolVar(on)
	}
	var names []string
	for _, s := range exporter.Sets() {
		names = append(names, string(s))
	}
	app.Flag("cluster", "Name of the Slurm cluster, for a label cluster of every metric: dashboards choose by it where one Prometheus has several clusters.").PlaceHolder("NAME").StringVar(&o.cluster)
	app.Flag("compat", "Also show the names of other exporters, separated by commas: "+strings.Join(names, ", ")+". Each is also served alone under its name below the metrics path.").
		PlaceHolder("SET,…").SetValue((*setList)(&o.compat))
	app.Flag("limit.nodes", "Nodes that have series of their own, by name; 0 for all.").Default("0").IntVar(&o.limits.Nodes)
	app.Flag("limit.users", "Users that have series of their own, by number of jobs; the rest is added up. 0 for all.").Default("1000").IntVar(&o.limits.Users)
	app.Flag("limit.accounts", "Accounts that have series of their own, by number of jobs; the rest is added up. 0 for all.").Default("1000").IntVar(&o.limits.Accounts)
	app.Flag("web.telemetry-path", "Path of the metrics.").Default("/metrics").StringVar(&o.metricsPath)
	app.Flag("web.max-requests", "Scrapes that are served at a time; 0 for any number.").Default("40").IntVar(&o.maxRequests)
}

// setList is a flag value: sets separated by commas, repeatable.
type setList []exporter.Set

func (l *setList) Set(text string) error {
	for name := range strings.SplitSeq(text, ",") {
		s := exporter.Set(strings.TrimSpace(name))
		if s == "" {
			continue
		}
		if !slices.Contains(exporter.Sets(), s) {
			return fmt.Errorf("there is no set %q, only %v", s, exporter.Sets())
		}
		if !slices.Contains(*l, s) {
			*l = append(*l, s)
		}
	}
	return nil
}

func (l *setList) String() string { return fmt.Sprint(*l) }

func (l *setList) IsCumulative() bool { return true }

func (o *options) check() error {
	switch {
	case o.simulate && (o.url != "" && !o.fromEnvironment() || o.keyFile != ""):
		return errors.New("--slurm.simulate can not be used with --slurm.url or --slurm.jwt-key-file")
	case !o.simulate && o.url == "":
		return errors.New("there is no slurmrestd to read: give --slurm.url=http://HOST:6820, or --slurm.simulate for a simulated cluster")
	case (o.certFile == "") != (o.clientKey == ""):
		return errors.New("a client certificate needs both --slurm.cert-file and --slurm.key-file")
	case o.period < time.Second || o.slow < time.Second || o.timeout < time.Second:
		return errors.New("the poll intervals and the timeout must be at least 1s")
	}
	return nil
}

// fromEnvironment reports that the URL was not given as a flag.
func (o *options) fromEnvironment() bool { return o.url == os.Getenv("SLURM_URL") }

// token returns where tokens come from, nil where none is needed, or an error
// that says how to give one.
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
		return nil, nil // slurmrestd may know the user by the socket (rest_auth/local)
	default:
		return nil, fmt.Errorf("there is no token: give --slurm.token-file (scontrol token username=slurm lifespan=… makes one), --slurm.jwt-key-file, or set %s", o.tokenEnv)
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
			return nil, fmt.Errorf("reading --slurm.ca-file: %s holds no certificate in PEM", o.caFile)
		}
	}
	if o.certFile != "" {
		if _, err := tls.LoadX509KeyPair(o.certFile, o.clientKey); err != nil {
			return nil, fmt.Errorf("reading --slurm.cert-file and --slurm.key-file: %w", err)
		}
		// Read at every handshake, so that a renewed certificate is used.
		cfg.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
			pair, err := tls.LoadX509KeyPair(o.certFile, o.clientKey)
			return &pair, err
		}
	}
	return cfg, nil
}

func (o *options) cacheConfig(resources []slurmclient.Resource, progress func(slurmclient.Resource, int, int)) slurmclient.CacheConfig {
	return slurmclient.CacheConfig{
		Period: o.period, Slow: o.slow, JobsReader: slurmclient.JobsReader(o.jobsReader), Resources: resources,
		Progress: progress,
	}
}

func (o *options) exporterConfig(requests *exporter.Requests, token slurmclient.TokenSource) exporter.Config {
	cfg := exporter.Config{
		Collectors: map[string]bool{}, Compat: o.compat, Limits: o.limits, Requests: requests, MaxScrapes: o.maxRequests,
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
