package simulation

import (
	"context"
	"errors"
	"maps"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/slurmtide/slurmtide/operator/accounting"
	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
	"github.com/slurmtide/slurmtide/operator/controller"
	"github.com/slurmtide/slurmtide/operator/kube"
	"github.com/slurmtide/slurmtide/operator/loginset"
	"github.com/slurmtide/slurmtide/operator/refs"
	"github.com/slurmtide/slurmtide/operator/restapi"
	"github.com/slurmtide/slurmtide/operator/rotation"
	"github.com/slurmtide/slurmtide/operator/slurmclients"
	"github.com/slurmtide/slurmtide/operator/upgrade"
	"github.com/slurmtide/slurmtide/slurmclient"
)

// rotationReconciler is the reconciler of Controllers that replaces keys.
const rotationReconciler = "rotation"

// reconcilers are the operator's reconcilers, in the order in which the end of a history calls them.
var reconcilers = []string{v1beta1.KindAccounting, v1beta1.KindController, rotationReconciler, v1beta1.KindRestApi,
	v1beta1.KindLoginSet}

// startOperator makes the reconcilers of an operator that has just started.
func (w *simulation) startOperator() {
	c, uncached := &operatorClient{w: w, isCached: true}, &operatorClient{w: w}
	namespaces := map[bool][]string{true: {"elsewhere"}}[w.restricted && !w.broken.ignoreNamespaces]
	now := func() time.Time { return w.now }
	w.reconcilers = map[string]reconcile.Reconciler{
		v1beta1.KindController: controller.New(c, uncached, w.readAgent, w, now,
			controller.Config{Namespaces: namespaces, Image: slurmImages[0], AgentImage: "agent:1"}),
		v1beta1.KindAccounting: accounting.New(c, uncached, w.readAgent, w, now,
			accounting.Config{Namespaces: namespaces, Image: slurmImages[0], AgentImage: "agent:1"}),
		v1beta1.KindRestApi: restapi.New(c, uncached, w, now,
			restapi.Config{Namespaces: namespaces, Image: slurmImages[0], AgentImage: "agent:1"}),
		v1beta1.KindLoginSet: loginset.New(c, uncached, w.readAgent, w, now,
			loginset.Config{Namespaces: namespaces, Image: slurmImages[0], AgentImage: "agent:1"}),
		rotationReconciler: rotation.New(c, uncached, w.readAgent,
			func(refs.ClusterKey) rotation.SlurmCluster { return slurmWithoutHostsOutside{w} }, w, now, namespaces),
	}
}

// slurmWithoutHostsOutside is a Slurm cluster whose nodes are all run by pods.
type slurmWithoutHostsOutside struct{ w *simulation }

// Reading and Problem implement rotation.SlurmCluster.
func (s slurmWithoutHostsOutside) Reading() *slurmclients.Reading {
	out := &slurmclients.Reading{Snapshot: &slurmclient.Snapshot{}}
	out.Snapshot.Nodes.Known, out.Snapshot.Nodes.ReadAt = true, s.w.now
	return out
}

func (s slurmWithoutHostsOutside) Problem() string { return "" }

// kindOfReconciler returns the kind whose objects a reconciler has.
func kindOfReconciler(name string) string {
	if name == rotationReconciler {
		return v1beta1.KindController
	}
	return name
}

// reconcile calls a reconciler once, and returns when it wants to be called again.
func (w *simulation) reconcile(name string) time.Duration {
	kind := kindOfReconciler(name)
	request := ctrl.Request{NamespacedName: client.ObjectKey{Namespace: team, Name: objectNames[kind]}}
	w.logf("reconcile %s", name)
	before := w.objectOf(kind)
	result, err := w.reconcilers[name].Reconcile(context.Background(), request)
	met := w.faults.met
	w.faults.killed, w.faults.met = false, false
	switch {
	case errors.Is(err, errKilled):
		w.counts["the operator is killed at a write"]++
		w.startOperator()
	case err != nil && !met && len(w.cache) == 0:
		w.failf("reconciling %s: %v", name, err)
	case err == nil && !met && len(w.cache) == 0 && result.RequeueAfter != kube.ConflictRetryDelay && before != nil:
		w.checkReconciled(name, result.RequeueAfter)
	}
	return result.RequeueAfter
}

// checkReconciled checks the status of a reconciled object.
func (w *simulation) checkReconciled(name string, requeueAfter time.Duration) {
	kind := kindOfReconciler(name)
	o, isObject := w.objectOf(kind).(upgrade.Object)
	if !isObject || o.GetDeletionTimestamp() != nil || name == rotationReconciler {
		return
	}
	_, conditions := o.ReleaseStatusOf()
	w.checkHeldIsTold(kind, *conditions)
	ready := meta.FindStatusCondition(*conditions, v1beta1.ConditionReady)
	switch {
	case ready == nil:
		w.failf("%s has no condition Ready", kind)
	case ready.ObservedGeneration != o.GetGeneration():
		w.failf("the condition Ready of %s is of generation %d, not %d", kind, ready.ObservedGeneration, o.GetGeneration())
	case ready.Status == metav1.ConditionFalse && ready.Reason != v1beta1.ReasonProgressing && requeueAfter == 0:
		w.failf("%s waits because of %s, and nobody looks again", kind, ready.Reason)
	}
}

// reconcileAll calls all reconcilers.
func (w *simulation) reconcileAll() {
	for _, name := range reconcilers {
		w.reconcile(name)
	}
}

// repeat calls a reconciler until it writes nothing, while nothing else happens.
func (w *simulation) repeat(name string) {
	const enough = 8
	for range enough {
		before := w.writes
		if w.reconcile(name); w.writes == before {
			return
		}
	}
	w.failf("%s is still written after %d reconciliations while nothing happens", name, enough)
}

// operatorEvent is a reconciliation that may meet a fault.
func (w *simulation) operatorEvent() {
	name := pick(w, reconcilers...)
	for range w.rand.IntN(4) { // watches and timers call it again soon
		w.reconcile(name)
		w.environmentEvent()
	}
	switch w.rand.IntN(8) {
	case 0, 1:
		w.faults.fault, w.faults.writesUntilFault = fault(w.rand.IntN(int(faultsEnd))), 1+w.rand.IntN(6)
	case 2:
		w.faults.readsUntilError = 1 + w.rand.IntN(20)
	case 3:
		w.lag()
	}
	w.reconcile(name)
	w.faults.writesUntilFault, w.faults.readsUntilError = 0, 0
	if len(w.cache) == 0 && w.faults.forbidden == "" && w.chance(10) {
		w.repeat(name)
	}
}

// lag makes the operator see a kind late, or all kinds in time.
func (w *simulation) lag() {
	if w.chance(60) {
		clear(w.cache)
		return
	}
	kind := pick(w, "NodeSet", "StatefulSet", "Deployment", "Service", "ConfigMap", v1beta1.KindController,
		v1beta1.KindAccounting, v1beta1.KindRestApi, v1beta1.KindLoginSet)
	w.counts["the operator sees objects late"]++
	w.cache[kind] = maps.Clone(w.api.objects[kind])
}
