package occupancy_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/slurmtide/slurmtide/slurmclient/occupancy"
	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

// TestJobsThatClaimTooManyNodes: a server may answer anything. A few short texts must not fill the memory of a process that
// reads other clusters, too.
func TestJobsThatClaimTooManyNodes(t *testing.T) {
	for name, nodes := range map[string]func(id int) string{
		"different nodes for each job":    func(id int) string { return fmt.Sprintf("x%d-[0-1048000]", id) },
		"the same nodes for all the jobs": func(int) string { return "x-[0-1048000]" },
	} {
		t.Run(name, func(t *testing.T) {
			var jobs []*slurm.Job
			for id := range 200 {
				jobs = append(jobs, newJob(uint32(id+1), "RUNNING", onNodes(nodes(id))))
			}
			work, err := occupancy.ByNode(jobs)
			if err == nil || work != nil || !strings.Contains(err.Error(), "the jobs hold more than") {
				t.Errorf("work on %d nodes, %v", len(work), err)
			}
		})
	}
}
