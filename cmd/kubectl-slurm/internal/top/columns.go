package top

import (
	"strings"

	"github.com/slurmtide/slurmtide/cmd/kubectl-slurm/internal/table"
)

func textColumn[R any](name string, of func(r *R) string) table.Column[R] {
	return table.Column[R]{Name: name, Value: func(r *R) table.Cell { return table.Text(of(r)) }}
}

func countColumn[R any](name string, of func(r *R) *uint64) table.Column[R] {
	return table.Column[R]{Name: name, Value: func(r *R) table.Cell { return table.CountOf(of(r)) }}
}

func wideColumn[R any](c table.Column[R]) table.Column[R] {
	c.Wide = true
	return c
}

// shortColumn truncates long values except with -o wide.
func shortColumn[R any](most int, c table.Column[R]) table.Column[R] {
	c.MaxLetters = most
	return c
}

func joinList(list []string) string { return strings.Join(list, ",") }
