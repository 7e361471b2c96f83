package view

import (
	"context"
	"time"

	"golang.org/x/sync/singleflight"
	"k8s.io/apiserver/pkg/authorization/authorizer"

	"github.com/slurmtide/slurmtide/metricsapi"
	"github.com/slurmtide/slurmtide/metricsapi/view/v1alpha1"
	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

// Config configures a View.
type Config struct {
	// MaxAge is the maximum age of data from Slurm; 0 means metricsapi.DefaultMaxAge.
	MaxAge time.Duration
	// Users maps Kubernetes users to Slurm users.
	Users Users
	// Act carries out actions on nodes and jobs; nil disables them.
	Act ActFunc
	// OnPanic is called when creating objects of a cluster panicked; slurmclient.PanicOf returns
	// the stack. The cluster is formatted by ClusterRef.String, or empty if unknown. It may be nil
	// and must not block.
	OnPanic func(cluster string, err error)
	// Peers asks the other replicas what their clients have seen, so that watches that begin there continue here without repetition. It
	// may be nil.
	Peers Peers
	// OnPeerFailure is called with the error of Peers. It may be nil and must not block.
	OnPeerFailure func(error)
	// Now is the clock; nil means time.Now.
	Now func() time.Time
}

// View serves the jobs, nodes and partitions of Slurm clusters.
type View struct {
	cfg        Config
	directory  Directory
	jobs       *timeline[slurm.Job]
	nodes      *timeline[slurm.Node]
	partitions *timeline[slurm.Partition]
	long       longLists
	// ended is done when watches have to end.
	ended      context.Context
	endWatches context.CancelFunc
}

// New returns a View of the clusters. Watches receive changes only while Run is running.
func New(dir Directory, cfg Config) *View {
	if cfg.MaxAge <= 0 {
		cfg.MaxAge = metricsapi.DefaultMaxAge
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.OnPanic == nil {
		cfg.OnPanic = func(string, error) {}
	}
	if cfg.OnPeerFailure == nil {
		cfg.OnPeerFailure = func(error) {}
	}
	replica := newReplica()
	v := &View{
		cfg: cfg, directory: dir, long: newLongLists(), jobs: newTimeline(jobResource(), dir, cfg, replica),
		nodes:      newTimeline(nodeResource(), dir, cfg, replica),
		partitions: newTimeline(partitionResource(), dir, cfg, replica),
	}
	v.ended, v.endWatches = context.WithCancel(context.Background())
	return v
}

// EndWatches ends all watches, whose clients continue at other replicas, and those that begin later.
func (v *View) EndWatches() { v.endWatches() }

// Run keeps the timelines up to date until ctx ends.
func (v *View) Run(ctx context.Context) {
	for {
		changed := v.directory.Changed()
		// Requests get the same errors.
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

// stores returns the storage of each resource. The authorizer decides who may see private records.
func (v *View) stores(a authorizer.Authorizer) map[string]restStorage {
	return map[string]restStorage{
		v1alpha1.Jobs:       newStore(v, v.jobs, a),
		v1alpha1.Nodes:      newStore(v, v.nodes, a),
		v1alpha1.Partitions: newStore(v, v.partitions, a),
	}
}

func newStore[T any](v *View, line *timeline[T], a authorizer.Authorizer) *store[T] {
	return &store[T]{
		resource: line.resource, timeline: line, directory: v.directory, clock: v.cfg.Now, maxAge: v.cfg.MaxAge,
		long: v.long, ended: v.ended, peers: v.cfg.Peers, asked: &singleflight.Group{}, onPeerFailure: v.cfg.OnPeerFailure,
		guard: accessGuard{users: v.cfg.Users, authorizer: a, resource: line.resource.plural,
			hasOwners: line.resource.owner != nil},
	}
}
