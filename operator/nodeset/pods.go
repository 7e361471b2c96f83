package nodeset

import (
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"
)

// createdWithin is how long the cache may take to have a pod that was created.
const createdWithin = 5 * time.Second

// podMemory is what the process has done to the pods of one NodeSet and the cache does
// not show yet: without it the next look would do it again. Losing it costs requests that
// are refused or change nothing. Its methods may be called by several goroutines.
type podMemory struct {
	mu      sync.Mutex
	written map[types.UID]*corev1.Pod // as the API server answered
	deleted map[types.UID]time.Time
	created map[string]time.Time // by name
}

func newPodMemory() *podMemory {
	return &podMemory{written: map[types.UID]*corev1.Pod{}, deleted: map[types.UID]time.Time{}, created: map[string]time.Time{}}
}

func (m *podMemory) wrote(pod *corev1.Pod) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.written[pod.UID] = pod
}

func (m *podMemory) removed(uid types.UID, at time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.deleted[uid] = at
}

func (m *podMemory) made(name string, at time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.created[name] = at
}

// awaited is how long the cache has still time to have a pod of the name that was
// created, 0 for none that was.
func (m *podMemory) awaited(name string, now time.Time) time.Duration {
	m.mu.Lock()
	defer m.mu.Unlock()
	at, ok := m.created[name]
	if !ok {
		return 0
	}
	return max(0, at.Add(createdWithin).Sub(now))
}

// newest puts the versions that are newer than those of the cache in their place, and
// forgets what the cache has.
func (m *podMemory) newest(pods []corev1.Pod) {
	m.mu.Lock()
	defer m.mu.Unlock()
	written, deleted := map[types.UID]*corev1.Pod{}, map[types.UID]time.Time{}
	for i := range pods {
		pod := &pods[i]
		delete(m.created, pod.Name)
		if w := m.written[pod.UID]; w != nil && newer(w, pod) {
			written[pod.UID] = w
			pods[i] = *w
		}
		if at, ok := m.deleted[pod.UID]; ok && pod.DeletionTimestamp == nil {
			deleted[pod.UID] = at
			pod.DeletionTimestamp = &metav1.Time{Time: at}
		}
	}
	m.written, m.deleted = written, deleted
}

// newer reports that a is of a later version than b. What cannot be compared is not.
func newer(a, b *corev1.Pod) bool {
	order, err := resourceversion.CompareResourceVersion(a.ResourceVersion, b.ResourceVersion)
	return err == nil && order > 0
}
