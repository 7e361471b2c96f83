package rotation

import (
	"testing"
	"time"

	"github.com/slurmtide/slurmtide/operator/kube/kubetest"
)

// TestNoKeyIsReplacedWhileAnotherOperatorHoldsTheController: the reconciler of Controllers reports it.
func TestNoKeyIsReplacedWhileAnotherOperatorHoldsTheController(t *testing.T) {
	e := newEnv(t)
	free := e.store.Client
	e.store.Client = kubetest.WithManagedFields(free, kubetest.WrittenBySlinky(kubetest.Noon().Add(-time.Minute)))
	if err := e.reconcile(e.store); err != nil || e.store.Writes > 0 {
		t.Errorf("there are %d writes, and the error %v", e.store.Writes, err)
	}
	e.store.Client = free
	if err := e.reconcile(e.store); err != nil || e.store.Writes == 0 {
		t.Errorf("a free Controller has no writes, and the error %v", err)
	}
}
