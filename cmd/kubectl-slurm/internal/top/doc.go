// Package top makes the tables of kubectl slurm top of what was observed. It is pure.
//
// A number is nil where it is not known, and then is printed as <unknown>.
package top

import (
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/slurmtide/slurmtide/cmd/kubectl-slurm/internal/table"
)

// ClusterName tells which Slurm cluster a row is of.
type ClusterName struct {
	Namespace string `json:"namespace"`
	Cluster   string `json:"cluster"`
}

// Placed says whether a table has a column for the namespace.
type Placed string

// Whether a table has a column for the namespace.
const (
	OneNamespace   Placed = "one"
	ManyNamespaces Placed = "many"
)

// columns puts the columns of all tables before those of one.
func columns[R any](placed Placed, of func(r *R) ClusterName, rest ...table.Column[R]) []table.Column[R] {
	cluster := table.Column[R]{Name: "CLUSTER", Of: func(r *R) table.Cell { return table.Text(of(r).Cluster) }}
	out := append([]table.Column[R]{cluster}, rest...)
	if placed == ManyNamespaces {
		out = append([]table.Column[R]{{Name: "NAMESPACE", Of: func(r *R) table.Cell { return table.Text(of(r).Namespace) }}}, out...)
	}
	return out
}

// since is how long ago a time was, as kubectl prints ages; none for no time.
func since(now time.Time, t *time.Time) table.Cell {
	if t == nil {
		return table.Text("")
	}
	return span(now.Sub(*t))
}

func span(d time.Duration) table.Cell {
	return table.Number(duration.HumanDuration(max(0, d)), d.Seconds())
}

// share is "used/all", sorted by what is used.
func share(used, all uint64) table.Cell {
	return table.Number(fmt.Sprintf("%d/%d", used, all), float64(used))
}

// memory is a number of MiB as people read it: with a tenth of a GiB up to 100 of them.
func memory(mib uint64) string {
	const gib = 1024
	switch {
	case mib >= 100*gib:
		return fmt.Sprintf("%dGi", mib/gib)
	case mib >= 10*gib:
		return strings.TrimSuffix(fmt.Sprintf("%d.%d", mib/gib, mib%gib*10/gib), ".0") + "Gi"
	}
	return fmt.Sprintf("%dMi", mib)
}
