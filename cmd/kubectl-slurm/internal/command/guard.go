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

// BrokenError tells that the records of some clusters make this program panic, which is a
// defect of it. What the others have is shown all the same; the exit status is 1.
type BrokenError struct {
	Clusters []string
	// Err is the panic of one of them, with its stack.
	Err error
}

func (e *BrokenError) Error() string {
	return fmt.Sprintf("cluster %s is not shown: a defect of kubectl-slurm, please report it: %v", strings.Join(e.Clusters, ", "), e.Err)
}

func (e *BrokenError) Unwrap() error { return e.Err }

// Run runs a command. A panic is an error.
func Run(ctx context.Context, root *cobra.Command) (err error) {
	return cmp.Or(slurmclient.Guard("running the command", func() { err = root.ExecuteContext(ctx) }), err)
}

// guardCluster calls f, which works with the records of one cluster. A panic is a
// *BrokenError.
func guardCluster(cluster string, f func()) error {
	if err := slurmclient.Guard("reading its records", f); err != nil {
		return &BrokenError{Clusters: []string{cluster}, Err: err}
	}
	return nil
}

// tableOf makes a table of the records of clusters. Where the records of some make that
// panic, the table is of the others, and the error is a *BrokenError.
func tableOf[T any](records []T, clusterOf func(*T) string, rows func([]T) printer) (t printer, err error) {
	all := slurmclient.Guard("making the table", func() { t = rows(records) })
	if all == nil {
		return t, nil
	}
	parts := map[string][]T{}
	for i := range records {
		name := clusterOf(&records[i])
		parts[name] = append(parts[name], records[i])
	}
	broken := BrokenError{Err: all}
	var sound []T
	for _, name := range slices.Sorted(maps.Keys(parts)) {
		if err := guardCluster(name, func() { rows(parts[name]) }); err != nil {
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

// isBroken reports whether an error leaves something to show.
func isBroken(err error) bool {
	var broken *BrokenError
	return errors.As(err, &broken)
}
