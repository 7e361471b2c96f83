//go:build e2e

package oracle

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/slurmtide/slurmtide/slurmclient"
	"github.com/slurmtide/slurmtide/test/harness/process"
	"github.com/slurmtide/slurmtide/test/harness/realslurm"
)

// slurmEnv is a real Slurm cluster that runs scenarios one after the other.
type slurmEnv struct {
	cluster  *realslurm.Cluster
	shell    *realslurm.Shell
	client   *slurmclient.Client
	baseConf string // slurm.conf of the started cluster
	port     string // the port of n1's slurmd

	variant   *Variant
	cache     *slurmclient.Cache
	stopCache func() // ends the cache
	workersUp []uint64
	idleJobID uint64 // the ID of the job that never starts; jobs of the queue have larger IDs
}

// prologScript is PrologSlurmctld. It blocks jobs, so they launch no process.
const prologScript = "#!/bin/sh\nexec sleep 86400\n"

// startAccountingCluster starts the cluster with the accounting database of all environments.
func startAccountingCluster(ctx context.Context, version string) (*realslurm.Cluster, error) {
	keeper, err := realslurm.Start(ctx, realslurm.Config{Version: version, Name: "keeper", Nodes: 1})
	if err != nil {
		return nil, err
	}
	var script []string
	for _, q := range slices.Concat(cpuQOS, gpuQOS) {
		script = append(script, "sacctmgr -Qi add qos "+q.name+" "+q.limits)
	}
	_, err = keeper.Run(ctx, "", "sh", "-exc", strings.Join(script, "\n"))
	return keeper, err
}

// newSlurmEnv starts a cluster with the name.
func newSlurmEnv(ctx context.Context, keeper *realslurm.Cluster, name string) (*slurmEnv, error) {
	cluster, err := realslurm.Start(ctx,
		realslurm.Config{Version: keeper.Version, Name: name, Nodes: 1, AccountingOf: keeper, Conf: []string{
			"AccountingStorageEnforce=nojobs",
			// Backfill evaluates all jobs each second.
			"SchedulerParameters=sched_interval=2,sched_min_interval=0,bf_interval=1,bf_continue,bf_max_job_test=1000",
			"SlurmdTimeout=65000",
			"MaxNodeCount=1000",
		}, MinJobAge: 2e9})
	if err != nil {
		return nil, err
	}
	if _, err := cluster.Run(ctx, "", "sh", "-exc", addAccounts(name)); err != nil {
		return nil, errors.Join(err, cluster.Close())
	}
	l := &slurmEnv{cluster: cluster, stopCache: func() {}}
	return l, l.setUp(ctx)
}

// addAccounts returns a script that allows root to use all accounts and QOS on the cluster.
func addAccounts(cluster string) string {
	var script []string
	for i, a := range limitedAccounts {
		parent := "root"
		if i > 0 {
			parent = limitedAccounts[0].name
		}
		script = append(script, fmt.Sprintf("sacctmgr -Qi add account %s cluster=%s parent=%s %s", a.name, cluster,
			parent, a.limits))
	}
	script = append(script,
		fmt.Sprintf("sacctmgr -Qi add user root cluster=%s account=%s", cluster, strings.Join(accountNames(), ",")),
		fmt.Sprintf("sacctmgr -Qi modify user root where cluster=%s set qos+=%s", cluster,
			strings.Join(limitNames(slices.Concat(cpuQOS, gpuQOS)), ",")))
	return strings.Join(script, "\n")
}

func (l *slurmEnv) setUp(ctx context.Context) (err error) {
	if err = process.WriteProgram(filepath.Join(l.cluster.Dir, "bin", "gate"), []byte(prologScript)); err != nil {
		return err
	}
	base, err := os.ReadFile(l.confPath())
	if err != nil {
		return err
	}
	l.baseConf = string(base) + "PrologSlurmctld=/inst/bin/gate\n"
	port := regexp.MustCompile(`NodeName=n\[1-1\].* Port=\[(\d+)-`).FindSubmatch(base)
	if port == nil {
		return fmt.Errorf("no port of n1 in %s", base)
	}
	l.port = string(port[1])
	if l.shell, err = l.cluster.OpenShell(ctx); err != nil {
		return err
	}
	l.client, err = slurmclient.New(slurmclient.Config{URL: l.cluster.URL,
		Token: slurmclient.TokenFromFile(l.cluster.TokenFile)})
	return err
}

func (l *slurmEnv) confPath() string { return filepath.Join(l.cluster.Dir, "etc", "slurm.conf") }

// close stops the cluster.
func (l *slurmEnv) close() error {
	l.stopCache()
	var err error
	if l.shell != nil {
		err = l.shell.Close()
	}
	return errors.Join(err, l.cluster.Close())
}

// setVariant restarts slurmctld with a variant and without any workers.
func (l *slurmEnv) setVariant(ctx context.Context, v *Variant) error {
	l.stopCache()
	l.variant, l.workersUp = v, make([]uint64, len(v.Pools))
	if err := l.cluster.Stop(ctx, "slurmctld"); err != nil {
		return err
	}
	if err := os.WriteFile(l.confPath(), []byte(v.slurmConf(l.baseConf, l.port)), 0o644); err != nil {
		return err
	}
	if err := l.startSlurmctld(ctx); err != nil {
		return err
	}
	names := l.allWorkers()
	out, err := l.shell.Run(strings.Join([]string{
		`until sinfo -h -n n1 -o %T | grep -q "^idle$"; do sleep 0.2; done`,
		"scontrol update nodename=" + names + " state=down reason=oracle",
		"scontrol update nodename=" + names + " state=resume",
		"while sinfo -h -N -n " + names + ` -o %T | grep -qv "^idle$"; do sleep 0.2; done`,
		"scontrol update nodename=n1," + names + " state=drain reason=oracle",
	}, "\n"))
	if err != nil {
		return fmt.Errorf("%w: %s", err, out)
	}
	l.startCache(ctx)
	return nil
}

// startSlurmctld starts slurmctld without its saved state, and again if it does not answer:
// slurmdbd 24.11 can deadlock with a slurmctld that waits for slurmdbd.
func (l *slurmEnv) startSlurmctld(ctx context.Context) error {
	for tries := 0; ; tries++ {
		if err := l.cluster.Start(ctx, "slurmctld", "-c"); err != nil {
			return err
		}
		out, err := l.shell.Run(`(for i in $(seq 60); do timeout 1 scontrol ping | grep -q "is UP" && exit 0; sleep 0.5; done; exit 1)`)
		if err == nil {
			return nil
		}
		if tries == 5 {
			return fmt.Errorf("slurmctld does not answer: %w: %s", err, out)
		}
		if err := l.cluster.Stop(ctx, "slurmctld"); err != nil {
			return err
		}
	}
}

// startCache starts a new cache, since job IDs start over.
func (l *slurmEnv) startCache(ctx context.Context) {
	l.cache = slurmclient.NewCache(l.client, slurmclient.CacheConfig{
		Period: 1e18, Slow: 1e18, JobsReader: slurmclient.ReadList, Resources: snapshotResources(),
	})
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan struct{})
	cache := l.cache
	go func() { defer close(ended); cache.Run(ctx) }()
	l.stopCache = func() { cancel(); <-ended }
}

func snapshotResources() []slurmclient.Resource {
	return []slurmclient.Resource{
		slurmclient.Nodes, slurmclient.Jobs, slurmclient.Partitions, slurmclient.Reservations,
		slurmclient.Licenses, slurmclient.Stats, slurmclient.QOS, slurmclient.Associations, slurmclient.Conf,
	}
}

func (l *slurmEnv) allWorkers() string {
	var names []string
	for _, p := range l.variant.Pools {
		names = append(names, workerHostlist(p.Name, 0, p.Max))
	}
	return strings.Join(names, ",")
}
