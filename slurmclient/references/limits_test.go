package references_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/slurmtide/slurmtide/slurmclient/references"
	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

// pendingJobs returns pending jobs that name nodes.
func pendingJobs(count int, nodes func(id int) string) []*slurm.Job {
	var out []*slurm.Job
	for id := range count {
		out = append(out, &slurm.Job{ID: uint32(id + 1), State: slurm.ParseJobState("PENDING"),
			SharedDetails: slurm.ShareDetails(slurm.JobDetails{RequiredNodes: nodes(id)})})
	}
	return out
}

// TestJobsThatNameTooManyNodes: a server may answer anything. A few short texts must not fill the memory of a process that
// reads other clusters, too.
func TestJobsThatNameTooManyNodes(t *testing.T) {
	named, err := references.ByNode(pendingJobs(200, func(id int) string { return fmt.Sprintf("x%d-[0-1048000]", id) }), nil, nil)
	if err == nil || named != nil || !strings.Contains(err.Error(), "more than") {
		t.Errorf("%d nodes are named, %v", len(named), err)
	}
}

// TestManyJobsThatNameTheSameNodes: each distinct list is expanded once.
func TestManyJobsThatNameTheSameNodes(t *testing.T) {
	named, err := references.ByNode(pendingJobs(100_000, func(int) string { return "x-[0-9999]" }), nil, nil)
	if err != nil || len(named) != 10_000 || named["x-77"] != "job 1" {
		t.Errorf("%d nodes are named, x-77 by %s: %v", len(named), named["x-77"], err)
	}
}
