package model

import (
	"fmt"
	"testing"

	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

func TestManyNodeNamesLeaveNoNode(t *testing.T) {
	const now = slurm.Time(1000)
	jobs := []*slurm.Job{{ID: 1, State: slurm.ParseJobState("COMPLETED"), Nodes: "n1", EndTime: now - 1}}
	for _, running := range []int{1, 3} {
		for id := range running {
			jobs = append(jobs, &slurm.Job{ID: uint32(id + 2), State: slurm.ParseJobState("RUNNING"),
				Nodes: fmt.Sprintf("n[%d-%d]", 2+id*100_000, 1+(id+1)*100_000)})
		}
		if got, want := len(leftNodesByName(now, jobs)), map[int]int{1: 1, 3: 0}[running]; got != want {
			t.Errorf("with %d jobs on 100,000 nodes each, jobs left %d nodes, want %d", len(jobs)-1, got, want)
		}
	}
}
