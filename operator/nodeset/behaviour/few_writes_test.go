package behaviour

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/slurmtide/slurmtide/operator/nodeset/nodesettest"
)

// filterWrites keeps the writes that are one of these.
func filterWrites(writes []string, these ...string) []string {
	return slices.DeleteFunc(slices.Clone(writes), func(w string) bool { return !slices.Contains(these, w) })
}

func TestAWorkerOnItsWayUpCostsFewWrites(t *testing.T) {
	r := newTestEnv(t, nodesettest.NewNodeSet(0, nodesettest.WithMaxReplicas(1)))
	r.pollAndReconcile()
	r.pollAndReconcile()
	r.clearWrites()
	r.scale(1)
	for range 3 {
		r.reconcile()
		r.kubelet()
		r.reconcile() // by a reading from before the worker existed
		r.pollAndReconcile()
		r.reconcile() // by a reading that is older than the worker's update in Slurm
	}
	want := []string{"create Pod gpu-0", "patch status Pod gpu-0"}
	if diff := cmp.Diff(want, filterWrites(r.writes, append(want, "patch Pod gpu-0")...)); diff != "" {
		t.Errorf("writes (-want +got):\n%s", diff)
	}
	if len(r.slurm.Calls) != 1 || !strings.HasPrefix(r.slurm.Calls[0], "update gpu-0") {
		t.Errorf("slurm was told %q", r.slurm.Calls)
	}
}

func TestNothingIsShownOnAWorkerThatIsDeleted(t *testing.T) {
	r := newTestEnv(t, nodesettest.NewNodeSet(1))
	r.startWorkers()
	r.scale(0)
	for range 3 {
		r.pollAndReconcile()
	}
	if diff := cmp.Diff([]string{"delete Pod gpu-0"},
		filterWrites(r.writes, "delete Pod gpu-0", "patch status Pod gpu-0")); diff != "" {
		t.Errorf("writes (-want +got):\n%s", diff)
	}
}

func TestManyCreatedWorkersAreOneEvent(t *testing.T) {
	r := newTestEnv(t, nodesettest.NewNodeSet(30))
	r.pollAndReconcile()
	r.pollAndReconcile()
	expectStrings(t, "the events", r.takeEvents(), "Normal SuccessfulCreate created 30 workers: gpu-[0-29]")
}

func TestAPodThatWasCreatedIsNotCreatedAgainAtOnce(t *testing.T) {
	r := newTestEnv(t, nodesettest.NewNodeSet(1))
	for r.podNames() == "" {
		r.pollAndReconcile()
	}
	pod := r.pod("gpu-0") // it is gone before the cache shows it
	r.must(r.Delete(t.Context(), pod, client.Preconditions{UID: &pod.UID, ResourceVersion: &pod.ResourceVersion}))
	r.clearWrites()
	if again := r.reconcile().RequeueAfter; again == 0 || again > 5*time.Second {
		t.Errorf("it is looked at again after %s", again)
	}
	expectStrings(t, "the writes at once", filterWrites(r.writes, "create Pod gpu-0"))
	r.now = r.now.Add(5 * time.Second)
	r.reconcile()
	r.pollAndReconcile() // which shows that nothing runs with its name
	expectStrings(t, "the writes", filterWrites(r.writes, "create Pod gpu-0"), "create Pod gpu-0")
}

func TestWorkersThatComeOneByOneAreCountedOnceASecond(t *testing.T) {
	r := newTestEnv(t, nodesettest.NewNodeSet(6))
	r.pollAndReconcile()
	r.pollAndReconcile()
	r.now = r.now.Add(10 * time.Second)
	r.clearWrites()
	began := r.now
	for i, pod := range r.pods()[:4] {
		nodesettest.SetRunning(pod, r.now)
		r.must(r.Status().Update(t.Context(), pod))
		if again := r.reconcile().RequeueAfter; i > 0 && (again <= 0 || again > time.Second) {
			t.Errorf("what was not told is looked at again after %s", again)
		}
		r.now = r.now.Add(100 * time.Millisecond)
	}
	const told = "patch status NodeSet gpu"
	if n := len(filterWrites(r.writes, told)); n != 1 {
		t.Errorf("%d statuses were written within %s: %q", n, r.now.Sub(began), r.writes)
	}
	r.now = began.Add(time.Second)
	r.reconcile()
	if got := r.nodeSet().Status.ReadyReplicas; got != 4 {
		t.Errorf("a second later %d workers are counted as ready", got)
	}
}
