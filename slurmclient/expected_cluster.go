package slurmclient

import (
	"context"
	"fmt"

	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

type expectedClusterKey struct{}

// WithCluster returns a context whose requests fail with CodeConflict when a Slurm cluster of
// another name answers. A write may have been carried out by then, so callers that must not write to
// another cluster read first. An empty name accepts any cluster.
func WithCluster(ctx context.Context, name string) context.Context {
	return context.WithValue(ctx, expectedClusterKey{}, name)
}

// ExpectsCluster reports whether the context expects the answers of a particular cluster.
func ExpectsCluster(ctx context.Context) bool {
	name, _ := ctx.Value(expectedClusterKey{}).(string)
	return name != ""
}

// checkCluster returns an error if the answer comes from another cluster than the context expects.
func checkCluster(ctx context.Context, op string, from slurm.Server) error {
	want, _ := ctx.Value(expectedClusterKey{}).(string)
	if want == "" || from.Cluster == "" || want == from.Cluster {
		return nil
	}
	return &Error{Code: CodeConflict, Op: op,
		Message: fmt.Sprintf("the answer comes from Slurm cluster %s instead of %s", from.Cluster, want)}
}
