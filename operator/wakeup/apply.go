package wakeup

import (
	"context"
	"fmt"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
	"github.com/slurmtide/slurmtide/operator/kube"
)

// apply writes a claim, then the condition, then the replicas, and logs each write after it succeeds. It
// stops at the first error; a conflict means that the NodeSet has changed since it was observed.
//
// The condition is written before the replicas because a conflict would lose it otherwise: only the
// condition shows that a NodeSet with replicas was woken. If the write of the replicas fails, the next
// reconciliation still finds the NodeSet at zero. A claim comes before the condition, since it may be
// based on the previous condition.
func (r *Reconciler) apply(ctx context.Context, s observation, t actions) error {
	version, err := s.nodeSet.ResourceVersion, error(nil)
	if t.claimZero {
		if version, err = r.claimZero(ctx, s.nodeSet, version); err != nil {
			return err
		}
	}
	if version, err = r.applyCondition(ctx, s, t, version); err != nil {
		return err
	}
	switch {
	case t.replicas == nil:
		return nil
	case *t.replicas == 0:
		_, err = r.claimZero(ctx, s.nodeSet, version)
	default:
		err = r.scale(ctx, s.nodeSet, version, *t.replicas)
	}
	if err != nil {
		return err
	}
	log.FromContext(ctx).Info("scaled", "replicas", *t.replicas, "reason", t.condition.reason)
	r.events.Eventf(s.nodeSet, &s.hpas[0], corev1.EventTypeNormal, t.condition.reason, "Scale", "%s",
		t.condition.message)
	return nil
}

// applyCondition writes the condition to a version of the NodeSet if it changes, and returns the
// resulting version.
func (r *Reconciler) applyCondition(ctx context.Context, s observation, t actions, version string) (string, error) {
	conditions, changed := r.withCondition(s.nodeSet, t.condition)
	if !changed {
		return version, nil
	}
	nodeSet := s.nodeSet.DeepCopy()
	nodeSet.ResourceVersion = version
	version, err := r.patchStatus(ctx, nodeSet, conditions)
	if err != nil {
		return "", err
	}
	logCondition(ctx, s, t)
	return version, nil
}

// logCondition logs a condition whose reason or message has changed, with the full error of the
// demand, which the message only summarizes.
func logCondition(ctx context.Context, s observation, t actions) {
	was := meta.FindStatusCondition(s.nodeSet.Status.Conditions, v1beta1.ConditionWakeUp)
	if t.condition == nil || was != nil && was.Reason == t.condition.reason && was.Message == t.condition.message {
		return
	}
	values := []any{"reason", t.condition.reason, "message", t.condition.message}
	if s.demand != nil && s.demand.err != nil {
		values = append(values, "err", s.demand.err.Error())
	}
	log.FromContext(ctx).Info("condition changed", values...)
}

// scale sets spec.replicas of one version of the NodeSet.
func (r *Reconciler) scale(ctx context.Context, nodeSet *v1beta1.NodeSet, version string, n int32) error {
	scale := &autoscalingv1.Scale{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: nodeSet.Namespace, Name: nodeSet.Name,
			UID: nodeSet.UID, ResourceVersion: version,
		},
		Spec: autoscalingv1.ScaleSpec{Replicas: n},
	}
	// The client writes the response into the object, so it gets a copy.
	err := r.client.SubResource("scale").Update(ctx, nodeSet.DeepCopy(),
		client.WithSubResourceBody(scale), client.FieldOwner(FieldManager))
	if err != nil {
		return fmt.Errorf("scaling nodeset: %w", err)
	}
	return nil
}

// claimZero sets spec.replicas of one version of the NodeSet to zero, makes us the owner of the field, and
// returns the resulting version. It applies the object itself, because a zero that is written through the
// scale subresource has no owner.
func (r *Reconciler) claimZero(ctx context.Context, nodeSet *v1beta1.NodeSet, version string) (string, error) {
	zero := &unstructured.Unstructured{Object: map[string]any{
		"metadata": map[string]any{
			"namespace": nodeSet.Namespace, "name": nodeSet.Name,
			"uid": string(nodeSet.UID), "resourceVersion": version,
		},
		"spec": map[string]any{"replicas": int64(0)},
	}}
	zero.SetGroupVersionKind(v1beta1.SchemeGroupVersion.WithKind(v1beta1.KindNodeSet))
	err := r.client.Apply(ctx, client.ApplyConfigurationFromUnstructured(zero),
		client.FieldOwner(FieldManager), client.ForceOwnership)
	if err != nil {
		return "", fmt.Errorf("setting nodeset to zero: %w", err)
	}
	return zero.GetResourceVersion(), nil
}

// withCondition returns the NodeSet's conditions with the condition WakeUp set, or removed if it is
// nil.
func (r *Reconciler) withCondition(
	nodeSet *v1beta1.NodeSet, v *wakeUpCondition,
) (conditions []metav1.Condition, changed bool) {
	conditions = nodeSet.DeepCopy().Status.Conditions
	if v == nil {
		changed = meta.RemoveStatusCondition(&conditions, v1beta1.ConditionWakeUp)
		return conditions, changed
	}
	changed = v1beta1.SetCondition(&conditions, v1beta1.ConditionWakeUp, metav1.Condition{Status: v.status,
		Reason: v.reason, Message: v.message}, nodeSet.Generation, r.now())
	return conditions, changed
}

// patchStatus replaces the conditions of the observed version of the NodeSet, and returns the
// resulting version.
func (r *Reconciler) patchStatus(
	ctx context.Context, nodeSet *v1beta1.NodeSet, conditions []metav1.Condition,
) (version string, err error) {
	out := nodeSet.DeepCopy()
	out.Status.Conditions = conditions
	// The schema requires these fields, which the reconciler of NodeSets may not have set yet.
	required := map[string]any{"selector": nodeSet.Status.Selector, "nodeSetHash": nodeSet.Status.NodeSetHash}
	err = kube.PatchStatus(ctx, r.client, nodeSet, out, required, client.FieldOwner(FieldManager))
	if err != nil {
		return "", err
	}
	return out.ResourceVersion, nil
}
