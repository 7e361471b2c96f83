package nodeset

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

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
		r.reconcile() // by a reading from before the worker was there
		r.pollAndReconcile()
		r.reconcile() // by a reading that is older than the worker's update in Slurm
	}
	want := []string{"create Pod gpu-0", "patch status Pod gpu-0"}
	if diff := cmp.Diff(want, filterWrites(r.writes, append(want, "patch Pod gpu-0")...)); diff != "" {
		t.Errorf("writes (-want +got):\n%s", diff)
	}
	if len(r.slurm.calls) != 1 || !strings.HasPrefix(r.slurm.calls[0], "update gpu-0") {
		t.Errorf("slurm was told %q", r.slurm.calls)
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

func TestWhatTheCacheDoesNotShowYet(t *testing.T) {
	cached := func(version string) []corev1.Pod {
		p := nodesettest.NewWorkerPod(0)
		p.ResourceVersion = version
		return []corev1.Pod{*p}
	}
	written := nodesettest.NewWorkerPod(0, func(p *corev1.Pod) {
		p.ResourceVersion, p.Annotations = "10",
			map[string]string{"ours": "yes"}
	})
	for _, tc := range []struct {
		name    string
		version string
		ours    bool
	}{
		{"a pod is as it was written while the cache is older", "9", true},
		{"a pod is as the cache has it when that is as new", "10", false},
		{"a pod is as the cache has it when that is newer", "11", false},
		{"a pod is as the cache has it when that cannot be told", "x", false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			m := newPodExpectations()
			m.expectVersion(written)
			for range 2 {
				pods := cached(tc.version)
				m.overlayWrites(pods)
				if got := pods[0].Annotations["ours"] == "yes"; got != tc.ours {
					t.Errorf("it is as written: %t", got)
				}
			}
			if pods := cached("9"); !tc.ours {
				if m.overlayWrites(pods); pods[0].Annotations["ours"] != "" {
					t.Error("it was not forgotten")
				}
			}
		})
	}
	t.Run("a pod that was deleted is going until the cache shows it", func(t *testing.T) {
		m := newPodExpectations()
		m.expectDeletion(written.UID, nodesettest.Noon)
		pods := cached("9")
		if m.overlayWrites(pods); pods[0].DeletionTimestamp == nil ||
			!pods[0].DeletionTimestamp.Equal(&metav1.Time{Time: nodesettest.Noon}) {
			t.Errorf("it goes at %v", pods[0].DeletionTimestamp)
		}
		if m.overlayWrites(nil); len(m.deleted) > 0 {
			t.Error("it was not forgotten")
		}
	})
	t.Run("a pod that was created is awaited for a while, or until it is there", func(t *testing.T) {
		m := newPodExpectations()
		m.expectCreation("gpu-0", nodesettest.Noon)
		got := []time.Duration{m.creationPendingFor("gpu-0", nodesettest.Noon),
			m.creationPendingFor("gpu-0", nodesettest.Noon.Add(time.Second)),
			m.creationPendingFor("gpu-0", nodesettest.Noon.Add(time.Minute)),
			m.creationPendingFor("gpu-1", nodesettest.Noon)}
		if diff := cmp.Diff([]time.Duration{creationTimeout, creationTimeout - time.Second, 0, 0}, got); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		if m.overlayWrites(cached("9")); m.creationPendingFor("gpu-0", nodesettest.Noon) > 0 {
			t.Error("it is awaited though it is there")
		}
	})
}

func TestManyCreatedWorkersAreOneEvent(t *testing.T) {
	r := newTestEnv(t, nodesettest.NewNodeSet(30))
	r.pollAndReconcile()
	r.pollAndReconcile()
	expectStrings(t, "the events", r.takeEvents(), "Normal SuccessfulCreate created 30 workers: gpu-[0-29]")
}

func TestAPodThatWasCreatedIsNotCreatedAgainAtOnce(t *testing.T) {
	r := newTestEnv(t, nodesettest.NewNodeSet(1))
	r.expectations.forNodeSet(request.NamespacedName, r.now).pods.expectCreation(
		"gpu-0", r.now) // and is gone before the cache had it
	if again := r.reconcile().RequeueAfter; again == 0 || again > creationTimeout {
		t.Errorf("it is looked at again after %s", again)
	}
	expectStrings(t, "the writes at once", filterWrites(r.writes, "create Pod gpu-0"))
	r.now = r.now.Add(creationTimeout)
	r.reconcile()
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
		if again := r.reconcile().RequeueAfter; i > 0 && (again <= 0 || again > statusInterval) {
			t.Errorf("what was not told is looked at again after %s", again)
		}
		r.now = r.now.Add(100 * time.Millisecond)
	}
	const told = "patch status NodeSet gpu"
	if n := len(filterWrites(r.writes, told)); n != 1 {
		t.Errorf("%d statuses were written within %s: %q", n, r.now.Sub(began), r.writes)
	}
	r.now = began.Add(statusInterval)
	r.reconcile()
	if got := r.nodeSet().Status.ReadyReplicas; got != 4 {
		t.Errorf("a second later %d workers are counted as ready", got)
	}
}
