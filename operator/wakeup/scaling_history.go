package wakeup

import (
	"sync"
	"time"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
	"github.com/slurmtide/slurmtide/operator/scaling"
)

// scalingHistory is this process's record of a NodeSet's scaling since its start, as leader or not. Deleted
// HPAs can no longer be read.
type scalingHistory struct {
	// zeroOwner is the HPA that reported the present zero as its own, or empty.
	zeroOwner types.UID
	// oldestHPA is the creation of the oldest HPA, or the zero time.
	oldestHPA time.Time
	// hadReplicas: the NodeSet had replicas, so this process has seen its present zero begin.
	hadReplicas bool
}

// withHPA returns the history after an HPA was seen.
func (h scalingHistory) withHPA(hpa *autoscalingv2.HorizontalPodAutoscaler) scalingHistory {
	if created := hpa.CreationTimestamp.Time; h.oldestHPA.IsZero() || created.Before(h.oldestHPA) {
		h.oldestHPA = created
	}
	switch {
	case scaling.HasScaledToZero(hpa):
		h.zeroOwner = hpa.UID
	case h.zeroOwner == hpa.UID:
		h.zeroOwner = ""
	}
	return h
}

// withNodeSet returns the history after the NodeSet was seen.
func (h scalingHistory) withNodeSet(nodeSet *v1beta1.NodeSet) scalingHistory {
	if scaling.SpecReplicas(nodeSet) != 0 {
		h.zeroOwner, h.hadReplicas = "", true
	}
	return h
}

// scalingHistories are the histories of NodeSets.
type scalingHistories struct {
	now       func() time.Time
	mu        sync.Mutex
	histories map[types.NamespacedName]scalingHistory
	changes   map[types.NamespacedName]replicaChanges
}

func newScalingHistories(now func() time.Time) *scalingHistories {
	return &scalingHistories{now: now, histories: map[types.NamespacedName]scalingHistory{},
		changes: map[types.NamespacedName]replicaChanges{}}
}

func (l *scalingHistories) historyOf(nodeSet types.NamespacedName) scalingHistory {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.histories[nodeSet]
}

func (l *scalingHistories) changesOf(nodeSet types.NamespacedName) replicaChanges {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.changes[nodeSet]
}

// recordHPA records the state of an HPA, or the last known state of a deleted one.
func (l *scalingHistories) recordHPA(obj client.Object) {
	hpa, ok := obj.(*autoscalingv2.HorizontalPodAutoscaler)
	if !ok {
		return
	}
	for _, name := range NodeSetNames(hpa) {
		l.changeHistory(types.NamespacedName{Namespace: hpa.Namespace, Name: name},
			func(h scalingHistory) scalingHistory { return h.withHPA(hpa) })
	}
}

func (l *scalingHistories) recordNodeSet(obj client.Object) {
	if nodeSet, ok := obj.(*v1beta1.NodeSet); ok {
		l.changeHistory(client.ObjectKeyFromObject(nodeSet),
			func(h scalingHistory) scalingHistory { return h.withNodeSet(nodeSet) })
		l.recordReplicas(nodeSet)
	}
}

func (l *scalingHistories) recordReplicas(nodeSet *v1beta1.NodeSet) {
	l.mu.Lock()
	defer l.mu.Unlock()
	key := client.ObjectKeyFromObject(nodeSet)
	l.changes[key] = l.changes[key].withReplicas(l.now(), scaling.SpecReplicas(nodeSet))
}

func (l *scalingHistories) changeHistory(nodeSet types.NamespacedName, by func(scalingHistory) scalingHistory) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.histories[nodeSet] = by(l.histories[nodeSet])
}

// forgetHistory forgets a deleted NodeSet.
func (l *scalingHistories) forgetHistory(nodeSet client.Object) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.histories, client.ObjectKeyFromObject(nodeSet))
	delete(l.changes, client.ObjectKeyFromObject(nodeSet))
}
