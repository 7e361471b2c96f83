package expectations

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/slurmtide/slurmtide/operator/nodeset/nodesettest"
)

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
			m := NewPods()
			m.ExpectVersion(written)
			for range 2 {
				pods := cached(tc.version)
				m.OverlayWrites(pods)
				if got := pods[0].Annotations["ours"] == "yes"; got != tc.ours {
					t.Errorf("it is as written: %t", got)
				}
			}
			if pods := cached("9"); !tc.ours {
				if m.OverlayWrites(pods); pods[0].Annotations["ours"] != "" {
					t.Error("it was not forgotten")
				}
			}
		})
	}
	t.Run("a pod that was deleted is going until the cache shows it", func(t *testing.T) {
		m := NewPods()
		m.ExpectDeletion(written.UID, nodesettest.Noon)
		pods := cached("9")
		if m.OverlayWrites(pods); pods[0].DeletionTimestamp == nil ||
			!pods[0].DeletionTimestamp.Equal(&metav1.Time{Time: nodesettest.Noon}) {
			t.Errorf("it goes at %v", pods[0].DeletionTimestamp)
		}
		if m.OverlayWrites(nil); len(m.deleted) > 0 {
			t.Error("it was not forgotten")
		}
	})
	t.Run("a pod that was created is awaited for a while, or until it is there", func(t *testing.T) {
		m := NewPods()
		m.ExpectCreation("gpu-0", nodesettest.Noon)
		got := []time.Duration{m.CreationPendingFor("gpu-0", nodesettest.Noon),
			m.CreationPendingFor("gpu-0", nodesettest.Noon.Add(time.Second)),
			m.CreationPendingFor("gpu-0", nodesettest.Noon.Add(time.Minute)),
			m.CreationPendingFor("gpu-1", nodesettest.Noon)}
		if diff := cmp.Diff([]time.Duration{creationTimeout, creationTimeout - time.Second, 0, 0}, got); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		if m.OverlayWrites(cached("9")); m.CreationPendingFor("gpu-0", nodesettest.Noon) > 0 {
			t.Error("it is awaited though it is there")
		}
	})
}
