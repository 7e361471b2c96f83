package command

import (
	"fmt"
	"io"
	"slices"

	"github.com/slurmtide/slurmtide/cmd/kubectl-slurm/internal/table"
	"github.com/slurmtide/slurmtide/cmd/kubectl-slurm/internal/top"
)

// clusterTables prints one table for each cluster under the heading of squeue -M, and only the table for one cluster. Other
// formats than the plain one have all rows in one list.
type clusterTables[R any] struct {
	rows      []R
	clusterOf func(r *R) top.ClusterName
	table     func(rows []R) *table.Table[R]
	screen    table.Screen
}

// SetScreen sets the terminal to which the tables are printed.
func (c *clusterTables[R]) SetScreen(s table.Screen) { c.screen = s }

// print prints the table of some rows.
func (c *clusterTables[R]) print(w io.Writer, rows []R, f table.Format, h table.Headings) error {
	t := c.table(rows)
	t.Screen = c.screen
	return t.Print(w, f, h)
}

// Len returns the number of all rows.
func (c *clusterTables[R]) Len() int { return len(c.rows) }

// Sort sorts the rows within each cluster.
func (c *clusterTables[R]) Sort(by string) error {
	t := c.table(c.rows)
	if err := t.Sort(by); err != nil {
		return err
	}
	c.rows = t.Rows
	return nil
}

// Print writes the rows.
func (c *clusterTables[R]) Print(w io.Writer, f table.Format, h table.Headings) error {
	clusters := c.clusters()
	if f != table.Plain || len(clusters) < 2 {
		return c.print(w, c.rows, f, h)
	}
	for i, name := range clusters {
		if i > 0 {
			_, _ = fmt.Fprintln(w)
		}
		_, _ = fmt.Fprintf(w, "CLUSTER: %s/%s\n", name.Namespace, name.Cluster)
		rows := slices.DeleteFunc(slices.Clone(c.rows), func(r R) bool { return c.clusterOf(&r) != name })
		if err := c.print(w, rows, f, h); err != nil {
			return err
		}
	}
	return nil
}

// clusters returns the clusters that have rows, in the order of the rows.
func (c *clusterTables[R]) clusters() []top.ClusterName {
	var out []top.ClusterName
	for i := range c.rows {
		if name := c.clusterOf(&c.rows[i]); !slices.Contains(out, name) {
			out = append(out, name)
		}
	}
	return out
}
