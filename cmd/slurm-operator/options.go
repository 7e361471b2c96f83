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
	// reconcilers are those that run.
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

It keeps the workers of NodeSets: pods that run slurmd and join the Slurm cluster of a
Controller or Cluster. Workers that are to go are drained first, and none is deleted
under a running job unless the NodeSet's drain policy says so.

It wakes NodeSets: where a NodeSet is at zero replicas, jobs wait for it and its
HorizontalPodAutoscaler leaves it asleep, it sets spec.replicas to what the jobs
require. It reads that from custom.metrics.k8s.io, which slurm-metrics-adapter serves.

  slurm-operator
  slurm-operator --kube.config=$HOME/.kube/config --no-leader-election --namespaces=slurm`

// parse reads the flags. --help and --version print and exit.
func parse(args []string) (*options, error) {
	app, o := application()
	if _, err := app.Parse(args); err != nil {
		return nil, err
	}
	return o, errors.Join(o.check(), o.slurm.check(), checkNodeSet(o.nodeSet))
}

// application returns the program's flags, and what they write to.
func application() (*kingpin.Application, *options) {
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
	app.Flag("log.level", "Least important level to log: debug, info, warn or error.").Default("info").EnumVar(&o.logLevel, "debug", "info", "warn", "error")
	app.Flag("log.format", "Format of the log: logfmt or json.").Default("logfmt").EnumVar(&o.logFormat, "logfmt", "json")
	return app, o
}

func (o *options) kubeFlags(app *kingpin.Application) {
	app.Flag("kube.config", "kubeconfig to reach Kubernetes by, instead of KUBECONFIG or, in a pod, its service account.").StringVar(&o.kubeConfig)
	app.Flag("kube.qps", "Requests to Kubernetes per second, on average.").Default("50").Float32Var(&o.kubeQPS)
	app.Flag("kube.burst", "Requests to Kubernetes at once.").Default("100").IntVar(&o.kubeBurst)
	app.Flag("namespaces", "Namespaces to look after, separated by commas; all of them without it.").
		PlaceHolder("NAMESPACE,…").SetValue((*nameList)(&o.namespaces))
	app.Flag("reconcilers", "What to do, separated by commas: nodeset keeps workers, wakeup wakes NodeSets from zero, cluster tells of the Slurms of Clusters, token keeps the Secrets of Tokens, unreconciled says on Controllers, RestApis, Accountings and LoginSets that nothing reconciles them yet. All without it.").
		PlaceHolder("NAME,…").SetValue((*nameList)(&o.reconcilers))
	app.Flag("leader-election", "Let one of several replicas work at a time.").Default("true").BoolVar(&o.leaderElection)
	app.Flag("leader-election.namespace", "Namespace of the lease; the pod's own without it.").StringVar(&o.leaderNamespace)
}

func (o *options) serverFlags(app *kingpin.Application) {
	app.Flag("health.listen-address", "Address of /healthz and /readyz; 0 for none.").Default(":8081").StringVar(&o.healthAddress)
	app.Flag("metrics.listen-address", "Address of /metrics; 0 for none.").Default(":8443").StringVar(&o.metricsAddress)
	app.Flag("metrics.secure", "Serve metrics over TLS, and only to those who may get the URL /metrics.").Default("true").BoolVar(&o.metricsSecure)
	app.Flag("metrics.cert-dir", "Folder with tls.crt and tls.key for metrics, read again when they change; one is made without it.").StringVar(&o.metricsCertDir)
}

func (o *options) wakeupFlags(app *kingpin.Application) {
	app.Flag("wakeup.look-interval", "Pause between two looks at the demand of a NodeSet that waits at zero, or to go to zero.").
		Default(o.wakeup.LookEvery.String()).DurationVar(&o.wakeup.LookEvery)
	app.Flag("wakeup.stale-after", "Age from which on demand counts as unknown, and nothing is done.").
		Default(o.wakeup.StaleAfter.String()).DurationVar(&o.wakeup.StaleAfter)
	app.Flag("wakeup.timeout", "Time that one reading of demand may take.").
		Default(o.wakeup.ReadTimeout.String()).DurationVar(&o.wakeup.ReadTimeout)
}

// nameList is a flag value: names separated by commas, repeatable.
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
	forNodeSets = "nodeset"
	forWakeUp   = "wakeup"
	forClusters = "cluster"
	forTokens   = "token"
	// forUnreconciled tells of the kinds that nothing reconciles.
	forUnreconciled = "unreconciled"
)

func reconcilers() []string {
	return []string{forNodeSets, forWakeUp, forClusters, forTokens, forUnreconciled}
}

// does reports whether a reconciler is to run.
func (o *options) does(name string) bool {
	return len(o.reconcilers) == 0 || slices.Contains(o.reconcilers, name)
}

func (o *options) check() error {
	for _, name := range o.reconcilers {
		if !slices.Contains(reconcilers(), name) {
			return fmt.Errorf("--reconcilers: there is no %q, only %s", name, strings.Join(reconcilers(), ", "))
		}
	}
	switch w := o.wakeup; {
	case w.LookEvery < time.Second:
		return errors.New("--wakeup.look-interval must be at least 1s")
	case w.ReadTimeout <= 0:
		return errors.New("--wakeup.timeout must be above 0")
	case w.StaleAfter < w.LookEvery:
		return errors.New("--wakeup.stale-after must not be below --wakeup.look-interval")
	case o.kubeQPS <= 0 || o.kubeBurst <= 0:
		return errors.New("--kube.qps and --kube.burst must be above 0")
	case o.metricsCertDir != "" && !o.metricsSecure:
		return errors.New("--metrics.cert-dir is of no use with --no-metrics.secure")
	}
	return nil
}

// restConfig returns how to reach Kubernetes. It does not try.
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
