package main

import (
	"errors"
	"fmt"
	"net/netip"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/slurmtide/slurmtide/cmd/internal/flags"
	"github.com/slurmtide/slurmtide/cmd/internal/kube"
	"github.com/slurmtide/slurmtide/cmd/internal/lines"
	"github.com/slurmtide/slurmtide/operator/nodeset"
	"github.com/slurmtide/slurmtide/operator/wakeup"
)

// options are the flags.
type options struct {
	kube       kube.Flags
	namespaces []string
	// daemonNamespaces are the namespaces in which the reconcilers of daemons may write, empty for all.
	daemonNamespaces []string
	// reconcilers are the enabled ones, empty for all.
	reconcilers []string
	// slurmrestdImage is the image of slurmrestd where a RestApi names none.
	slurmrestdImage string
	// loginImage is the image of login pods where a LoginSet names none.
	loginImage string
	// slurmctldImage is the image of slurmctld where a Controller names none.
	slurmctldImage string
	// slurmdbdImage is the image of slurmdbd where an Accounting names none.
	slurmdbdImage string
	// agentImage is the image of slurm-agent.
	agentImage string
	// ipFamily is the first family of the addresses of Services: auto, ipv4 or ipv6.
	ipFamily string

	upgradeDefinitions bool

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

	log lines.Flags
}

const description = `Runs Slurm on Kubernetes.

It manages the workers of NodeSets: pods that run slurmd and join the Slurm cluster of a
Controller or Cluster. It drains workers before it deletes them, and it deletes no worker
with a running job unless the NodeSet's drain policy says so.

It wakes NodeSets: when jobs wait for a NodeSet at zero replicas and its
HorizontalPodAutoscaler leaves it there, it sets spec.replicas to what the jobs
require. It reads the demand from custom.metrics.k8s.io, which slurm-metrics-adapter serves.

With the first argument await-ready or delete-clusters it does something else for a Helm release: it waits until
all is Ready, or deletes the clusters before their operator is removed (slurm-operator delete-clusters --help).

  slurm-operator
  slurm-operator --kube.config=$HOME/.kube/config --no-leader-election --namespaces=slurm`

// parseFlags reads the flags. For --help and --version, which it prints, the error is
// flags.ErrPrinted.
func parseFlags(args []string) (*options, error) {
	program, o := newProgram()
	if err := program.Parse(args, os.Stdout); err != nil {
		return nil, err
	}
	return o, errors.Join(o.check(), o.kube.Check(), o.slurm.polling.Check(100*time.Millisecond), checkNodeSet(o.nodeSet))
}

// newProgram returns the program's flags and the options that they set.
func newProgram() (*flags.Program, *options) {
	o := &options{wakeup: wakeup.DefaultConfig(), nodeSet: nodeset.DefaultConfig()}
	p := flags.New("slurm-operator", description)
	o.kubeFlags(p.Group("Kubernetes"))
	o.serverFlags(p.Group("Health and metrics"))
	o.webhook.addFlags(p.Group("Webhooks"))
	o.slurm.addFlags(p.Group("Slurm"))
	nodeSetFlags(p.Group("NodeSets"), &o.nodeSet)
	o.controllerFlags(p.Group("Controllers"))
	p.Group("RestApis").StringVar(&o.slurmrestdImage, "restapi.image", "",
		"Image of slurmrestd where a RestApi names none.")
	p.Group("LoginSets").StringVar(&o.loginImage, "loginset.image", "",
		"Image of login pods where a LoginSet names none.")
	p.Group("Accountings").StringVar(&o.slurmdbdImage, "accounting.image", "",
		"Image of slurmdbd where an Accounting names none.")
	o.wakeupFlags(p.Group("Wake-up"))
	o.log.AddFlags(p.Group("Logs"))
	return p, o
}

func (o *options) kubeFlags(set *pflag.FlagSet) {
	o.kube.AddFlags(set)
	flags.ListVar(set, &o.namespaces, "namespaces", "namespace",
		"Namespaces to watch, separated by commas. Default: all.")
	flags.ListVar(set, &o.daemonNamespaces, "daemon-namespaces", "namespace",
		"Namespaces in which to run slurmctld, slurmdbd, slurmrestd and login pods, separated by commas. Default: those "+
			"of --namespaces.")
	flags.ListVar(set, &o.reconcilers, "reconcilers", "name", "Reconcilers to run, separated by commas: nodeset "+
		"manages workers, wakeup wakes NodeSets from zero, cluster reports the state of the Slurm clusters of "+
		"Clusters, token maintains the Secrets of Tokens, controller runs the slurmctld of Controllers, restapi the "+
		"slurmrestd of RestApis, loginset the login pods of LoginSets, accounting the slurmdbd of Accountings. "+
		"Default: all.")
	set.BoolVar(&o.upgradeDefinitions, "upgrade-definitions", true, "Upgrade custom resource definitions that an older "+
		"release installed.")
	set.BoolVar(&o.leaderElection, "leader-election", true, "Let only one of several replicas reconcile at a time.")
	set.StringVar(&o.leaderNamespace, "leader-election.namespace", "",
		"Namespace of the lease. Default: the pod's namespace.")
}

func (o *options) controllerFlags(set *pflag.FlagSet) {
	set.StringVar(&o.slurmctldImage, "controller.image", "", "Image of slurmctld where a Controller names none.")
	set.StringVar(&o.agentImage, "controller.agent-image", "", "Image of slurm-agent, which checks the configuration of "+
		"slurmctld and slurmdbd. Required where the reconciler controller or accounting runs.")
	flags.ChoiceVar(set, &o.ipFamily, "controller.ip-family", "First family of the addresses of Services. With ipv6, Slurm's "+
		"daemons look for such addresses, too (CommunicationParameters=EnableIPv6), unless spec.extraConf says otherwise. auto: "+
		"the family of the address in the environment variable POD_IP.", "auto", "ipv4", "ipv6")
}

// usesIPv6 reports whether Services have addresses of IPv6. podIP is the address of the operator's pod, empty if it is unknown.
func (o *options) usesIPv6(podIP string) bool {
	if o.ipFamily != "auto" {
		return o.ipFamily == "ipv6"
	}
	address, err := netip.ParseAddr(podIP)
	return err == nil && address.Is6() && !address.Is4In6()
}

func (o *options) serverFlags(set *pflag.FlagSet) {
	set.StringVar(&o.healthAddress, "health.listen-address", ":8081",
		"Address of /healthz and /readyz. 0 disables them.")
	set.StringVar(&o.metricsAddress, "metrics.listen-address", ":8443", "Address of /metrics. 0 disables it.")
	set.BoolVar(&o.metricsSecure, "metrics.secure", true, "Serve metrics over TLS, and only to users who may get "+
		"the URL /metrics.")
	set.StringVar(&o.metricsCertDir, "metrics.cert-dir", "", "Folder with tls.crt and tls.key for metrics, which "+
		"are reloaded when they change. Default: a self-signed certificate.")
}

func (o *options) wakeupFlags(set *pflag.FlagSet) {
	set.DurationVar(&o.wakeup.PollInterval, "wakeup.look-interval", o.wakeup.PollInterval,
		"Interval between two readings of the demand of a NodeSet that is at zero or about to scale to zero.")
	set.DurationVar(&o.wakeup.StaleAfter, "wakeup.stale-after", o.wakeup.StaleAfter,
		"Age at which demand becomes unknown. The operator then does nothing.")
	set.DurationVar(&o.wakeup.ReadTimeout, "wakeup.timeout", o.wakeup.ReadTimeout, "Timeout of one reading of demand.")
}

// The reconcilers.
const (
	nodeSetReconciler = "nodeset"
	wakeUpReconciler  = "wakeup"
	clusterReconciler = "cluster"
	tokenReconciler   = "token"
	// The reconcilers of daemons.
	controllerReconciler = "controller"
	restAPIReconciler    = "restapi"
	loginSetReconciler   = "loginset"
	accountingReconciler = "accounting"
)

func allReconcilers() []string {
	return []string{nodeSetReconciler, wakeUpReconciler, clusterReconciler, tokenReconciler, controllerReconciler,
		restAPIReconciler, loginSetReconciler, accountingReconciler}
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
	case o.metricsCertDir != "" && !o.metricsSecure:
		return errors.New("--metrics.cert-dir needs --metrics.secure")
	}
	for _, name := range []string{controllerReconciler, accountingReconciler} {
		if o.isEnabled(name) && o.agentImage == "" {
			return fmt.Errorf("the reconciler %s needs --controller.agent-image; where the operator is to run no daemons "+
				"but workers, --reconcilers=nodeset,wakeup,cluster,token leaves it out", name)
		}
	}
	return nil
}
