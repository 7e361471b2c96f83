package nodeset

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/slurmtide/slurmtide/operator/nodeset/plan"
	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

// about keeps the writes that are one of these.
func about(writes []string, these ...string) []string {
	return slices.DeleteFunc(slices.Clone(writes), func(w string) bool { return !slices.Contains(these, w) })
}

func TestAWorkerOnItsWayUpCostsFewWrites(t *testing.T) {
	r := newRig(t, gpu(0, most(1)))
	r.turn()
	r.turn()
	r.forget()
	r.scale(1)
	for range 3 {
		r.reconcile()
		r.kubelet()
		r.reconcile() // by a reading from before the worker was there
		r.turn()
		r.reconcile() // by a reading from before Slurm was told of the worker
	}
	want := []string{"create Pod gpu-0", "patch status Pod gpu-0"}
	if diff := cmp.Diff(want, about(r.writes, append(want, "patch Pod gpu-0")...)); diff != "" {
		t.Errorf("writes (-want +got):\n%s", diff)
	}
	if len(r.slurm.calls) != 1 || !strings.HasPrefix(r.slurm.calls[0], "update gpu-0") {
		t.Errorf("slurm was told %q", r.slurm.calls)
	}
}

func TestARecordFromBeforeTheWorkerIsNotShown(t *testing.T) {
	future := &slurm.Node{State: slurm.NodeState{Base: slurm.NodeFuture}}
	for _, tc := range []struct {
		name   string
		node   *slurm.Node
		readAt time.Duration // after noon, when the worker became Ready
		want   bool
	}{
		{"one of a node that has registered is", &slurm.Node{State: slurm.NodeState{Base: slurm.NodeIdle}}, 0, false},
		{"nothing at all is no record", nil, 0, false},
		{"a FUTURE one that was read before is not", future, -time.Second, true},
		{"a FUTURE one of the same second is not", future, 999 * time.Millisecond, true},
		{"a FUTURE one that was read later is", future, time.Second, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			w := &plan.Worker{Created: noon.Add(-time.Minute), ReadySince: noon}
			if got := older(noon.Add(tc.readAt), w, tc.node); got != tc.want {
				t.Errorf("it is older: %t", got)
			}
		})
	}
}

func TestNothingIsShownOnAWorkerThatIsDeleted(t *testing.T) {
	r := newRig(t, gpu(1))
	r.serve()
	r.scale(0)
	for range 3 {
		r.turn()
	}
	if diff := cmp.Diff([]string{"delete Pod gpu-0"}, about(r.writes, "delete Pod gpu-0", "patch status Pod gpu-0")); diff != "" {
		t.Errorf("writes (-want +got):\n%s", diff)
	}
}
