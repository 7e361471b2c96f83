package expectations

import (
	"testing"
	"time"

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
				m.OverlayWrites(pods, nodesettest.Noon)
				if got := pods[0].Annotations["ours"] == "yes"; got != tc.ours {
					t.Errorf("it is as written: %t", got)
				}
			}
			if pods := cached("9"); !tc.ours {
				if m.OverlayWrites(pods, nodesettest.Noon); pods[0].Annotations["ours"] != "" {
					t.Error("it was not forgotten")
				}
			}
		})
	}
	t.Run("a pod that was deleted is going until the cache shows it", func(t *testing.T) {
		m := NewPods()
		m.ExpectDeletion(written.UID, nodesettest.Noon)
		pods := cached("9")
		if m.OverlayWrites(pods, nodesettest.Noon); pods[0].DeletionTimestamp == nil ||
			!pods[0].DeletionTimestamp.Equal(&metav1.Time{Time: nodesettest.Noon}) {
			t.Errorf("it goes at %v", pods[0].DeletionTimestamp)
		}
		if m.OverlayWrites(nil, nodesettest.Noon); len(m.deleted) > 0 {
			t.Error("it was not forgotten")
		}
	})
	t.Run("a pod that was created is there for a while, or until the cache shows it", func(t *testing.T) {
		m := NewPods()
		created := nodesettest.NewWorkerPod(1)
		m.ExpectCreation(created, nodesettest.Noon)
		for _, after := range []time.Duration{0, time.Second} {
			pods, wait := m.OverlayWrites(cached("9"), nodesettest.Noon.Add(after))
			if len(pods) != 2 || pods[1].UID != created.UID || wait != creationTimeout-after {
				t.Errorf("after %s there are %d pods, and the wait is %s", after, len(pods), wait)
			}
		}
		if pods, wait := m.OverlayWrites(append(cached("9"), *created), nodesettest.Noon); len(pods) != 2 || wait != 0 {
			t.Errorf("there are %d pods although the cache shows all, and the wait is %s", len(pods), wait)
		}
		if pods, _ := m.OverlayWrites(cached("9"), nodesettest.Noon); len(pods) != 1 {
			t.Error("a pod that the cache has shown is there again")
		}
		m.ExpectCreation(created, nodesettest.Noon)
		if pods, wait := m.OverlayWrites(nil, nodesettest.Noon.Add(creationTimeout)); len(pods) != 0 || wait != 0 {
			t.Error("it is there for good although the cache does not show it")
		}
	})
}
