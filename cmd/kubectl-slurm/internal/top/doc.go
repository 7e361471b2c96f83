// Package top creates the tables of kubectl slurm top from observations. It is pure.
//
// Unknown numbers are nil and printed as <unknown>.
package top

import (
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/slurmtide/slurmtide/cmd/kubectl-slurm/internal/table"
)

// ClusterName identifies the Slurm cluster of a row.
type ClusterName struct {
	Namespace string `json:"namespace"`
	Cluster   string `json:"cluster"`
}

// NamespaceColumn says whether a table has a column for the namespace.
type NamespaceColumn string

// Whether a table has a column for the namespace.
const (
	OneNamespace   NamespaceColumn = "one"
	ManyNamespaces NamespaceColumn = "many"
)

// tableColumns puts the common columns of all tables before the others.
func tableColumns[R any](placed NamespaceColumn, of func(r *R) ClusterName, rest ...table.Column[R]) []table.Column[R] {
	cluster := table.Column[R]{Name: "CLUSTER", Value: func(r *R) table.Cell { return table.Text(of(r).Cluster) }}
	out := append([]table.Column[R]{cluster}, rest...)
	if placed == ManyNamespaces {
		out = append([]table.Column[R]{{Name: "NAMESPACE",
			Value: func(r *R) table.Cell { return table.Text(of(r).Namespace) }}}, out...)
	}
	return out
}

// ageCell formats the time since t as kubectl formats ages. It is <none> for nil.
func ageCell(now time.Time, t *time.Time) table.Cell {
	if t == nil {
		return table.Text("")
	}
	return durationCell(now.Sub(*t))
}

func durationCell(d time.Duration) table.Cell {
	return table.Number(duration.HumanDuration(max(0, d)), d.Seconds())
}

// shareCell formats "used/all" and sorts by used.
func shareCell(used, all uint64) table.Cell {
	return table.Number(fmt.Sprintf("%d/%d", used, all), float64(used))
}

// formatMemory formats MiB: as Mi below 10 GiB, as Gi with one decimal below 100 GiB, and as Gi
// above.
func formatMemory(mib uint64) string {
	const gib = 1024
	switch {
	case mib >= 100*gib:
		return fmt.Sprintf("%dGi", mib/gib)
	case mib >= 10*gib:
		return strings.TrimSuffix(fmt.Sprintf("%d.%d", mib/gib, mib%gib*10/gib), ".0") + "Gi"
	}
	return fmt.Sprintf("%dMi", mib)
}
