package main

import (
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/alecthomas/kingpin/v2"
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/client-go/kubernetes"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/slurmtide/slurmtide/operator/api/access"
	"github.com/slurmtide/slurmtide/operator/live"
	"github.com/slurmtide/slurmtide/operator/nodeset"
	"github.com/slurmtide/slurmtide/slurmclient"
)

// slurmOptions configure the connections to Slurm.
type slurmOptions struct {
	user, apiVersion          string
	lifetime, timeout, period time.Duration
	jobsReader                string
	// execNamespaces are the namespaces in which the operator may run scontrol in slurmctld pods.
	execNamespaces []string
}

func (s *slurmOptions) flags(app *kingpin.Application) {
	app.Flag("slurm.user", "User of the tokens that are minted with the keys of Controllers. The user must be "+
		"allowed to change nodes (slurm.conf(5), SlurmUser).").Default("slurm").StringVar(&s.user)
	app.Flag("slurm.jwt-lifetime", "Lifetime of minted tokens. They are renewed before they expire.").Default("30m").
		DurationVar(&s.lifetime)
	app.Flag("slurm.api-version",
		"API version, such as v0.0.42. Default: the newest version that each slurmrestd serves.").
		StringVar(&s.apiVersion)
	app.Flag("slurm.timeout", "Timeout of a request, or of one chunk of a long response.").Default("30s").
		DurationVar(&s.timeout)
	app.Flag("slurm.poll-interval", "Interval between polls of nodes and jobs. Slow polls increase it automatically.").
		Default("10s").DurationVar(&s.period)
	app.Flag("slurm.jobs-reader",
		"How jobs are read: list requests all jobs, delta only the changed ones (for queues of thousands), auto "+
			"picks the cheaper one.").
		Default("auto").EnumVar(&s.jobsReader, "auto", "list", "delta")
	app.Flag("slurm.exec-namespaces",
		"Namespaces in which the operator may run scontrol in slurmctld pods, separated by commas. For Controllers, "+
			"scontrol replaces what slurmrestd offers only from v0.0.45 on. Default: none.").
		PlaceHolder("NAMESPACE,…").SetValue((*nameList)(&s.execNamespaces))
}

func (s *slurmOptions) check() error {
	if s.period < 100*time.Millisecond || s.timeout <= 0 || s.lifetime < time.Minute {
		return errors.New("--slurm.poll-interval must be at least 100ms, --slurm.jwt-lifetime at least 1m, and " +
			"--slurm.timeout above 0")
	}
	return nil
}

// newClients returns the live Slurm clusters with their metrics. The manager runs them.
func (s *slurmOptions) newClients(mgr ctrl.Manager, registry prometheus.Registerer) (*live.Clusters, error) {
	kube, err := kubernetes.NewForConfigAndClient(mgr.GetConfig(), mgr.GetHTTPClient())
	if err != nil {
		return nil, fmt.Errorf("creating a Kubernetes client: %w", err)
	}
	scontrol, err := live.NewPodScontrol(mgr.GetConfig(), s.execNamespaces)
	if err != nil {
		return nil, err
	}
	slurms := live.New(live.Config{
		Access: access.Config{
			Secrets: access.NewSecretReader(kube), User: s.user, Lifetime: s.lifetime, APIVersion: s.apiVersion,
			Timeout: s.timeout,
		},
		Cache:    slurmclient.CacheConfig{Period: s.period, JobsReader: slurmclient.JobsReader(s.jobsReader)},
		Scontrol: scontrol,
		Observer: live.NewRequestMetrics(registry).ObserverOf,
	})
	registry.MustRegister(slurms.AgeCollector(time.Now))
	return slurms, slurms.SetupWithManager(mgr)
}

// nodeSetFlags adds the flags of the NodeSet reconciler.
func nodeSetFlags(app *kingpin.Application, c *nodeset.Config) {
	app.Flag("nodeset.image", "Image of workers whose NodeSet does not set spec.slurmd.image.").StringVar(&c.Image)
	app.Flag("nodeset.cluster-domain", "DNS domain of Kubernetes.").Default("cluster.local").StringVar(&c.ClusterDomain)
	app.Flag("nodeset.stale-after", "Age at which data from Slurm is too old to delete workers.").
		Default(c.StaleAfter.String()).DurationVar(&c.StaleAfter)
	app.Flag("nodeset.propagated-conditions",
		"Conditions of Kubernetes nodes whose message becomes the drain reason when the node is cordoned, separated "+
			"by commas.").
		PlaceHolder("CONDITION,…").SetValue((*nameList)(&c.PropagatedConditions))
	app.Flag("nodeset.register-within",
		"Time in which a scheduled worker must register with Slurm. After it, the operator may delete an "+
			"unregistered worker.").
		Default(c.Plan.RegisterWithin.String()).DurationVar(&c.Plan.RegisterWithin)
	app.Flag("nodeset.brake-share",
		"Maximum share of a NodeSet's workers, but at least one, that the operator may delete in each brake "+
			"interval because they are not registered.").
		Default("0.1").FloatVar(&c.Plan.UnregisteredDeletionShare)
	app.Flag("nodeset.brake-interval", "Length of the brake interval.").Default(
		c.Plan.UnregisteredDeletionInterval.String()).
		DurationVar(&c.Plan.UnregisteredDeletionInterval)
	app.Flag("nodeset.concurrency", "Maximum number of NodeSets to reconcile concurrently.").Default("4").
		IntVar(&c.Concurrent)
	app.Flag("nodeset.parallel-writes", "Maximum number of concurrent writes per NodeSet.").
		Default(strconv.Itoa(c.Parallel)).IntVar(&c.Parallel)
}

func checkNodeSet(c nodeset.Config) error {
	switch {
	case c.StaleAfter <= 0 || c.Plan.RegisterWithin <= 0 || c.Plan.UnregisteredDeletionInterval <= 0:
		return errors.New("--nodeset.stale-after, --nodeset.register-within and --nodeset.brake-interval must be above 0")
	case c.Plan.UnregisteredDeletionShare < 0 || c.Plan.UnregisteredDeletionShare > 1:
		return errors.New("--nodeset.brake-share must be from 0 to 1")
	case c.Concurrent < 1 || c.Parallel < 1:
		return errors.New("--nodeset.concurrency and --nodeset.parallel-writes must be at least 1")
	}
	return nil
}
