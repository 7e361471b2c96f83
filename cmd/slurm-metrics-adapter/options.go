package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/alecthomas/kingpin/v2"
	"github.com/prometheus/common/version"
	liboptions "sigs.k8s.io/custom-metrics-apiserver/pkg/cmd/options"

	"github.com/slurmtide/slurmtide/exporter"
	"github.com/slurmtide/slurmtide/metricsapi"
)

// options are the flags.
type options struct {
	kubeConfig string
	kubeQPS    float32
	kubeBurst  int

	slurm slurmOptions
	view  viewOptions

	maxAge        time.Duration
	external      bool
	pools         metricsapi.PoolDefaults
	library       *liboptions.CustomMetricsAdapterServerOptions
	shutdownDelay time.Duration

	certSecret, certService, certNamespace string

	metricsAddresses []string
	metricsConfig    string
	metricsPath      string
	maxScrapes       int
	collectors       map[string]*bool
	compat           []exporter.Set
	limits           exporter.Limits

	logLevel, logFormat string
}

const description = `Answers custom.metrics.k8s.io from Slurm's queue, so that a stock
HorizontalPodAutoscaler scales NodeSets to and from zero, and serves the metrics of
the same snapshots to Prometheus.

It finds Slurm clusters by the Controller and Cluster objects in Kubernetes, or
reads the one that --slurm.url names. What could not be read for longer than
--metrics-max-age is an error to an HPA, never a number.

  slurm-metrics-adapter
  slurm-metrics-adapter --slurm.url=http://slurmrestd:6820 --slurm.token-file=/run/token`

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
	app := kingpin.New("slurm-metrics-adapter", description)
	app.Version(version.Print("slurm-metrics-adapter"))
	app.HelpFlag.Short('h')
	o.metricsAPIFlags(app)
	o.slurm.flags(app)
	o.view.flags(app)
	o.kubeFlags(app)
	o.certificateFlags(app)
	o.libraryFlags(app)
	o.expositionFlags(app)
	app.Flag("log.level", "Least important level to log: debug, info, warn or error.").Default("info").EnumVar(&o.logLevel, "debug", "info", "warn", "error")
	app.Flag("log.format", "Format of the log: logfmt or json.").Default("logfmt").EnumVar(&o.logFormat, "logfmt", "json")
	return app, o
}

func (o *options) metricsAPIFlags(app *kingpin.Application) {
	app.Flag("metrics-max-age", "Age from which on what was read from Slurm is an error instead of a number.").Default(metricsapi.DefaultMaxAge.String()).DurationVar(&o.maxAge)
	app.Flag("external-metrics", "Also serve external.metrics.k8s.io, which only one adapter of a Kubernetes cluster can.").BoolVar(&o.external)
	app.Flag("idle-grace", "How long idle nodes count as required, where a NodeSet's annotation does not say.").Default("0s").DurationVar(&o.pools.IdleGrace)
	app.Flag("reservation-lead", "How long before a reservation starts its nodes count as busy.").Default("5m").DurationVar(&o.pools.Lead)
}

func (o *options) kubeFlags(app *kingpin.Application) {
	app.Flag("kube.config", "kubeconfig to reach Kubernetes by, instead of KUBECONFIG or, in a pod, its service account.").StringVar(&o.kubeConfig)
	app.Flag("kube.qps", "Requests to Kubernetes per second, on average.").Default("50").Float32Var(&o.kubeQPS)
	app.Flag("kube.burst", "Requests to Kubernetes at once.").Default("100").IntVar(&o.kubeBurst)
}

func (o *options) certificateFlags(app *kingpin.Application) {
	app.Flag("certificate.secret", "Secret to keep the self-made CA and certificate in, shared by all replicas; they are made without --tls-cert-file.").Default("slurm-metrics-adapter-certificate").StringVar(&o.certSecret)
	app.Flag("certificate.service", "Service by which the API server reaches the adapter; the certificate is for its name, and APIServices that lead to it are given the CA.").Default("slurm-metrics-adapter").StringVar(&o.certService)
	app.Flag("certificate.namespace", "Namespace of both; the pod's own without it.").StringVar(&o.certNamespace)
}

func (o *options) expositionFlags(app *kingpin.Application) {
	app.Flag("metrics.listen-address", "Address of /metrics for Prometheus; repeatable.").Default(":9341").StringsVar(&o.metricsAddresses)
	app.Flag("metrics.config-file", "File that enables TLS and authentication of /metrics, as for exporters (web.config.file).").StringVar(&o.metricsConfig)
	app.Flag("metrics.telemetry-path", "Path of the metrics.").Default("/metrics").StringVar(&o.metricsPath)
	app.Flag("metrics.max-requests", "Scrapes that are served at a time; 0 for any number.").Default("40").IntVar(&o.maxScrapes)
	for _, c := range exporter.Collectors() {
		on := new(bool)
		o.collectors[c.Name] = on
		app.Flag("collector."+c.Name, "Show "+c.Help+".").Default(fmt.Sprint(c.Default)).BoolVar(on)
	}
	var names []string
	for _, s := range exporter.Sets() {
		names = append(names, string(s))
	}
	app.Flag("compat", "Also show the names of other exporters, separated by commas: "+strings.Join(names, ", ")+". Each is also served alone under its name below the metrics path.").
		PlaceHolder("SET,…").SetValue((*setList)(&o.compat))
	app.Flag("limit.nodes", "Nodes of a cluster that have series of their own, by name; 0 for all.").Default("0").IntVar(&o.limits.Nodes)
	app.Flag("limit.users", "Users of a cluster that have series of their own, by number of jobs; the rest is added up. 0 for all.").Default("1000").IntVar(&o.limits.Users)
	app.Flag("limit.accounts", "Accounts of a cluster that have series of their own, by number of jobs; the rest is added up. 0 for all.").Default("1000").IntVar(&o.limits.Accounts)
}

// leastPolls is how many polls of jobs have to fit into the age that is allowed.
// Partitions are polled once in four of them.
const leastPolls = 5

func (o *options) check() error {
	cert := o.library.SecureServing.ServerCert.CertKey
	switch {
	case o.maxAge < leastPolls*o.slurm.period:
		return fmt.Errorf("--metrics-max-age must be at least %d times --slurm.poll-interval, since partitions are polled less often than jobs", leastPolls)
	case o.pools.IdleGrace < 0 || o.pools.Lead < 0 || o.shutdownDelay < 0:
		return errors.New("--idle-grace, --reservation-lead and --shutdown-delay must not be below 0")
	case o.kubeQPS <= 0 || o.kubeBurst <= 0:
		return errors.New("--kube.qps and --kube.burst must be above 0")
	case (cert.CertFile == "") != (cert.KeyFile == ""):
		return errors.New("a serving certificate needs both --tls-cert-file and --tls-private-key-file")
	}
	if err := o.view.check(); err != nil {
		return err
	}
	return o.slurm.check()
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
