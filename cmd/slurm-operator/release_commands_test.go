package main

import (
	"io"
	"slices"
	"testing"
)

func TestReleaseCommandsCheckTheirFlags(t *testing.T) {
	complete := []string{"--release=slurm", "--release-namespace=slurm"}
	for _, c := range releaseCommands() {
		for _, args := range [][]string{nil, complete[:1], complete[1:], append(slices.Clone(complete), "--namespace=slurm"),
			append(slices.Clone(complete), "--timeout=-1s"), append(slices.Clone(complete), "now")} {
			if status := c.run(t.Context(), args, io.Discard); status != 2 {
				t.Errorf("%s %q: exit status %d, not 2", c.name, args, status)
			}
		}
		if status := c.run(t.Context(), append(slices.Clone(complete), "--kube.config=/nonexistent"), io.Discard); status != 1 {
			t.Errorf("%s without Kubernetes: exit status %d, not 1", c.name, status)
		}
	}
}
