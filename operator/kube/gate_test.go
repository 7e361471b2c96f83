package kube_test

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
	"github.com/slurmtide/slurmtide/operator/kube"
	"github.com/slurmtide/slurmtide/operator/kube/kubetest"
)

// TestAHoldIsReportedSeldom: where the other operator removes the report, the two do not answer each other.
func TestAHoldIsReportedSeldom(t *testing.T) {
	store := kubetest.NewStore(t, &v1beta1.Token{ObjectMeta: metav1.ObjectMeta{Name: "t"}})
	free, now := store.Client, kubetest.Noon()
	gate := kube.NewGate(store, "slurm-operator-test", func() time.Time { return now })
	find := func() (bool, error) {
		t.Helper()
		return gate.EnterLive(t.Context(), kubetest.Request("t").NamespacedName, &v1beta1.Token{})
	}
	if found, err := find(); !found || err != nil {
		t.Fatalf("a free object is found: %t, %v", found, err)
	}
	for range 60 { // for half an hour
		store.Client = kubetest.WithManagedFields(free, kubetest.WrittenBySlinky(now))
		found, err := find()
		result, rest := kube.ResultOf(0, err)
		if found || rest != nil || result.RequeueAfter == 0 {
			t.Fatalf("a held object is found: %t, %+v, %v", found, result, rest)
		}
		token := kubetest.Get(t, store, "t", &v1beta1.Token{})
		meta.RemoveStatusCondition(&token.Status.Conditions, v1beta1.ConditionReady)
		if err := free.Status().Update(t.Context(), token); err != nil {
			t.Fatal(err)
		}
		now = now.Add(30 * time.Second)
	}
	if store.Writes != 3 {
		t.Errorf("it is reported %d times", store.Writes)
	}
	store.Client = free
	if found, err := find(); !found || err != nil {
		t.Errorf("an object that is free again is found: %t, %v", found, err)
	}
}
