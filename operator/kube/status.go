package kube

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// PatchStatus writes the status of next if the observed version is still the newest one, and updates
// next with the response. required are fields of the status, by their JSON names, that are written
// although they have not changed, because the schema requires them or kubectl shows them.
func PatchStatus(ctx context.Context, c client.Client, observed, next client.Object, required map[string]any,
	owner client.FieldOwner) error {
	data, err := StatusPatch(observed, next, required)
	if err == nil {
		err = c.Status().Patch(ctx, next, client.RawPatch(types.MergePatchType, data), owner)
	}
	if err != nil {
		return fmt.Errorf("writing the status of %s: %w", describeObject(observed), err)
	}
	return nil
}

// StatusPatch returns the merge patch of PatchStatus. Of the status it contains only what differs,
// with null for what became empty, and the required fields. It is pure.
func StatusPatch(observed, next client.Object, required map[string]any) ([]byte, error) {
	data, err := client.MergeFromWithOptions(observed, client.MergeFromWithOptimisticLock{}).Data(next)
	if err != nil {
		return nil, fmt.Errorf("comparing statuses: %w", err)
	}
	if len(required) == 0 {
		return data, nil
	}
	patch := map[string]any{}
	if err := json.Unmarshal(data, &patch); err != nil {
		return nil, fmt.Errorf("comparing statuses: %w", err)
	}
	status, _ := patch["status"].(map[string]any)
	if status == nil {
		status = map[string]any{}
	}
	maps.Copy(status, required)
	patch["status"] = status
	return json.Marshal(patch)
}

// PatchPodConditions writes the conditions of a pod and returns the pod of the response. The patch
// contains only the conditions that differ, each under its type, so it needs no lock: those that the
// kubelet writes at the same time stay.
func PatchPodConditions(ctx context.Context, c client.Client, pod *corev1.Pod, conditions []corev1.PodCondition,
	owner client.FieldOwner) (*corev1.Pod, error) {
	changed := pod.DeepCopy()
	changed.Status.Conditions = conditions
	if err := c.Status().Patch(ctx, changed, client.StrategicMergeFrom(pod), owner); err != nil {
		return nil, fmt.Errorf("writing the conditions of pod %s: %w", pod.Name, err)
	}
	return changed, nil
}
