package wakeup

import (
	"context"
	"encoding/json"
	"fmt"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
)

// apply writes the condition, then the replicas, and tells of each after it. It stops
// at the first error; a conflict means that the NodeSet is no longer what was seen.
//
// The condition comes first since a conflict would lose it otherwise: that a NodeSet
// with replicas was woken is known from the condition alone. Should the replicas not
// follow, the next look finds the NodeSet at zero as before.
func (r *Reconciler) apply(ctx context.Context, s observation, t actions) error {
	version, err := r.applyCondition(ctx, s, t)
	if err != nil {
		return err
	}
	switch {
	case t.claimZero:
		return r.claimZero(ctx, s.nodeSet, version)
	case t.replicas == nil:
		return nil
	case *t.replicas == 0:
		err = r.claimZero(ctx, s.nodeSet, version)
	default:
		err = r.scale(ctx, s.nodeSet, version, *t.replicas)
	}
	if err != nil {
		return err
	}
	log.FromContext(ctx).Info("scaled", "replicas", *t.replicas, "reason", t.condition.reason)
	r.events.Eventf(s.nodeSet, &s.hpas[0], corev1.EventTypeNormal, t.condition.reason, "Scale", "%s", t.condition.message)
	return nil
}

// applyCondition writes the condition if it changes, and returns the version of the
// NodeSet that there is then.
func (r *Reconciler) applyCondition(ctx context.Context, s observation, t actions) (version string, err error) {
	conditions, changed := r.withCondition(s.nodeSet, t.condition)
	if !changed {
		return s.nodeSet.ResourceVersion, nil
	}
	if version, err = r.patchStatus(ctx, s.nodeSet, conditions); err != nil {
		return "", err
	}
	logCondition(ctx, s, t)
	return version, nil
}

// logCondition logs a condition that says something else than before, with the error that it
// only sums up.
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
	// The client writes what comes back into the object too: give it one to spare.
	err := r.client.SubResource("scale").Update(ctx, nodeSet.DeepCopy(), client.WithSubResourceBody(scale), client.FieldOwner(FieldManager))
	if err != nil {
		return fmt.Errorf("scaling nodeset: %w", err)
	}
	return nil
}

// claimZero sets spec.replicas of one version of the NodeSet to zero, if it is not, and
// makes us its owner. It applies the object itself: what goes through the scale
// subresource as zero gets no owner.
func (r *Reconciler) claimZero(ctx context.Context, nodeSet *v1beta1.NodeSet, version string) error {
	zero := &unstructured.Unstructured{Object: map[string]any{
		"metadata": map[string]any{
			"namespace": nodeSet.Namespace, "name": nodeSet.Name,
			"uid": string(nodeSet.UID), "resourceVersion": version,
		},
		"spec": map[string]any{"replicas": int64(0)},
	}}
	zero.SetGroupVersionKind(v1beta1.SchemeGroupVersion.WithKind(v1beta1.KindNodeSet))
	err := r.client.Apply(ctx, client.ApplyConfigurationFromUnstructured(zero), client.FieldOwner(FieldManager), client.ForceOwnership)
	if err != nil {
		return fmt.Errorf("setting nodeset to zero: %w", err)
	}
	return nil
}

// withCondition returns the NodeSet's conditions with the verdict in them.
func (r *Reconciler) withCondition(nodeSet *v1beta1.NodeSet, v *wakeUpCondition) (conditions []metav1.Condition, changed bool) {
	conditions = nodeSet.DeepCopy().Status.Conditions
	if v == nil {
		changed = meta.RemoveStatusCondition(&conditions, v1beta1.ConditionWakeUp)
		return conditions, changed
	}
	changed = meta.SetStatusCondition(&conditions, metav1.Condition{
		Type: v1beta1.ConditionWakeUp, Status: v.status, Reason: v.reason, Message: v.message,
		ObservedGeneration: nodeSet.Generation, LastTransitionTime: metav1.NewTime(r.now()),
	})
	return conditions, changed
}

// patchStatus replaces the conditions of the very version of the NodeSet that was
// seen, and returns the version that this made.
func (r *Reconciler) patchStatus(ctx context.Context, nodeSet *v1beta1.NodeSet, conditions []metav1.Condition) (version string, err error) {
	status := map[string]any{"conditions": conditions}
	// No status is valid without these. Whoever fills them in has not come by yet.
	if nodeSet.Status.Selector == "" {
		status["selector"] = ""
	}
	if nodeSet.Status.NodeSetHash == "" {
		status["nodeSetHash"] = ""
	}
	patch, err := json.Marshal(map[string]any{
		"metadata": map[string]any{"resourceVersion": nodeSet.ResourceVersion},
		"status":   status,
	})
	if err != nil {
		return "", fmt.Errorf("encoding conditions: %w", err)
	}
	out := nodeSet.DeepCopy()
	if err := r.client.Status().Patch(ctx, out, client.RawPatch(types.MergePatchType, patch), client.FieldOwner(FieldManager)); err != nil {
		return "", fmt.Errorf("writing the condition of nodeset: %w", err)
	}
	return out.ResourceVersion, nil
}
