package wakeup

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
)

// idleTime is a period in which every reading showed no demand. The zero value is no period.
type idleTime struct {
	since time.Time
	// last is the time of the last of these readings.
	last time.Time
}

// idleTimes keeps the idle times of NodeSets between reconciliations.
type idleTimes struct {
	mu    sync.Mutex
	times map[types.NamespacedName]ownedIdleTime
}

// ownedIdleTime belongs to one NodeSet, not to a later one with the same name.
type ownedIdleTime struct {
	idleTime
	uid types.UID
}

func newIdleTimes() *idleTimes { return &idleTimes{times: map[types.NamespacedName]ownedIdleTime{}} }

func (t *idleTimes) of(nodeSet *v1beta1.NodeSet) idleTime {
	t.mu.Lock()
	defer t.mu.Unlock()
	if kept := t.times[client.ObjectKeyFromObject(nodeSet)]; kept.uid == nodeSet.UID {
		return kept.idleTime
	}
	return idleTime{}
}

func (t *idleTimes) set(nodeSet *v1beta1.NodeSet, idle idleTime) {
	if idle == (idleTime{}) {
		t.forget(client.ObjectKeyFromObject(nodeSet))
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.times[client.ObjectKeyFromObject(nodeSet)] = ownedIdleTime{idleTime: idle, uid: nodeSet.UID}
}

func (t *idleTimes) forget(key types.NamespacedName) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.times, key)
}
