package nodeset

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/slurmtide/slurmtide/operator/nodeset/nodesettest"
	"github.com/slurmtide/slurmtide/operator/nodeset/plan"
	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

func TestWhatIsShownWaitsForWorkersOnTheirWayUp(t *testing.T) {
	many := func(w plan.Worker) []plan.Worker {
		var out []plan.Worker
		for range manyStarting {
			out = append(out, w)
		}
		return out
	}
	for _, tc := range []struct {
		name    string
		workers []plan.Worker
		shown   time.Time
		room    int
		again   time.Duration
	}{
		{"with no worker on its way all may be shown, in parts", nil, nodesettest.Noon, maxConditionWrites,
			time.Millisecond},
		{"nor with a few", many(plan.Worker{Created: nodesettest.Noon})[1:], nodesettest.Noon, maxConditionWrites,
			time.Millisecond},
		{"with many only some", many(plan.Worker{Created: nodesettest.Noon}),
			nodesettest.Noon.Add(-conditionWriteInterval),
			maxConditionWritesWhileStarting, conditionWriteInterval},
		{"and none right after those", many(plan.Worker{Created: nodesettest.Noon}),
			nodesettest.Noon.Add(-conditionWriteInterval / 4), 0,
			conditionWriteInterval * 3 / 4},
		{"those that are Ready are up", many(plan.Worker{Created: nodesettest.Noon, Ready: true}), nodesettest.Noon,
			maxConditionWrites,
			time.Millisecond},
		{"those that do not get up hold nothing for long",
			many(plan.Worker{Created: nodesettest.Noon.Add(-startingWithin)}), nodesettest.Noon,
			maxConditionWrites, time.Millisecond},
		{"nor do those that go", many(plan.Worker{Created: nodesettest.Noon, DeletedAt: nodesettest.Noon}),
			nodesettest.Noon, maxConditionWrites,
			time.Millisecond},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := &observation{workers: tc.workers, expectations: &nodeSetExpectations{conditionsWrittenAt: tc.shown}}
			if room, again := conditionWriteLimit(nodesettest.Noon, s); room != tc.room || again != tc.again {
				t.Errorf("%d now and the rest after %v, want %d and %v", room, again, tc.room, tc.again)
			}
		})
	}
}

func TestTroubleIsShownFirst(t *testing.T) {
	r := newTestEnv(t, nodesettest.NewNodeSet(30))
	r.startWorkers()
	for i := range 30 {
		r.slurm.nodes[fmt.Sprintf("gpu-%d", i)].State.Base = slurm.NodeAllocated
	}
	r.slurm.nodes["gpu-29"].State.Base = slurm.NodeDown
	r.scale(30 + manyStarting)
	r.pollAndReconcile()
	var shown []string
	for _, w := range r.writes {
		if strings.HasPrefix(w, "patch status Pod") {
			shown = append(shown, w)
		}
	}
	if len(shown) != maxConditionWritesWhileStarting || !slices.Contains(shown, "patch status Pod gpu-29") {
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
	if r.slurm.refreshes != 1 {
		t.Errorf("a reading was asked for %d times", r.slurm.refreshes)
	}
	r.pollAndReconcile()
	expectStrings(t, "the events", r.takeEvents(),
		"Normal Drained 30 workers: it is drained and has no job: gpu-[0-29]",
		"Normal SuccessfulDelete 30 workers: it is drained and has no job: gpu-[0-29]")
	if r.slurm.refreshes != 1 {
		t.Errorf("then a reading was asked for %d times", r.slurm.refreshes)
	}
}
