package kube

import (
	"errors"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
	"github.com/slurmtide/slurmtide/operator/problem"
)

// TestCheckMaker: a workload is ours while nobody else has changed its pods.
func TestCheckMaker(t *testing.T) {
	by := func(manager string, at int64) metav1.ManagedFieldsEntry {
		return metav1.ManagedFieldsEntry{Manager: manager, Time: new(metav1.NewTime(time.Unix(at, 0))),
			FieldsV1: metav1.NewFieldsV1(`{"f:spec":{"f:template":{}}}`)}
	}
	applied := map[string]string{v1beta1.AnnotationAppliedHash: "x"}
	for name, tc := range map[string]struct {
		annotations map[string]string
		fields      []metav1.ManagedFieldsEntry
		taken       bool
	}{
		"ours":                           {applied, []metav1.ManagedFieldsEntry{by("slurm-operator-controller", 1)}, false},
		"another operator's":             {nil, []metav1.ManagedFieldsEntry{by("manager", 1)}, true},
		"ours, changed by Slinky's":      {applied, []metav1.ManagedFieldsEntry{by("slurm-operator-controller", 1), by("manager", 2)}, true},
		"ours, restarted by its user":    {applied, []metav1.ManagedFieldsEntry{by("slurm-operator-controller", 1), by("kubectl", 2)}, false},
		"ours again, after Slinky's was": {applied, []metav1.ManagedFieldsEntry{by("slurm-operator-controller", 3), by("manager", 2)}, false},
	} {
		t.Run(name, func(t *testing.T) {
			var taken *problem.Error
			err := CheckMaker(&appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Name: "s", Annotations: tc.annotations,
				ManagedFields: tc.fields}})
			if errors.As(err, &taken) != tc.taken || tc.taken && taken.Reason != v1beta1.ReasonObjectTaken {
				t.Errorf("the error is %v", err)
			}
		})
	}
}
