package expectations

import (
	"maps"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"
)

// creationTimeout is the time that the cache gets to show a created pod.
const creationTimeout = 5 * time.Second

// Pods are the writes of this process to the pods of one NodeSet that the cache does not
// show yet. Without them the next reconciliation would repeat the writes. Losing them costs
// requests that are refused or change nothing. Its methods are safe for concurrent use.
type Pods struct {
	mu      sync.Mutex
	written map[types.UID]*corev1.Pod // as the API server answered
	deleted map[types.UID]time.Time
	created map[string]createdPod // by name
}

// createdPod is a pod as the API server answered its creation, at a time.
type createdPod struct {
	pod *corev1.Pod
	at  time.Time
}

// NewPods returns the expectations of a NodeSet whose pods were not written yet.
func NewPods() *Pods {
	return &Pods{written: map[types.UID]*corev1.Pod{}, deleted: map[types.UID]time.Time{},
		created: map[string]createdPod{}}
}

// ExpectVersion remembers a pod as the API server answered a write.
func (m *Pods) ExpectVersion(pod *corev1.Pod) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.written[pod.UID] = pod
}

// ExpectDeletion remembers that a pod was deleted.
func (m *Pods) ExpectDeletion(uid types.UID, at time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.deleted[uid] = at
}

// ExpectCreation remembers that a pod was created.
func (m *Pods) ExpectCreation(pod *corev1.Pod, at time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.created[pod.Name] = createdPod{pod, at}
}

// OverlayWrites replaces cached pods that are older than the written ones, and adds created pods that may still appear.
// It forgets the writes that the cache shows. It returns how long the cache may still take to show the created pods, 0 if
// it shows all.
func (m *Pods) OverlayWrites(pods []corev1.Pod, now time.Time) ([]corev1.Pod, time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	written, deleted := map[types.UID]*corev1.Pod{}, map[types.UID]time.Time{}
	for i := range pods {
		pod := &pods[i]
		delete(m.created, pod.Name)
		if w := m.written[pod.UID]; w != nil && isNewer(w, pod) {
			written[pod.UID] = w
			pods[i] = *w
		}
		if at, ok := m.deleted[pod.UID]; ok && pod.DeletionTimestamp == nil {
			deleted[pod.UID] = at
			pod.DeletionTimestamp = &metav1.Time{Time: at}
		}
	}
	m.written, m.deleted = written, deleted
	wait := time.Duration(0)
	for _, name := range slices.Sorted(maps.Keys(m.created)) {
		left := m.created[name].at.Add(creationTimeout).Sub(now)
		if left <= 0 {
			delete(m.created, name)
			continue
		}
		pods, wait = append(pods, *m.created[name].pod), max(wait, left)
	}
	return pods, wait
}

// isNewer reports whether a is of a later version than b. Versions that cannot be compared are not
// newer.
func isNewer(a, b *corev1.Pod) bool {
	order, err := resourceversion.CompareResourceVersion(a.ResourceVersion, b.ResourceVersion)
	return err == nil && order > 0
}
