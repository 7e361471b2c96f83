package kubetest

import (
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
)

// errKilled is of a write at which the operator is killed.
var errKilled = errors.New("the operator was killed")

// maxReconciliations is how many reconciliations a store needs to stay as it is.
const maxReconciliations = 10

// CheckKilledAtEveryWrite checks that a reconciler that is killed at any write, before or after it has reached the
// store, and then starts again, ends with the same objects as one that is not. With -short it checks each fourth write.
func CheckKilledAtEveryWrite(t *testing.T, newStore func() *Store, reconcile func(*Store) error) {
	t.Helper()
	undisturbed := newStore()
	settle(t, undisturbed, reconcile)
	want, writes := objectsOf(t, undisturbed), undisturbed.Writes
	if writes < 3 {
		t.Fatalf("there are only %d writes", writes)
	}
	step := 1
	if testing.Short() {
		step = 4
	}
	for kill := 1; kill <= writes; kill += step {
		for _, reached := range []bool{false, true} {
			t.Run(fmt.Sprintf("write %d, reached %t", kill, reached), func(t *testing.T) {
				store := newStore()
				store.Kill = func(write int) (bool, error) {
					if write == kill {
						return reached, errKilled
					}
					return true, nil
				}
				settle(t, store, reconcile)
				if diff := cmp.Diff(want, objectsOf(t, store)); diff != "" {
					t.Errorf("the objects differ from those without a kill (-want +got):\n%s", diff)
				}
			})
		}
	}
}

// settle reconciles until nothing is written any more.
func settle(t *testing.T, s *Store, reconcile func(*Store) error) {
	t.Helper()
	for range maxReconciliations {
		before := s.Writes
		if err := reconcile(s); err != nil && !errors.Is(err, errKilled) {
			t.Fatal(err)
		}
		if s.Writes == before {
			return
		}
	}
	t.Fatalf("after %d reconciliations there are still writes", maxReconciliations)
}

// objectsOf returns what a store holds, without what differs between two histories.
func objectsOf(t *testing.T, s *Store) map[string]client.Object {
	t.Helper()
	out := map[string]client.Object{}
	for _, list := range []client.ObjectList{&appsv1.DeploymentList{}, &appsv1.StatefulSetList{}, &corev1.ServiceList{},
		&corev1.ConfigMapList{}, &corev1.SecretList{}, &corev1.PodList{}, &v1beta1.ControllerList{}, &v1beta1.AccountingList{},
		&v1beta1.RestApiList{}, &v1beta1.LoginSetList{}} {
		if err := s.List(t.Context(), list); err != nil {
			t.Fatal(err)
		}
		_ = meta.EachListItem(list, func(item runtime.Object) error { // the function never fails
			o, ok := item.DeepCopyObject().(client.Object)
			if !ok {
				t.Fatalf("%T is no object", item)
			}
			if secret, isSecret := o.(*corev1.Secret); isSecret {
				for key := range secret.Data {
					secret.Data[key] = nil // generated keys differ
				}
			}
			o.SetResourceVersion("")
			o.SetManagedFields(nil)
			out[fmt.Sprintf("%T %s", o, o.GetName())] = o
			return nil
		})
	}
	return out
}
