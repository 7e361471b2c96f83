package loop

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/slurmtide/slurmtide/test/harness/realkube"
	"github.com/slurmtide/slurmtide/test/harness/realslurm"
)

const (
	// Namespace contains the NodeSet, its HPA and the Cluster object.
	Namespace = "hpc"
	// NodeSet is the name of the NodeSet, of the Slurm feature of its workers, and of the partition
	// that they serve.
	NodeSet = "burst"
	// ClusterName is the name of the Cluster object of the Slurm cluster.
	ClusterName = "real"
	// MaxWorkers is the maximum number of workers.
	MaxWorkers = 6
	// workerConf is the slurm.conf description of a worker.
	workerConf = "CPUs=4 RealMemory=1000"
)

// Config describes the loop to start.
type Config struct {
	// Slurm is the Slurm release. Empty means "26.05".
	Slurm string
	// Namespace and NodeSet replace the constants of the same names.
	Namespace, NodeSet string
	// Bare starts neither the adapter nor the operator.
	Bare bool
	// Replicas is the initial number of replicas of the NodeSet.
	Replicas int
	// Adapters is the number of replicas of the adapter. Zero means 1.
	Adapters int
	// PollInterval is the adapter's interval between polls. Zero means 1 s.
	PollInterval time.Duration
	// SyncPeriod is the sync period of the HPA controller. Zero means 1 s.
	SyncPeriod time.Duration
	// Kube contains further settings of the control plane.
	Kube realkube.Config
	// SlurmURL returns the URL that the adapter uses instead of slurmrestd's own. Tests return the URL of a proxy that
	// injects faults. nil keeps slurmrestd's URL.
	SlurmURL func(url string) string
}

// Loop is a running control loop.
type Loop struct {
	*ControlPlane
	Slurm *realslurm.Cluster

	config  Config
	workers *workers
}

// Start starts everything and returns when the adapter serves metrics. Everything ends with Close,
// or with this process.
func Start(ctx context.Context, config Config) (*Loop, error) {
	config.Slurm = cmp.Or(config.Slurm, "26.05")
	config.Namespace = cmp.Or(config.Namespace, Namespace)
	config.NodeSet = cmp.Or(config.NodeSet, NodeSet)
	config.Adapters = cmp.Or(config.Adapters, 1)
	config.PollInterval = cmp.Or(config.PollInterval, time.Second)
	config.SyncPeriod = cmp.Or(config.SyncPeriod, time.Second)
	config.Kube.ControllerManagerArgs = append(config.Kube.ControllerManagerArgs,
		fmt.Sprintf("--horizontal-pod-autoscaler-sync-period=%s", config.SyncPeriod))
	control, err := NewControlPlane(ctx, config.Kube)
	if err != nil {
		return nil, err
	}
	l := &Loop{ControlPlane: control, config: config}
	steps := []func(context.Context) error{l.startSlurm, l.applyObjects, l.followReplicas}
	if !config.Bare {
		steps = append(steps, l.startAdapters, l.StartOperator, l.awaitMetrics)
	}
	for _, step := range steps {
		if err := step(ctx); err != nil {
			return nil, errors.Join(err, l.Close())
		}
	}
	return l, nil
}

func (l *Loop) startAdapters(ctx context.Context) error {
	return l.StartAdapters(ctx, l.config.Adapters, l.config.adapterFlags()...)
}

// adapterFlags returns flags for short timeouts, unless the poll interval is longer than 1 s.
func (c Config) adapterFlags() []string {
	flags := []string{"--slurm.poll-interval=" + c.PollInterval.String()}
	if c.PollInterval <= time.Second {
		flags = append(flags, "--metrics-max-age="+MaxAge.String(), "--slurm.timeout=3s")
	}
	return flags
}

// RestartAdapter starts a replica on the port of an ended one.
func (l *Loop) RestartAdapter(ctx context.Context, gone *Adapter) error {
	_, err := l.StartAdapter(ctx, gone.Port, l.config.adapterFlags()...)
	return err
}

// MissingRequirement returns the reason why a loop cannot run on this machine, or "" if it can.
func MissingRequirement() string {
	return cmp.Or(realslurm.MissingRequirement(), realkube.MissingRequirement())
}

func (l *Loop) startSlurm(ctx context.Context) (err error) {
	config := realslurm.Config{Version: l.config.Slurm, Nodes: 1, Conf: []string{
		"NodeSet=" + l.config.NodeSet + " Feature=" + l.config.NodeSet,
		"PartitionName=" + l.config.NodeSet + " Nodes=" + l.config.NodeSet + " MaxTime=INFINITE State=UP",
	}}
	if l.config.NodeSet != NodeSet { // the cluster may have a partition with this name by default
		config.Nodes, config.NodeConfs = 0, []string{"n1 CPUs=16 RealMemory=64000"}
	}
	l.Slurm, err = realslurm.Start(ctx, config)
	if err != nil {
		return err
	}
	l.onClose(l.Slurm.Close)
	if _, err := l.Slurm.Run(ctx, "", "bash", "-c", `sacctmgr -i add qos capped GrpJobs=0 &&
		sacctmgr -i modify user alice set qos+=capped`); err != nil {
		return err
	}
	if l.config.Slurm == "24.11" {
		return l.makeRecords(ctx)
	}
	return nil
}

// makeRecords creates a FUTURE record for every possible worker, because 24.11 refuses jobs for nodes that it does not
// know. The records and the workers have different names. When a slurmd takes over a record, 24.11 reaches it only on
// the default port, and all workers here share one address.
func (l *Loop) makeRecords(ctx context.Context) error {
	_, err := l.Slurm.Run(ctx, "", "scontrol", "create", fmt.Sprintf("nodename=future-[0-%d]", MaxWorkers-1),
		"cpus=4", "realmemory=1000", "feature="+l.config.NodeSet, "state=future")
	return err
}

// Logs returns the output of our programs and the state of Slurm.
func (l *Loop) Logs() string {
	out := ""
	for _, a := range l.Adapters {
		out += "== slurm-metrics-adapter\n" + a.Log()
	}
	if l.operator != nil {
		out += "== slurm-operator\n" + l.operator.Log()
	}
	for _, name := range []string{"required", "busy", "idle", "pending", "booting", "unusable"} {
		m, err := l.Metric(context.Background(), "slurm_nodeset_"+name+"_nodes", "")
		out += fmt.Sprintf("== %s %v %v\n", name, m, err)
	}
	for _, command := range [][]string{{"squeue", "-a"}, {"sinfo", "-N", "-l"}} {
		state, err := l.Slurm.Run(context.Background(), "", command...)
		out += fmt.Sprintf("== %s %v\n%s", command[0], err, state)
	}
	return out
}
