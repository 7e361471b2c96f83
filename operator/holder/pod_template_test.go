package holder

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestChangedTemplate(t *testing.T) {
	const template, replicas = `{"f:spec":{"f:template":{"f:spec":{}}}}`, `{"f:spec":{"f:replicas":{}}}`
	ours := entry("slurm-operator-controller", "", time.Hour, template)
	for _, tc := range []struct {
		name   string
		others []metav1.ManagedFieldsEntry
		want   bool
	}{
		{"nobody else", nil, false},
		{"Slinky's operator, later", []metav1.ManagedFieldsEntry{entry("manager", "", time.Minute, template)}, true},
		{"Slinky's operator by its other name", []metav1.ManagedFieldsEntry{entry("slurm-operator", "", time.Minute, template)}, true},
		{"Slinky's operator, before our last write", []metav1.ManagedFieldsEntry{entry("manager", "", 2*time.Hour, template)}, false},
		{"Slinky's operator, but the replicas", []metav1.ManagedFieldsEntry{entry("manager", "", time.Minute, replicas)}, false},
		{"Slinky's operator, but the status", []metav1.ManagedFieldsEntry{entry("manager", "status", time.Minute, template)}, false},
		{"a restart by kubectl", []metav1.ManagedFieldsEntry{entry("kubectl-rollout", "", time.Minute, template)}, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			o := newNodeSet(append(tc.others, ours)...)
			if got := ChangedTemplate(o); got != tc.want {
				t.Errorf("it is %t", got)
			}
		})
	}
}
