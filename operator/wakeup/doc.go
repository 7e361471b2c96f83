// Package wakeup wakes NodeSets at zero replicas that their HorizontalPodAutoscaler
// leaves asleep, and takes idle ones to zero where an HPA cannot.
//
// From Kubernetes 1.36 on an HPA computes metrics for a target at zero only when it
// took the target there itself (its condition ScaledToZero says so). A NodeSet that
// was created at zero, that a manifest set to zero, or whose HPA was made anew sleeps
// for ever. Without the feature HPAScaleToZero (before 1.37 by default) every target
// at zero does. The reconciler sets spec.replicas of such a NodeSet to what its work
// requires, and leaves the rest to the HPA, which is then awake:
//
//	                HPA, or idle for zero-after
//	   ┌────────────────────────────────────────────────┐
//	   ▼                                                │
//	at zero ── its HPA is awake: the HPA ───────────► above zero
//	   │                                                ▲
//	   ├────── asleep, demand: we ──────────────────────┤
//	   └────── asleep, paused by hand: only by hand ────┘
//
// Who wants a NodeSet at zero is read from its managed fields. A zero that was set
// through the scale subresource (kubectl scale) is a pause, and lasts until somebody
// raises it. A zero that came with the object (Helm, GitOps, kubectl apply, kubectl
// edit) is where the NodeSet starts, and no pause. HPAs use the scale subresource too:
// while an HPA says that the zero is its own, the reconciler claims the zero by
// applying it once more as FieldManager. So it is still known for no pause when that
// HPA is gone. The annotations v1beta1.AnnotationWake and v1beta1.AnnotationZeroAfter
// say otherwise.
//
// What always holds:
//
//   - An HPA, its status included, is never written.
//   - Replicas other than zero are changed only to zero, and only by zero-after.
//   - No write follows from demand that is unknown or old.
//   - Replicas are never set above the maxReplicas of the HPA or of the NodeSet.
//   - A write goes only to the very version of the NodeSet that was decided on.
//   - A NodeSet that two HPAs scale is left alone.
//
// How long a NodeSet was idle is kept in memory: after a restart it counts anew.
package wakeup
