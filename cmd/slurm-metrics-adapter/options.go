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

	"github.com/slurmtide/slurmtide/exporter/collector"
	metricset "github.com/slurmtide/slurmtide/exporter/exposition"
	"github.com/slurmtide/slurmtide/exporter/tally"
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
	compat           []metricset.Set
	limits           tally.Limits

	logLevel, logFormat string
}

const description = `Serves custom.metrics.k8s.io from Slurm's queue, so that a stock
HorizontalPodAutoscaler scales NodeSets to and from zero. It also serves the metrics of
the same snapshots to Prometheus.

It finds Slurm clusters by the Controller and Cluster objects in Kubernetes, or reads
the cluster of --slurm.url. When data is older than --metrics-max-age, HPAs get an
error and never a number.

  slurm-metrics-adapter
  slurm-metrics-adapter --slurm.url=http://slurmrestd:6820 --slurm.token-file=/run/token`

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
	app.Flag("log.level", "Minimum log level: debug, info, warn or error.").Default("info").
		EnumVar(&o.logLevel, "debug", "info", "warn", "error")
	app.Flag("log.format", "Log format: logfmt or json.").Default("logfmt").EnumVar(&o.logFormat, "logfmt", "json")
	return app, o
}

func (o *options) metricsAPIFlags(app *kingpin.Application) {
	app.Flag("metrics-max-age", "Maximum age of data from Slurm. Metrics of older data are errors.").
		Default(metricsapi.DefaultMaxAge.String()).DurationVar(&o.maxAge)
	app.Flag("external-metrics",
		"Also serve external.metrics.k8s.io. Only one adapter in a Kubernetes cluster can serve it.").
		BoolVar(&o.external)
	app.Flag("idle-grace", "How long idle nodes count as required, unless an annotation of the NodeSet sets it.").
		Default("0s").DurationVar(&o.pools.IdleGrace)
	app.Flag("reservation-lead", "How long before the start of a reservation its nodes count as busy.").Default("5m").
		DurationVar(&o.pools.Lead)
}

func (o *options) kubeFlags(app *kingpin.Application) {
	app.Flag("kube.config", "kubeconfig file. Default: KUBECONFIG or, in a pod, the service account.").
		StringVar(&o.kubeConfig)
	app.Flag("kube.qps", "Maximum average rate of requests to Kubernetes, per second.").
		Default("50").Float32Var(&o.kubeQPS)
	app.Flag("kube.burst", "Maximum burst of requests to Kubernetes.").Default("100").IntVar(&o.kubeBurst)
}

func (o *options) certificateFlags(app *kingpin.Application) {
	app.Flag("certificate.secret",
		"Secret with the self-signed CA and certificate, which all replicas share. They are created without "+
			"--tls-cert-file.").Default("slurm-metrics-adapter-certificate").StringVar(&o.certSecret)
	app.Flag("certificate.service",
		"Service through which the API server reaches the adapter. The certificate is issued for its name, and the "+
			"CA is written to the APIServices that refer to it.").Default("slurm-metrics-adapter").
		StringVar(&o.certService)
	app.Flag("certificate.namespace", "Namespace of both. Default: the pod's namespace.").StringVar(&o.certNamespace)
}

func (o *options) expositionFlags(app *kingpin.Application) {
	app.Flag("metrics.listen-address", "Address of /metrics for Prometheus. Repeatable.").Default(":9341").
		StringsVar(&o.metricsAddresses)
	app.Flag("metrics.config-file",
		"File that enables TLS and authentication of /metrics, as for exporters (web.config.file).").
		StringVar(&o.metricsConfig)
	app.Flag("metrics.telemetry-path", "Path of the metrics.").Default("/metrics").StringVar(&o.metricsPath)
	app.Flag("metrics.max-requests", "Maximum number of concurrent scrapes. 0 means no limit.").Default("40").
		IntVar(&o.maxScrapes)
	for _, c := range collector.Native() {
		on := new(bool)
		o.collectors[c.Name] = on
		app.Flag("collector."+c.Name, "Serve "+c.Help+".").Default(fmt.Sprint(c.Default)).BoolVar(on)
	}
	var names []string
	for _, s := range collector.Sets() {
		names = append(names, string(s))
	}
	app.Flag("compat", "Also serve the metric names of other exporters, separated by commas: "+strings.Join(names,
		", ")+". Each set is also available separately at METRICS_PATH/SET.").
		PlaceHolder("SET,…").SetValue((*setList)(&o.compat))
	app.Flag("limit.nodes", "Maximum number of nodes per cluster with their own series, by name. 0 means no limit.").
		Default("0").IntVar(&o.limits.Nodes)
	app.Flag("limit.users", "Maximum number of users per cluster with their own series, by number of jobs. The "+
		"others are summed. 0 means no limit.").Default("1000").IntVar(&o.limits.Users)
	app.Flag("limit.accounts",
		"Maximum number of accounts per cluster with their own series, by number of jobs. The others are summed. 0 "+
			"means no limit.").Default("1000").IntVar(&o.limits.Accounts)
}

// minPollsPerAge is how many poll intervals of jobs must fit into --metrics-max-age. Partitions are
// polled at every fourth interval.
const minPollsPerAge = 5

func (o *options) check() error {
	cert := o.library.SecureServing.ServerCert.CertKey
	switch {
	case o.maxAge < minPollsPerAge*o.slurm.period:
		return fmt.Errorf("--metrics-max-age must be at least %d times --slurm.poll-interval, since partitions are "+
			"polled less often than jobs", minPollsPerAge)
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

// setList is a repeatable flag value: comma-separated sets.
type setList []metricset.Set

func (l *setList) Set(text string) error {
	for name := range strings.SplitSeq(text, ",") {
		s := metricset.Set(strings.TrimSpace(name))
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
