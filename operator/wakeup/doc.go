// Package wakeup wakes NodeSets at zero replicas that their HorizontalPodAutoscaler does not wake,
// and scales idle NodeSets to zero where an HPA cannot.
//
// Since Kubernetes 1.36, an HPA computes metrics for a target at zero only if it scaled the target to zero itself (condition
// ScaledToZero). It never wakes a NodeSet that was created at zero, that a manifest set to zero, or whose HPA was deleted and
// recreated. Without the feature gate HPAScaleToZero (off by default before 1.37), it wakes no target at zero. The reconciler sets
// spec.replicas of such a NodeSet to the number of nodes that its jobs require. The HPA is then awake and does the rest:
//
//	                HPA, or idle for zero-after
//	   ┌────────────────────────────────────────────────┐
//	   ▼                                                │
//	at zero ── its HPA is awake: the HPA ───────────► above zero
//	   │                                                ▲
//	   ├────── asleep, demand: we ──────────────────────┤
//	   └────── asleep, paused by hand: only by hand ────┘
//
// The managed fields show who set a NodeSet to zero. A zero that was set through the scale subresource (kubectl scale) is a pause, and
// lasts until the replicas are raised. A zero that was written with the object (Helm, GitOps, kubectl apply, kubectl edit) is the
// initial size and not a pause. HPAs use the scale subresource too. While an HPA reports the zero as its own, the reconciler claims
// the zero: it applies the zero again as FieldManager. So the zero does not count as a pause after the HPA is deleted. If the HPA was
// deleted while no operator led, deleted_hpa.go decides who set the zero. The annotations v1beta1.AnnotationWake and
// v1beta1.AnnotationZeroAfter override this.
//
// Invariants:
//
//   - HPAs and their status are never written.
//   - Replicas other than zero are changed only to zero, and only by zero-after, or before a new NodeSet has its first worker: with an
//     HPA of minReplicas 0 it begins at zero if no job needs it (scaling.MayBeginAtZero).
//   - Unknown or stale demand never causes a write.
//   - Replicas are never set above the maxReplicas of the HPA or of the NodeSet.
//   - A write applies only to the version of the NodeSet that the decision was based on.
//   - A NodeSet that several HPAs scale is not changed.
//
// The idle time and the scalingHistory of a NodeSet are kept in memory and start again after a restart.
package wakeup
