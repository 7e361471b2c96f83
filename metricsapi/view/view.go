package view

import (
	"context"
	"time"

	"k8s.io/apiserver/pkg/authorization/authorizer"

	"github.com/slurmtide/slurmtide/metricsapi"
	"github.com/slurmtide/slurmtide/metricsapi/view/v1alpha1"
	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

// Config says how a View answers.
type Config struct {
	// MaxAge is how old what was read from Slurm may be; 0 means metricsapi.DefaultMaxAge.
	MaxAge time.Duration
	// Users says who is who in Slurm.
	Users Users
	// Failed is told when objects of a cluster could not be made since something panicked;
	// slurmclient.PanicOf finds the stack. The cluster is as Home.String has it, empty where
	// it is not known. nil for nobody. It must not block.
	Failed func(cluster string, err error)
	// Now is the clock; nil means time.Now.
	Now func() time.Time
}

// View shows the jobs, nodes and partitions of Slurm clusters.
type View struct {
	cfg        Config
	dir        Directory
	jobs       *timeline[slurm.Job]
	nodes      *timeline[slurm.Node]
	partitions *timeline[slurm.Partition]
}

// New returns a View of the clusters. Run makes watches see what changes.
func New(dir Directory, cfg Config) *View {
	if cfg.MaxAge <= 0 {
		cfg.MaxAge = metricsapi.DefaultMaxAge
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.Failed == nil {
		cfg.Failed = func(string, error) {}
	}
	v := &View{
		cfg: cfg, dir: dir, jobs: newTimeline(jobNoun(), dir.Sources, cfg.Now),
		nodes: newTimeline(nodeNoun(), dir.Sources, cfg.Now), partitions: newTimeline(partitionNoun(), dir.Sources, cfg.Now),
	}
	v.jobs.failed, v.nodes.failed, v.partitions.failed = cfg.Failed, cfg.Failed, cfg.Failed
	return v
}

// Run keeps the timelines up to date until ctx ends.
func (v *View) Run(ctx context.Context) {
	for {
		changed := v.dir.Changed()
		// What fails here fails for those who ask, too, and they are told.
		_, _ = v.jobs.refresh()
		_, _ = v.nodes.refresh()
		_, _ = v.partitions.refresh()
		select {
		case <-changed:
		case <-ctx.Done():
			return
		}
	}
}

// stores are what answers requests, by resource. The authorizer is asked who may see
// what is private.
func (v *View) stores(a authorizer.Authorizer) map[string]stored {
	return map[string]stored{
		v1alpha1.Jobs:       storeOf(v, v.jobs, a),
		v1alpha1.Nodes:      storeOf(v, v.nodes, a),
		v1alpha1.Partitions: storeOf(v, v.partitions, a),
	}
}

func storeOf[T any](v *View, line *timeline[T], a authorizer.Authorizer) *store[T] {
	return &store[T]{
		noun: line.noun, line: line, dir: v.dir, clock: v.cfg.Now, maxAge: v.cfg.MaxAge,
		guard: guard{users: v.cfg.Users, authorizer: a, resource: line.noun.resource, owned: line.noun.owner != nil},
	}
}
