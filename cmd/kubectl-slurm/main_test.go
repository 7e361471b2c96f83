package main

import (
	"context"
	"testing"
)

func TestExitStatus(t *testing.T) {
	gone, stop := context.WithCancel(t.Context())
	stop()
	for _, tc := range []struct {
		name string
		ctx  context.Context
		args []string
		want int
	}{
		{"help", t.Context(), []string{"--help"}, 0},
		{"no command", t.Context(), nil, 0},
		{"no such command", t.Context(), []string{"bottom"}, 2},
		{"no such table", t.Context(), []string{"top", "racks"}, 2},
		{"no such flag", t.Context(), []string{"top", "jobs", "--fast"}, 2},
		{"an argument too few", t.Context(), []string{"explain", "job"}, 2},
		{"nobody answers", t.Context(),
			[]string{"top", "jobs", "--kubeconfig=/dev/null", "--server=http://127.0.0.1:1"}, 2},
		{"interrupted", gone, []string{"doctor", "--kubeconfig=/dev/null", "--server=http://127.0.0.1:1"},
			exitInterrupted},
		{"interrupted while watching", gone,
			[]string{"top", "jobs", "--watch", "--kubeconfig=/dev/null", "--server=http://127.0.0.1:1"}, 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := run(tc.ctx, tc.args); got != tc.want {
				t.Errorf("the exit status is %d, want %d", got, tc.want)
			}
		})
	}
}
