package wakeup

import (
	"context"
	"encoding/json"
	"fmt"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
)

// apply writes the replicas, then the condition, and tells of each after it. It stops
// at the first error; a conflict means that the NodeSet is no longer what was seen.
func (r *Reconciler) apply(ctx context.Context, s seen, t todo) error {
	version := s.nodeSet.ResourceVersion
	if t.replicas != nil {
		var err error
		if version, err = r.scale(ctx, s.nodeSet, *t.replicas); err != nil {
			return err
		}
		log.FromContext(ctx).Info("scaled", "replicas", *t.replicas, "reason", t.verdict.reason)
		action := "WakeUp"
		if *t.replicas == 0 {
			action = "TakeToZero"
		}
		r.events.Eventf(s.nodeSet, &s.hpas[0], corev1.EventTypeNormal, t.verdict.reason, action, "%s", t.verdict.message)
	}
	conditions, changed := r.conditions(s.nodeSet, t.verdict)
	if !changed {
		return nil
	}
	if err := r.patchStatus(ctx, s.nodeSet, version, conditions); err != nil {
		return err
	}
	tell(ctx, s, t)
	return nil
}

// tell logs a new condition, with the error that the condition only sums up.
func tell(ctx context.Context, s seen, t todo) {
	if t.verdict == nil {
		return
	}
	values := []any{"reason", t.verdict.reason, "message", t.verdict.message}
	if s.demand != nil && s.demand.err != nil {
		values = append(values, "err", s.demand.err.Error())
	}
	log.FromContext(ctx).Info("condition changed", values...)
}

// scale sets spec.replicas of the very version of the NodeSet that was seen, and
// returns the version that this made.
func (r *Reconciler) scale(ctx context.Context, nodeSet *v1beta1.NodeSet, n int32) (version string, err error) {
	scale := &autoscalingv1.Scale{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: nodeSet.Namespace, Name: nodeSet.Name,
			UID: nodeSet.UID, ResourceVersion: nodeSet.ResourceVersion,
		},
		Spec: autoscalingv1.ScaleSpec{Replicas: n},
	}
	// The client writes what comes back into the object too: give it one to spare.
	err = r.client.SubResource("scale").Update(ctx, nodeSet.DeepCopy(), client.WithSubResourceBody(scale), client.FieldOwner(FieldManager))
	if err != nil {
		return "", fmt.Errorf("scaling nodeset: %w", err)
	}
	return scale.ResourceVersion, nil
}

// conditions returns the NodeSet's conditions with the verdict in them.
func (r *Reconciler) conditions(nodeSet *v1beta1.NodeSet, v *verdict) (conditions []metav1.Condition, changed bool) {
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

// patchStatus replaces the conditions of one version of the NodeSet.
func (r *Reconciler) patchStatus(ctx context.Context, nodeSet *v1beta1.NodeSet, version string, conditions []metav1.Condition) error {
	status := map[string]any{"conditions": conditions}
	// No status is valid without these. Whoever fills them in has not come by yet.
	if nodeSet.Status.Selector == "" {
		status["selector"] = ""
	}
	if nodeSet.Status.NodeSetHash == "" {
		status["nodeSetHash"] = ""
	}
	patch, err := json.Marshal(map[string]any{
		"metadata": map[string]any{"resourceVersion": version},
		"status":   status,
	})
	if err != nil {
		return fmt.Errorf("encoding conditions: %w", err)
	}
	err = r.client.Status().Patch(ctx, nodeSet.DeepCopy(), client.RawPatch(types.MergePatchType, patch), client.FieldOwner(FieldManager))
	if err != nil {
		return fmt.Errorf("writing the condition of nodeset: %w", err)
	}
	return nil
}
