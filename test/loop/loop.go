package loop

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/slurmtide/slurmtide/test/realkube"
	"github.com/slurmtide/slurmtide/test/realslurm"
)

const (
	// Namespace holds the NodeSet, its HPA and the Cluster object.
	Namespace = "hpc"
	// NodeSet is the name of the NodeSet, of the Slurm feature of its workers, and of
	// the partition that they serve.
	NodeSet = "burst"
	// ClusterName is the name of the Cluster object that stands for the Slurm.
	ClusterName = "real"
	// MaxWorkers is the most workers there may be.
	MaxWorkers = 6
	// workerConf is the shape of a worker.
	workerConf = "CPUs=4 RealMemory=1000"
)

// Config says what loop to start.
type Config struct {
	// Slurm is the release, such as "26.05", which it is if empty.
	Slurm string
	// Replicas is what the NodeSet is created with.
	Replicas int
	// Adapters is how many replicas the adapter has; zero means one.
	Adapters int
	// PollInterval is the adapter's pause between polls; zero means one second.
	PollInterval time.Duration
	// SyncPeriod is that of the HPA controller; zero means one second.
	SyncPeriod time.Duration
	// Kube are further settings of the control plane.
	Kube realkube.Config
	// SlurmURL takes the URL of slurmrestd and returns the one that the adapter is to
	// use: a proxy's, in tests that break things. nil means the same.
	SlurmURL func(url string) string
}

// Loop is a running control loop.
type Loop struct {
	*Control
	Slurm *realslurm.Cluster

	config  Config
	workers *workers
}

// Start starts everything and returns when the adapter serves metrics. What it
// started ends at Close, or with this process.
func Start(ctx context.Context, config Config) (*Loop, error) {
	config.Slurm = cmp.Or(config.Slurm, "26.05")
	config.Adapters = cmp.Or(config.Adapters, 1)
	config.PollInterval = cmp.Or(config.PollInterval, time.Second)
	config.SyncPeriod = cmp.Or(config.SyncPeriod, time.Second)
	config.Kube.ControllerManagerArgs = append(config.Kube.ControllerManagerArgs,
		fmt.Sprintf("--horizontal-pod-autoscaler-sync-period=%s", config.SyncPeriod))
	control, err := NewControl(ctx, config.Kube)
	if err != nil {
		return nil, err
	}
	l := &Loop{Control: control, config: config}
	for _, step := range []func(context.Context) error{
		l.startSlurm, l.apply,
		func(ctx context.Context) error {
			return l.StartAdapters(ctx, config.Adapters, config.adapterFlags()...)
		},
		l.StartOperator, l.follow, l.awaitMetrics,
	} {
		if err := step(ctx); err != nil {
			return nil, errors.Join(err, l.Close())
		}
	}
	return l, nil
}

// adapterFlags are those of a quick adapter, unless the interval is a longer one.
func (c Config) adapterFlags() []string {
	flags := []string{"--slurm.poll-interval=" + c.PollInterval.String()}
	if c.PollInterval <= time.Second {
		flags = append(flags, "--metrics-max-age="+MaxAge.String(), "--slurm.timeout=3s")
	}
	return flags
}

// RestartAdapter starts a replica in the place of one that has ended.
func (l *Loop) RestartAdapter(ctx context.Context, gone *Adapter) error {
	_, err := l.StartAdapter(ctx, gone.Port, l.config.adapterFlags()...)
	return err
}

// Missing tells why a loop can not run on this machine, or is empty.
func Missing() string { return cmp.Or(realslurm.Missing(), realkube.Missing()) }

func (l *Loop) startSlurm(ctx context.Context) (err error) {
	l.Slurm, err = realslurm.Start(ctx, realslurm.Config{Version: l.config.Slurm, Nodes: 1, Conf: []string{
		"NodeSet=" + NodeSet + " Feature=" + NodeSet,
		"PartitionName=" + NodeSet + " Nodes=" + NodeSet + " MaxTime=INFINITE State=UP",
	}})
	if err != nil {
		return err
	}
	l.atClose(l.Slurm.Close)
	if _, err := l.Slurm.Run(ctx, "", "bash", "-c", `sacctmgr -i add qos capped GrpJobs=0 &&
		sacctmgr -i modify user alice set qos+=capped`); err != nil {
		return err
	}
	if l.config.Slurm == "24.11" {
		return l.makeRecords(ctx)
	}
	return nil
}

// makeRecords makes a FUTURE record for every worker that may come: 24.11 refuses jobs
// for nodes that it has never heard of. They have names of their own, since 24.11 talks
// to a slurmd that takes a record over on the default port only, and here all workers
// share one address.
func (l *Loop) makeRecords(ctx context.Context) error {
	_, err := l.Slurm.Run(ctx, "", "scontrol", "create", fmt.Sprintf("nodename=future-[0-%d]", MaxWorkers-1),
		"cpus=4", "realmemory=1000", "feature="+NodeSet, "state=future")
	return err
}

// Logs are what our programs have printed, and what Slurm shows.
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
		shown, err := l.Slurm.Run(context.Background(), "", command...)
		out += fmt.Sprintf("== %s %v\n%s", command[0], err, shown)
	}
	return out
}
