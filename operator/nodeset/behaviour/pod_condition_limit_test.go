package behaviour

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/slurmtide/slurmtide/operator/nodeset/nodesettest"
	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

func TestTroubleIsShownFirst(t *testing.T) {
	r := newTestEnv(t, nodesettest.NewNodeSet(30))
	r.startWorkers()
	for i := range 30 {
		r.slurm.Nodes[fmt.Sprintf("gpu-%d", i)].State.Base = slurm.NodeAllocated
	}
	r.slurm.Nodes["gpu-29"].State.Base = slurm.NodeDown
	r.scale(30 + 20)
	r.pollAndReconcile()
	var shown []string
	for _, w := range r.writes {
		if strings.HasPrefix(w, "patch status Pod") {
			shown = append(shown, w)
		}
	}
	if len(shown) != 10 || !slices.Contains(shown, "patch status Pod gpu-29") {
		t.Errorf("shown: %q", shown)
	}
}

func TestManyDrainedWorkersAreOneEventAndSlurmIsReadSoon(t *testing.T) {
	r := newTestEnv(t, nodesettest.NewNodeSet(30))
	r.startWorkers()
	r.scale(0)
	r.pollAndReconcile()
	expectStrings(t, "the events", r.takeEvents(),
		"Normal DrainStarted 30 workers: slurm-operator: scale-in: gpu-[0-29]")
	if r.slurm.Refreshes != 1 {
		t.Errorf("a reading was asked for %d times", r.slurm.Refreshes)
	}
	r.pollAndReconcile()
	expectStrings(t, "the events", r.takeEvents(),
		"Normal Drained 30 workers: it is drained and has no job: gpu-[0-29]",
		"Normal SuccessfulDelete 30 workers: it is drained and has no job: gpu-[0-29]")
	if r.slurm.Refreshes != 1 {
		t.Errorf("then a reading was asked for %d times", r.slurm.Refreshes)
	}
}
