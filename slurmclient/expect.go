package slurmclient

import (
	"context"
	"fmt"

	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

type clusterKey struct{}

// WithCluster returns a context whose requests fail with CodeConflict when the answer comes
// from a Slurm cluster of another name. A write may have been done then: whoever must not
// write to another cluster reads first. An empty name is that of any cluster.
func WithCluster(ctx context.Context, name string) context.Context {
	return context.WithValue(ctx, clusterKey{}, name)
}

// ExpectsCluster reports whether the context expects answers of one cluster.
func ExpectsCluster(ctx context.Context) bool {
	name, _ := ctx.Value(clusterKey{}).(string)
	return name != ""
}

// otherCluster is the error for an answer from another cluster than the context expects.
func otherCluster(ctx context.Context, op string, from slurm.Server) error {
	want, _ := ctx.Value(clusterKey{}).(string)
	if want == "" || from.Cluster == "" || want == from.Cluster {
		return nil
	}
	return &Error{Code: CodeConflict, Op: op, Message: fmt.Sprintf("the Slurm cluster %s answers, and not %s", from.Cluster, want)}
}
