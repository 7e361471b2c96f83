package command

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/slurmtide/slurmtide/slurmclient"
)

// PanickedClustersError lists clusters whose records make this program panic, which is a bug. The
// other clusters are still shown. The exit status is 1.
type PanickedClustersError struct {
	Clusters []string
	// Err is one of the panics with its stack.
	Err error
}

func (e *PanickedClustersError) Error() string {
	return fmt.Sprintf("cluster %s is not shown because of a bug in kubectl-slurm, please report it: %v",
		strings.Join(e.Clusters, ", "), e.Err)
}

func (e *PanickedClustersError) Unwrap() error { return e.Err }

// Run runs a command. It returns a panic as an error.
func Run(ctx context.Context, root *cobra.Command) (err error) {
	return cmp.Or(slurmclient.Guard("running the command", func() { err = root.ExecuteContext(ctx) }), err)
}

// callForCluster calls f, which works with the records of one cluster. It returns a panic as a
// *PanickedClustersError.
func callForCluster(cluster string, f func()) error {
	if err := slurmclient.Guard("reading its records", f); err != nil {
		return &PanickedClustersError{Clusters: []string{cluster}, Err: err}
	}
	return nil
}

// makeTable makes a table of the records of all clusters. If the records of some clusters panic, it
// returns the table of the others and a *PanickedClustersError.
func makeTable[T any](records []T, clusterOf func(*T) string, rows func([]T) rowTable) (t rowTable, err error) {
	all := slurmclient.Guard("making the table", func() { t = rows(records) })
	if all == nil {
		return t, nil
	}
	parts := map[string][]T{}
	for i := range records {
		name := clusterOf(&records[i])
		parts[name] = append(parts[name], records[i])
	}
	broken := PanickedClustersError{Err: all}
	var sound []T
	for _, name := range slices.Sorted(maps.Keys(parts)) {
		if err := callForCluster(name, func() { rows(parts[name]) }); err != nil {
			broken.Clusters = append(broken.Clusters, name)
			continue
		}
		sound = append(sound, parts[name]...)
	}
	if len(broken.Clusters) == 0 {
		return nil, all
	}
	if err := slurmclient.Guard("making the table", func() { t = rows(sound) }); err != nil {
		return nil, err
	}
	return t, &broken
}

// isPanickedClusters reports whether there is a table to show despite the error.
func isPanickedClusters(err error) bool {
	var broken *PanickedClustersError
	return errors.As(err, &broken)
}
