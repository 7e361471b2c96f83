package top

import (
	"strings"

	"github.com/slurmtide/slurmtide/cmd/kubectl-slurm/internal/table"
)

func words[R any](name string, of func(r *R) string) table.Column[R] {
	return table.Column[R]{Name: name, Of: func(r *R) table.Cell { return table.Text(of(r)) }}
}

func counts[R any](name string, of func(r *R) *uint64) table.Column[R] {
	return table.Column[R]{Name: name, Of: func(r *R) table.Cell { return table.CountOf(of(r)) }}
}

func wide[R any](c table.Column[R]) table.Column[R] {
	c.Wide = true
	return c
}

// shortColumn truncates long values except with -o wide.
func short[R any](most int, c table.Column[R]) table.Column[R] {
	c.Most = most
	return c
}

func joined(list []string) string { return strings.Join(list, ",") }
