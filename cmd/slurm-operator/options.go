package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/alecthomas/kingpin/v2"
	"github.com/prometheus/common/version"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/slurmtide/slurmtide/operator/nodeset"
	"github.com/slurmtide/slurmtide/operator/wakeup"
)

// options are the flags.
type options struct {
	kubeConfig string
	kubeQPS    float32
	kubeBurst  int
	namespaces []string
	// reconcilers are the enabled ones, empty for all.
	reconcilers []string

	leaderElection  bool
	leaderNamespace string

	healthAddress  string
	metricsAddress string
	metricsSecure  bool
	metricsCertDir string

	wakeup  wakeup.Config
	slurm   slurmOptions
	webhook webhookOptions
	nodeSet nodeset.Config

	logLevel, logFormat string
}

const description = `Runs Slurm on Kubernetes.

It manages the workers of NodeSets: pods that run slurmd and join the Slurm cluster of a
Controller or Cluster. It drains workers before it deletes them, and it deletes no worker
with a running job unless the NodeSet's drain policy says so.

It wakes NodeSets: when jobs wait for a NodeSet at zero replicas and its
HorizontalPodAutoscaler leaves it there, it sets spec.replicas to what the jobs
require. It reads the demand from custom.metrics.k8s.io, which slurm-metrics-adapter serves.

  slurm-operator
  slurm-operator --kube.config=$HOME/.kube/config --no-leader-election --namespaces=slurm`

// parseFlags reads the flags. --help and --version print and exit.
func parseFlags(args []string) (*options, error) {
	app, o := newApplication()
	if _, err := app.Parse(args); err != nil {
		return nil, err
	}
	return o, errors.Join(o.check(), o.slurm.check(), checkNodeSet(o.nodeSet))
}

// newApplication returns the program's flags and the options that they set.
func newApplication() (*kingpin.Application, *options) {
	o := &options{wakeup: wakeup.DefaultConfig(), nodeSet: nodeset.DefaultConfig()}
	app := kingpin.New("slurm-operator", description)
	app.Version(version.Print("slurm-operator"))
	app.HelpFlag.Short('h')
	o.kubeFlags(app)
	o.serverFlags(app)
	o.webhook.flags(app)
	o.slurm.flags(app)
	nodeSetFlags(app, &o.nodeSet)
	o.wakeupFlags(app)
	app.Flag("log.level", "Minimum log level: debug, info, warn or error.").Default("info").
		EnumVar(&o.logLevel, "debug", "info", "warn", "error")
	app.Flag("log.format", "Log format: logfmt or json.").Default("logfmt").EnumVar(&o.logFormat, "logfmt", "json")
	return app, o
}

func (o *options) kubeFlags(app *kingpin.Application) {
	app.Flag("kube.config", "kubeconfig file. Default: KUBECONFIG or, in a pod, the service account.").
		StringVar(&o.kubeConfig)
	app.Flag("kube.qps", "Maximum average rate of requests to Kubernetes, per second.").
		Default("50").Float32Var(&o.kubeQPS)
	app.Flag("kube.burst", "Maximum burst of requests to Kubernetes.").Default("100").IntVar(&o.kubeBurst)
	app.Flag("namespaces", "Namespaces to watch, separated by commas. Default: all.").
		PlaceHolder("NAMESPACE,…").SetValue((*nameList)(&o.namespaces))
	app.Flag("reconcilers", "Reconcilers to run, separated by commas: nodeset manages workers, wakeup wakes "+
		"NodeSets from zero, cluster reports the state of the Slurm clusters of Clusters, token maintains the "+
		"Secrets of Tokens, unreconciled reports on Controllers, RestApis, Accountings and LoginSets that nothing "+
		"reconciles them yet. Default: all.").
		PlaceHolder("NAME,…").SetValue((*nameList)(&o.reconcilers))
	app.Flag("leader-election", "Let only one of several replicas reconcile at a time.").Default("true").
		BoolVar(&o.leaderElection)
	app.Flag("leader-election.namespace", "Namespace of the lease. Default: the pod's namespace.").
		StringVar(&o.leaderNamespace)
}

func (o *options) serverFlags(app *kingpin.Application) {
	app.Flag("health.listen-address", "Address of /healthz and /readyz. 0 disables them.").Default(":8081").
		StringVar(&o.healthAddress)
	app.Flag("metrics.listen-address", "Address of /metrics. 0 disables it.").Default(":8443").
		StringVar(&o.metricsAddress)
	app.Flag("metrics.secure", "Serve metrics over TLS, and only to users who may get the URL /metrics.").
		Default("true").BoolVar(&o.metricsSecure)
	app.Flag("metrics.cert-dir",
		"Folder with tls.crt and tls.key for metrics, which are reloaded when they change. Default: a self-signed "+
			"certificate.").StringVar(&o.metricsCertDir)
}

func (o *options) wakeupFlags(app *kingpin.Application) {
	app.Flag("wakeup.look-interval",
		"Interval between two readings of the demand of a NodeSet that is at zero or about to scale to zero.").
		Default(o.wakeup.PollInterval.String()).DurationVar(&o.wakeup.PollInterval)
	app.Flag("wakeup.stale-after", "Age at which demand becomes unknown. The operator then does nothing.").
		Default(o.wakeup.StaleAfter.String()).DurationVar(&o.wakeup.StaleAfter)
	app.Flag("wakeup.timeout", "Timeout of one reading of demand.").
		Default(o.wakeup.ReadTimeout.String()).DurationVar(&o.wakeup.ReadTimeout)
}

// nameList is a repeatable flag value: comma-separated names.
type nameList []string

func (l *nameList) Set(text string) error {
	for name := range strings.SplitSeq(text, ",") {
		if name = strings.TrimSpace(name); name != "" && !slices.Contains(*l, name) {
			*l = append(*l, name)
		}
	}
	return nil
}

func (l *nameList) String() string { return strings.Join(*l, ",") }

func (l *nameList) IsCumulative() bool { return true }

// The reconcilers.
const (
	nodeSetReconciler = "nodeset"
	wakeUpReconciler  = "wakeup"
	clusterReconciler = "cluster"
	tokenReconciler   = "token"
	// unreconciledReconciler reports the kinds that nothing reconciles.
	unreconciledReconciler = "unreconciled"
)

func allReconcilers() []string {
	return []string{nodeSetReconciler, wakeUpReconciler, clusterReconciler, tokenReconciler, unreconciledReconciler}
}

// isEnabled reports whether the reconciler runs.
func (o *options) isEnabled(name string) bool {
	return len(o.reconcilers) == 0 || slices.Contains(o.reconcilers, name)
}

func (o *options) check() error {
	for _, name := range o.reconcilers {
		if !slices.Contains(allReconcilers(), name) {
			return fmt.Errorf("--reconcilers: there is no %q, only %s", name, strings.Join(allReconcilers(), ", "))
		}
	}
	switch w := o.wakeup; {
	case w.PollInterval < time.Second:
		return errors.New("--wakeup.look-interval must be at least 1s")
	case w.ReadTimeout <= 0:
		return errors.New("--wakeup.timeout must be above 0")
	case w.StaleAfter < w.PollInterval:
		return errors.New("--wakeup.stale-after must not be below --wakeup.look-interval")
	case o.kubeQPS <= 0 || o.kubeBurst <= 0:
		return errors.New("--kube.qps and --kube.burst must be above 0")
	case o.metricsCertDir != "" && !o.metricsSecure:
		return errors.New("--metrics.cert-dir needs --metrics.secure")
	}
	return nil
}

// restConfig returns the configuration of Kubernetes clients. It sends no request.
func (o *options) restConfig() (*rest.Config, error) {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = o.kubeConfig
	cfg, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, nil).ClientConfig()
	if err != nil {
		return nil, fmt.Errorf("finding Kubernetes (give --kube.config or KUBECONFIG, or run it in a pod): %w", err)
	}
	cfg.QPS, cfg.Burst = o.kubeQPS, o.kubeBurst
	cfg.UserAgent = "slurm-operator/" + version.Version
	return cfg, nil
}
