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

// slurmOptions say how Slurm is spoken with.
type slurmOptions struct {
	user, apiVersion          string
	lifetime, timeout, period time.Duration
	jobsReader                string
	// execNamespaces are those in which scontrol may be run in pods of slurmctld.
	execNamespaces []string
}

func (s *slurmOptions) flags(app *kingpin.Application) {
	app.Flag("slurm.user", "User to mint tokens for, with the keys of Controllers; it must be one who may change nodes (slurm.conf(5), SlurmUser).").Default("slurm").StringVar(&s.user)
	app.Flag("slurm.jwt-lifetime", "Lifetime of minted tokens; they are renewed before it ends.").Default("30m").DurationVar(&s.lifetime)
	app.Flag("slurm.api-version", "API version to use, such as v0.0.42, instead of the newest that each slurmrestd serves.").StringVar(&s.apiVersion)
	app.Flag("slurm.timeout", "Time that one request may take, or one chunk of a long answer.").Default("30s").DurationVar(&s.timeout)
	app.Flag("slurm.poll-interval", "Pause between polls of nodes and jobs; it grows by itself where a poll takes long.").Default("10s").DurationVar(&s.period)
	app.Flag("slurm.jobs-reader", "How jobs are read: list asks for all of them, delta for what changed (for queues of thousands), auto takes what costs less.").
		Default("auto").EnumVar(&s.jobsReader, "auto", "list", "delta")
	app.Flag("slurm.exec-namespaces", "Namespaces in which scontrol may be run in pods of slurmctld, separated by commas: it does for Controllers what slurmrestd offers from v0.0.45 on. None without it.").
		PlaceHolder("NAMESPACE,…").SetValue((*nameList)(&s.execNamespaces))
}

func (s *slurmOptions) check() error {
	if s.period < 100*time.Millisecond || s.timeout <= 0 || s.lifetime < time.Minute {
		return errors.New("--slurm.poll-interval must be at least 100ms, --slurm.jwt-lifetime at least 1m, and --slurm.timeout above 0")
	}
	return nil
}

// clients are the live Slurm clusters, which the manager keeps, with their metrics.
func (s *slurmOptions) clients(mgr ctrl.Manager, registry prometheus.Registerer) (*live.Clients, error) {
	kube, err := kubernetes.NewForConfigAndClient(mgr.GetConfig(), mgr.GetHTTPClient())
	if err != nil {
		return nil, fmt.Errorf("making a client of Kubernetes: %w", err)
	}
	scontrol, err := live.InPods(mgr.GetConfig(), s.execNamespaces)
	if err != nil {
		return nil, err
	}
	slurms := live.New(live.Config{
		Access: access.Config{
			Kube: access.FromClientset(kube), User: s.user, Lifetime: s.lifetime, APIVersion: s.apiVersion, Timeout: s.timeout,
		},
		Cache:    slurmclient.CacheConfig{Period: s.period, JobsReader: slurmclient.JobsReader(s.jobsReader)},
		Scontrol: scontrol,
		Observer: live.NewRequests(registry).Of,
	})
	registry.MustRegister(slurms.Ages(time.Now))
	return slurms, slurms.SetupWithManager(mgr)
}

// nodeSetFlags are the flags of the NodeSet reconciler.
func nodeSetFlags(app *kingpin.Application, c *nodeset.Config) {
	app.Flag("nodeset.image", "Image of workers whose NodeSet names none in spec.slurmd.image.").StringVar(&c.Image)
	app.Flag("nodeset.cluster-domain", "DNS domain of Kubernetes.").Default("cluster.local").StringVar(&c.ClusterDomain)
	app.Flag("nodeset.stale-after", "Age from which on a reading of Slurm proves nothing, so that no worker is deleted.").
		Default(c.StaleAfter.String()).DurationVar(&c.StaleAfter)
	app.Flag("nodeset.propagated-conditions", "Conditions of Kubernetes nodes whose message becomes the reason of a drain when the node is cordoned, separated by commas.").
		PlaceHolder("CONDITION,…").SetValue((*nameList)(&c.PropagatedConditions))
	app.Flag("nodeset.register-within", "Time that a scheduled worker has to register with Slurm, before it may be deleted for not being registered.").
		Default(c.Plan.RegisterWithin.String()).DurationVar(&c.Plan.RegisterWithin)
	app.Flag("nodeset.brake-share", "Share of a NodeSet's workers, but at least one, that may be deleted in each brake interval for not being registered.").
		Default("0.1").FloatVar(&c.Plan.BrakeShare)
	app.Flag("nodeset.brake-interval", "Brake interval.").Default(c.Plan.BrakeInterval.String()).DurationVar(&c.Plan.BrakeInterval)
	app.Flag("nodeset.concurrency", "NodeSets that are looked at at a time.").Default("4").IntVar(&c.Concurrent)
	app.Flag("nodeset.parallel-writes", "Writes of one NodeSet that are under way at a time.").Default(strconv.Itoa(c.Parallel)).IntVar(&c.Parallel)
}

func checkNodeSet(c nodeset.Config) error {
	switch {
	case c.StaleAfter <= 0 || c.Plan.RegisterWithin <= 0 || c.Plan.BrakeInterval <= 0:
		return errors.New("--nodeset.stale-after, --nodeset.register-within and --nodeset.brake-interval must be above 0")
	case c.Plan.BrakeShare < 0 || c.Plan.BrakeShare > 1:
		return errors.New("--nodeset.brake-share must be from 0 to 1")
	case c.Concurrent < 1 || c.Parallel < 1:
		return errors.New("--nodeset.concurrency and --nodeset.parallel-writes must be at least 1")
	}
	return nil
}
