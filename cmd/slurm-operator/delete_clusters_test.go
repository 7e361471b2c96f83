package main

import (
	"io"
	"testing"
)

func TestDeleteClustersNeedsItsRelease(t *testing.T) {
	for _, args := range [][]string{nil, {"--release=slurm"}, {"--release-namespace=slurm"},
		{"--release=slurm", "--release-namespace=slurm", "--namespace=slurm"}} {
		if status := deleteClusters(t.Context(), args, io.Discard); status != 2 {
			t.Errorf("%q: exit status %d, not 2", args, status)
		}
	}
	args := []string{"--release=slurm", "--release-namespace=slurm", "--kube.config=/nonexistent"}
	if status := deleteClusters(t.Context(), args, io.Discard); status != 1 {
		t.Errorf("without Kubernetes: exit status %d, not 1", status)
	}
}
