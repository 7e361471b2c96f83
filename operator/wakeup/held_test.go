package wakeup

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestNothingIsWokenWhileAnotherOperatorHoldsTheNodeSet: the reconciler of NodeSets reports it.
func TestNothingIsWokenWhileAnotherOperatorHoldsTheNodeSet(t *testing.T) {
	for name, tc := range map[string]struct {
		manager string
		scales  int
	}{
		"another operator wrote the status": {"manager", 0},
		"ours did":                          {"slurm-operator-nodeset", 1},
	} {
		t.Run(name, func(t *testing.T) {
			r := newEnv(t, func(s *observation) {
				entry := replicasOwner(tc.manager, "status")
				entry.Time, entry.FieldsV1 = new(metav1.NewTime(now.Add(-time.Minute))),
					metav1.NewFieldsV1(`{"f:status":{"f:replicas":{}}}`)
				s.nodeSet.ManagedFields = append(s.nodeSet.ManagedFields, entry)
			})
			r.fake.required = 3
			if r.reconcile(t); r.scales != tc.scales || tc.scales == 0 && r.patches+r.zeros > 0 {
				t.Errorf("%d writes to scale, %d to status, %d of zeros", r.scales, r.patches, r.zeros)
			}
		})
	}
}
