package main

import (
	"errors"
	"fmt"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/spf13/pflag"
	"k8s.io/client-go/kubernetes"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/slurmtide/slurmtide/cmd/internal/flags"
	"github.com/slurmtide/slurmtide/cmd/internal/restd"
	"github.com/slurmtide/slurmtide/operator/access"
	"github.com/slurmtide/slurmtide/operator/nodeset"
	"github.com/slurmtide/slurmtide/operator/slurmclients"
)

// slurmOptions configure the connections to Slurm.
type slurmOptions struct {
	user    string
	polling restd.Polling
	// execNamespaces are the namespaces in which the operator may run scontrol in slurmctld pods.
	execNamespaces []string
}

func (s *slurmOptions) addFlags(set *pflag.FlagSet) {
	set.StringVar(&s.user, "slurm.user", "slurm", "User of the tokens that are minted with the keys of "+
		"Controllers. The user must be allowed to change nodes (slurm.conf(5), SlurmUser).")
	s.polling.AddFlags(set, "each slurmrestd")
	flags.ListVar(set, &s.execNamespaces, "slurm.exec-namespaces", "namespace",
		"Namespaces in which the operator may run scontrol in slurmctld pods, separated by commas. For "+
			"Controllers, scontrol replaces what slurmrestd offers only from v0.0.45 on. Default: none.")
}

// newClients returns the live Slurm clusters with their metrics. The manager runs them.
func (s *slurmOptions) newClients(mgr ctrl.Manager, registry prometheus.Registerer) (*slurmclients.Clusters, error) {
	kube, err := kubernetes.NewForConfigAndClient(mgr.GetConfig(), mgr.GetHTTPClient())
	if err != nil {
		return nil, fmt.Errorf("creating a Kubernetes client: %w", err)
	}
	scontrol, err := slurmclients.NewPodScontrol(mgr.GetConfig(), s.execNamespaces)
	if err != nil {
		return nil, err
	}
	slurms := slurmclients.New(slurmclients.Config{
		Access: access.Config{
			Secrets: access.NewSecretReader(kube), User: s.user, Lifetime: s.polling.Lifetime, APIVersion: s.polling.APIVersion,
			Timeout: s.polling.Timeout,
		},
		Cache:    s.polling.CacheConfig(),
		Scontrol: scontrol,
		Observer: slurmclients.NewRequestMetrics(registry).ObserverOf,
	})
	registry.MustRegister(slurms.AgeCollector(time.Now))
	return slurms, slurms.SetupWithManager(mgr)
}

// nodeSetFlags adds the flags of the NodeSet reconciler.
func nodeSetFlags(set *pflag.FlagSet, c *nodeset.Config) {
	set.StringVar(&c.Image, "nodeset.image", "", "Image of workers whose NodeSet does not set spec.slurmd.image.")
	set.StringVar(&c.ClusterDomain, "nodeset.cluster-domain", "cluster.local", "DNS domain of Kubernetes.")
	set.DurationVar(&c.StaleAfter, "nodeset.stale-after", c.StaleAfter,
		"Age at which data from Slurm is too old to delete workers.")
	flags.ListVar(set, &c.PropagatedConditions, "nodeset.propagated-conditions", "condition",
		"Conditions of Kubernetes nodes whose message becomes the drain reason when the node is cordoned, "+
			"separated by commas.")
	set.DurationVar(&c.Plan.RegisterWithin, "nodeset.register-within", c.Plan.RegisterWithin,
		"Time in which a scheduled worker must register with Slurm. After it, the operator may delete an "+
			"unregistered worker.")
	set.DurationVar(&c.Plan.SurplusRecordsKept, "nodeset.keep-surplus-records", c.Plan.SurplusRecordsKept,
		"Time for which Slurm keeps FUTURE records above a lower maximum.")
	set.Float64Var(&c.Plan.UnregisteredDeletionShare, "nodeset.brake-share", 0.1,
		"Maximum share of a NodeSet's workers, but at least one, that the operator may delete in each brake "+
			"interval because they are not registered.")
	set.DurationVar(&c.Plan.UnregisteredDeletionInterval, "nodeset.brake-interval", c.Plan.UnregisteredDeletionInterval,
		"Length of the brake interval.")
	set.IntVar(&c.Concurrent, "nodeset.concurrency", 4, "Maximum number of NodeSets to reconcile concurrently.")
	set.IntVar(&c.Parallel, "nodeset.parallel-writes", c.Parallel, "Maximum number of concurrent writes per NodeSet.")
}

func checkNodeSet(c nodeset.Config) error {
	switch {
	case c.StaleAfter <= 0 || c.Plan.RegisterWithin <= 0 || c.Plan.UnregisteredDeletionInterval <= 0:
		return errors.New("--nodeset.stale-after, --nodeset.register-within and --nodeset.brake-interval must be " +
			"above 0")
	case c.Plan.SurplusRecordsKept < 0:
		return errors.New("--nodeset.keep-surplus-records must not be negative")
	case c.Plan.UnregisteredDeletionShare < 0 || c.Plan.UnregisteredDeletionShare > 1:
		return errors.New("--nodeset.brake-share must be from 0 to 1")
	case c.Concurrent < 1 || c.Parallel < 1:
		return errors.New("--nodeset.concurrency and --nodeset.parallel-writes must be at least 1")
	}
	return nil
}
