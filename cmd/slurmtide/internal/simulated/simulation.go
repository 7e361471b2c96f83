// Package simulated plays the demo on any machine without Kubernetes. It simulates Slurm behind the
// API of slurmrestd, computes demand as the adapter does, and scales workers as the operator does.
package simulated

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/slurmtide/slurmtide/cmd/slurmtide/internal/burst"
	"github.com/slurmtide/slurmtide/cmd/slurmtide/internal/play"
	"github.com/slurmtide/slurmtide/cmd/slurmtide/internal/steps"
	"github.com/slurmtide/slurmtide/cmd/slurmtide/internal/timeline"
	"github.com/slurmtide/slurmtide/slurmclient"
	"github.com/slurmtide/slurmtide/slurmclient/demand"
	"github.com/slurmtide/slurmtide/slurmclient/slurm"
	"github.com/slurmtide/slurmtide/slurmclient/slurmtest"
)

// NodeSet is a set of identical workers. The name of the set is also their feature.
type NodeSet struct {
	Name string
	Max  int
	CPUs uint32
	// MemoryMiB is RealMemory and GRES is Gres as in slurm.conf.
	MemoryMiB uint64
	GRES      string
}

// scaleInterval is the time between two scaling decisions.
const scaleInterval = 500 * time.Millisecond

// Simulation is a running simulation. It is safe for concurrent use.
type Simulation struct {
	cluster *slurmtest.Cluster
	client  *slurmclient.Client
	cache   *slurmclient.Cache
	server  *http.Server
	cancel  context.CancelFunc
	wg      sync.WaitGroup

	mu     sync.Mutex
	sets   []workerSet
	demand demand.Demand
}

// New starts a simulation without workers. It runs until Close.
func New(ctx context.Context, sets ...NodeSet) (*Simulation, error) {
	cfg := slurmtest.Config{Partitions: []slurmtest.PartitionConf{{Name: "all"}}}
	for i, s := range sets {
		cfg.Partitions = append(cfg.Partitions, slurmtest.PartitionConf{Name: s.Name, Feature: s.Name, Default: i == 0})
	}
	w := &Simulation{cluster: slurmtest.New(cfg)}
	for _, s := range sets {
		if err := w.cluster.CreateNodes(s.futureRecords()); err != nil {
			return nil, fmt.Errorf("creating the node records of workers: %w", err)
		}
		w.sets = append(w.sets, workerSet{NodeSet: s})
	}
	return w, w.start(ctx)
}

// futureRecords returns the node line that creates a FUTURE record for every worker.
func (s NodeSet) futureRecords() string {
	line := fmt.Sprintf("NodeName=%s-[0-%d] CPUs=%d RealMemory=%d Feature=%s State=FUTURE", s.Name, s.Max-1, s.CPUs,
		s.MemoryMiB, s.Name)
	if s.GRES != "" {
		line += " Gres=" + s.GRES
	}
	return line
}

// start starts slurmrestd, the cache that polls it, and the scaling.
func (w *Simulation) start(ctx context.Context) error {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return fmt.Errorf("starting the simulation: %w", err)
	}
	w.server = &http.Server{Handler: w.cluster.Handler(), ReadHeaderTimeout: 10 * time.Second}
	w.client, err = slurmclient.New(slurmclient.Config{
		URL:   "http://" + listener.Addr().String(),
		Token: slurmclient.TokenFromKey([]byte("simulated"), "root", time.Hour, time.Now),
	})
	if err != nil {
		return errors.Join(err, listener.Close())
	}
	w.cache = slurmclient.NewCache(w.client, slurmclient.CacheConfig{
		Period: time.Second, Resources: []slurmclient.Resource{slurmclient.Nodes, slurmclient.Jobs,
			slurmclient.Partitions},
	})
	ctx, w.cancel = context.WithCancel(ctx)
	w.wg.Go(func() { _ = w.server.Serve(listener) })
	w.wg.Go(func() { w.cluster.Run(ctx) })
	w.wg.Go(func() { w.cache.Run(ctx) })
	w.wg.Go(func() { w.runScaling(ctx) })
	return nil
}

// Close stops the simulation and waits for it.
func (w *Simulation) Close() {
	w.cancel()
	_ = w.server.Close()
	w.wg.Wait()
	w.client.Close()
}

// Steps returns one step, which waits until demand is known.
func (w *Simulation) Steps() []steps.Step {
	return []steps.Step{{Name: "read the simulated Slurm", Do: func(ctx context.Context, _ func(steps.Progress)) error {
		for {
			w.mu.Lock()
			known := w.demand.Known
			w.mu.Unlock()
			if known {
				return nil
			}
			select {
			case <-ctx.Done():
				return context.Cause(ctx)
			case <-time.After(scaleInterval):
			}
		}
	}}}
}

// Submit submits a job as sbatch does.
func (w *Simulation) Submit(ctx context.Context, s burst.JobTemplate) (uint32, error) {
	return w.client.SubmitJob(ctx, s.JobRequest())
}

// Cancel cancels a job.
func (w *Simulation) Cancel(ctx context.Context, id uint32) error {
	return w.client.CancelJob(ctx, fmt.Sprint(id))
}

// Observe reads Slurm and returns it with the state of the workers.
func (w *Simulation) Observe(ctx context.Context) (play.Observation, error) {
	nodes, nodesErr := w.client.Nodes(ctx, 0)
	jobs, jobsErr := w.client.Jobs(ctx, 0)
	w.mu.Lock()
	defer w.mu.Unlock()
	observed := play.Observation{Jobs: jobs.Items, JobsKnown: jobsErr == nil,
		Unsatisfiable: timeline.Reading{Known: w.demand.Known}}
	for _, c := range w.sets {
		pool, _ := w.demand.Pool(c.Name)
		set := timeline.Set{
			Name: c.Name, Max: c.Max, Desired: timeline.Known(c.replicas), Known: nodesErr == nil,
			Required: timeline.Reading{Value: int(pool.Required),
				Known: w.demand.Known}, //nolint:gosec // no more than Max
		}
		if set.Known {
			set.Workers = c.observeWorkers(nodes.Items)
		}
		observed.Unsatisfiable.Value += len(pool.Unsatisfiable)
		observed.Sample.Sets = append(observed.Sample.Sets, set)
	}
	return observed, errors.Join(nodesErr, jobsErr)
}

// findNode returns the node with the name, or nil.
func findNode(nodes []*slurm.Node, name string) *slurm.Node {
	for _, n := range nodes {
		if n.Name == name {
			return n
		}
	}
	return nil
}
