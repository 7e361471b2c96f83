package wakeup

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestZeroOrigins(t *testing.T) {
	entry := func(manager, subresource, fields string) metav1.ManagedFieldsEntry {
		return metav1.ManagedFieldsEntry{Manager: manager, Subresource: subresource,
			FieldsV1: metav1.NewFieldsV1(fields)}
	}
	const replicas = `{"f:spec":{"f:replicas":{},"f:slurmd":{".":{}}}}`
	for _, tc := range []struct {
		name    string
		entries []metav1.ManagedFieldsEntry
		want    zeroOrigin
	}{
		{"nobody", nil, zeroByHand},
		{"owners of other fields", []metav1.ManagedFieldsEntry{
			entry("helm", "", `{"f:spec":{"f:slurmd":{}}}`),
			entry("slurm-operator", "status", `{"f:status":{"f:replicas":{}}}`),
			entry("broken", "", `{`), {Manager: "empty"},
		}, zeroByHand},
		{"a manifest", []metav1.ManagedFieldsEntry{entry("helm", "", replicas)}, zeroByManifest},
		{"a claim", []metav1.ManagedFieldsEntry{entry(FieldManager, "", replicas)}, zeroByAutoscaler},
		{"a claim beside a manifest",
			[]metav1.ManagedFieldsEntry{entry("helm", "", replicas), entry(FieldManager, "", replicas)},
			zeroByAutoscaler},
		{"a claim beside an HPA", []metav1.ManagedFieldsEntry{entry("kube-controller-manager", "scale", replicas),
			entry(FieldManager, "", replicas)}, zeroByAutoscaler},
		{"the scale subresource", []metav1.ManagedFieldsEntry{entry("kubectl", "scale", replicas)}, zeroByHand},
		{"the scale subresource beside a manifest",
			[]metav1.ManagedFieldsEntry{entry("helm", "", replicas), entry("kubectl", "scale", replicas)}, zeroByHand},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := zeroOriginOf(tc.entries); got != tc.want {
				t.Errorf("the origin is %d, not %d", got, tc.want)
			}
		})
	}
}
