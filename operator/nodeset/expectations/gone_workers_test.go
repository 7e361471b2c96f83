package expectations

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"

	"github.com/slurmtide/slurmtide/operator/nodeset/plan"
)

func TestMissedWorkers(t *testing.T) {
	at := func(seconds int) time.Time { return time.Unix(int64(seconds), 0) }
	workers := func(names ...string) (out []plan.Worker) {
		for _, name := range names {
			out = append(out, plan.Worker{SlurmName: name})
		}
		return out
	}
	store := New()
	s := store.ForNodeSet(types.NamespacedName{Name: "gpu"}, at(0))
	for i, step := range []struct {
		workers     []plan.Worker
		now, readAt int
		want        map[string]time.Time
	}{
		{workers("a", "b", ""), 10, 9, map[string]time.Time{}},
		{workers("b"), 20, 15, map[string]time.Time{"a": at(20)}},
		{workers("b"), 30, 19, map[string]time.Time{"a": at(20)}},
		{workers("a"), 40, 19, map[string]time.Time{"b": at(40)}},
		{workers("a"), 50, 40, map[string]time.Time{}},
		{workers(), 60, 60, map[string]time.Time{}},
	} {
		if diff := cmp.Diff(step.want, s.MissWorkers(step.workers, at(step.now), at(step.readAt))); diff != "" {
			t.Errorf("step %d:\n%s", i, diff)
		}
	}
	// A pod that disappears before any observation is missed, too.
	store.RememberWorker(s, "c")
	if diff := cmp.Diff(map[string]time.Time{"c": at(70)}, s.MissWorkers(nil, at(70), at(60))); diff != "" {
		t.Error(diff)
	}
}
