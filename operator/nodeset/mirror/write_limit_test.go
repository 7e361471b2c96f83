package mirror

import (
	"testing"
	"time"

	"github.com/slurmtide/slurmtide/operator/nodeset/nodesettest"
	"github.com/slurmtide/slurmtide/operator/nodeset/plan"
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
		{"with no worker on its way all may be shown, in parts", nil, nodesettest.Noon, maxWrites,
			time.Millisecond},
		{"nor with a few", many(plan.Worker{Created: nodesettest.Noon})[1:], nodesettest.Noon, maxWrites,
			time.Millisecond},
		{"with many only some", many(plan.Worker{Created: nodesettest.Noon}),
			nodesettest.Noon.Add(-writeInterval),
			maxWritesWhileStarting, writeInterval},
		{"and none right after those", many(plan.Worker{Created: nodesettest.Noon}),
			nodesettest.Noon.Add(-writeInterval / 4), 0,
			writeInterval * 3 / 4},
		{"those that are Ready are up", many(plan.Worker{Created: nodesettest.Noon, Ready: true}), nodesettest.Noon,
			maxWrites,
			time.Millisecond},
		{"those that do not get up hold nothing for long",
			many(plan.Worker{Created: nodesettest.Noon.Add(-startingWithin)}), nodesettest.Noon,
			maxWrites, time.Millisecond},
		{"nor do those that go", many(plan.Worker{Created: nodesettest.Noon, DeletedAt: nodesettest.Noon}),
			nodesettest.Noon, maxWrites,
			time.Millisecond},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if room, again := WriteLimit(nodesettest.Noon, tc.workers, 0, tc.shown); room != tc.room ||
				again != tc.again {
				t.Errorf("%d now and the rest after %v, want %d and %v", room, again, tc.room, tc.again)
			}
		})
	}
}
