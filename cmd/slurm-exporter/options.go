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

// parseFlags reads the flags. --help and --version print and exit.
func parseFlags(args []string) (*options, error) {
	app, o := newApplication()
	if _, err := app.Parse(args); err != nil {
		return nil, err
	}
	return o, o.check()
}

// newApplication returns the program's flags and the options that they set.
func newApplication() (*kingpin.Application, *options) {
	o := &options{collectors: map[string]*bool{}}
	app := kingpin.New("slurm-exporter", description)
	app.Version(version.Print("slurm-exporter"))
	app.HelpFlag.Short('h')
	o.slurmFlags(app)
	o.pollFlags(app)
	o.metricFlags(app)
	o.web = kingpinflag.AddFlags(app, ":9341")
	app.Flag("log.level", "Minimum log level: debug, info, warn or error.").Default("info").
		EnumVar(&o.logLevel, "debug", "info", "warn", "error")
	app.Flag("log.format", "Log format: logfmt or json.").Default("logfmt").EnumVar(&o.logFormat, "logfmt", "json")
	return app, o
}

func (o *options) slurmFlags(app *kingpin.Application) {
	app.Flag("slurm.url", "URL of slurmrestd: http://HOST:PORT, https://HOST:PORT or unix:///PATH.").
		Envar("SLURM_URL").StringVar(&o.url)
	app.Flag("slurm.token-file", "File with the token (JWT). It is reloaded when it changes.").Envar("SLURM_JWT_FILE").
		StringVar(&o.tokenFile)
	app.Flag("slurm.token-env",
		"Environment variable with the token, used without --slurm.token-file and --slurm.jwt-key-file.").
		Default("SLURM_JWT").StringVar(&o.tokenEnv)
	app.Flag("slurm.jwt-key-file",
		"File with slurmctld's HS256 key (jwt_hs256.key). Tokens are minted with it instead of read.").
		StringVar(&o.keyFile)
	app.Flag("slurm.jwt-user", "User of the minted tokens.").Default("slurm").StringVar(&o.keyUser)
	app.Flag("slurm.jwt-lifetime", "Lifetime of minted tokens. They are renewed before they expire.").Default("30m").
		DurationVar(&o.keyLifetime)
	app.Flag("slurm.user-name", "User to send as X-SLURM-USER-NAME. Not needed if the token contains a user.").
		StringVar(&o.userName)
	app.Flag("slurm.api-version", "API version, such as v0.0.42. Default: the newest version that slurmrestd serves.").
		StringVar(&o.apiVersion)
	app.Flag("slurm.ca-file",
		"File with the CA certificates (PEM) that verify slurmrestd's certificate. Default: the system's CAs.").
		StringVar(&o.caFile)
	app.Flag("slurm.cert-file", "File with a client certificate (PEM).").StringVar(&o.certFile)
	app.Flag("slurm.key-file", "File with the client certificate's key (PEM).").StringVar(&o.clientKey)
	app.Flag("slurm.timeout", "Timeout of a request, or of one chunk of a long response.").Default("30s").
		DurationVar(&o.timeout)
	app.Flag("slurm.simulate", "Serve a simulated cluster that continuously runs jobs.").BoolVar(&o.simulate)
}

func (o *options) pollFlags(app *kingpin.Application) {
	app.Flag("slurm.poll-interval", "Interval between polls of nodes and jobs. Slow polls increase it automatically.").
		Default("10s").DurationVar(&o.period)
	app.Flag("slurm.slow-poll-interval", "Interval between polls of shares and QOS.").Default("5m").DurationVar(&o.slow)
	app.Flag("slurm.jobs-reader",
		"How jobs are read: list requests all jobs, delta only the changed ones (for queues of thousands), auto "+
			"picks the cheaper one.").
		Default("auto").EnumVar(&o.jobsReader, "auto", "list", "delta")
}

func (o *options) metricFlags(app *kingpin.Application) {
	for _, c := range collector.Native() {
		on := new(bool)
		o.collectors[c.Name] = on
		app.Flag("collector."+c.Name, "Serve "+c.Help+".").Default(fmt.Sprint(c.Default)).BoolVar(on)
	}
	var names []string
	for _, s := range collector.Sets() {
		names = append(names, string(s))
	}
	app.Flag("cluster", "Name of the Slurm cluster. Every metric gets it as the label cluster, by which dashboards "+
		"select a cluster.").PlaceHolder("NAME").StringVar(&o.cluster)
	app.Flag("compat", "Also serve the metric names of other exporters, separated by commas: "+strings.Join(names,
		", ")+". Each set is also available separately at METRICS_PATH/SET.").
		PlaceHolder("SET,…").SetValue((*setList)(&o.compat))
	app.Flag("limit.nodes", "Maximum number of nodes with their own series, by name. 0 means no limit.").Default("0").
		IntVar(&o.limits.Nodes)
	app.Flag("limit.users", "Maximum number of users with their own series, by number of jobs. The others are "+
		"summed. 0 means no limit.").Default("1000").IntVar(&o.limits.Users)
	app.Flag("limit.accounts",
		"Maximum number of accounts with their own series, by number of jobs. The others are summed. 0 means no limit.").Default("1000").IntVar(&o.limits.Accounts)
	app.Flag("web.telemetry-path", "Path of the metrics.").Default("/metrics").StringVar(&o.metricsPath)
	app.Flag("web.max-requests", "Maximum number of concurrent scrapes. 0 means no limit.").Default("40").
		IntVar(&o.maxRequests)
}

// setList is a repeatable flag value: comma-separated sets.
type setList []exposition.Set

func (l *setList) Set(text string) error {
	for name := range strings.SplitSeq(text, ",") {
		s := exposition.Set(strings.TrimSpace(name))
		if s == "" {
			continue
		}
		if !slices.Contains(collector.Sets(), s) {
			return fmt.Errorf("there is no set %q, only %v", s, collector.Sets())
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
