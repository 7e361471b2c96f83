package restapi

import (
	"context"
	"testing"

	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
	"github.com/slurmtide/slurmtide/operator/kube/kubetest"
)

// staleCache answers with an old RestApi while it has one.
type staleCache struct {
	client.Client
	old *v1beta1.RestApi
}

func (c *staleCache) Get(ctx context.Context, key client.ObjectKey, into client.Object, opts ...client.GetOption) error {
	if api, ok := into.(*v1beta1.RestApi); ok && c.old != nil {
		c.old.DeepCopyInto(api)
		return nil
	}
	return c.Client.Get(ctx, key, into, opts...)
}

// TestALookupThatIsOverDoesNotStay: the cache still says that the release is asked for when it is known already.
func TestALookupThatIsOverDoesNotStay(t *testing.T) {
	c := newControllerOf("24.11")
	c.Status.NextImage = "slurm:26.05"
	store := newStore(t, c)
	setImage(t, store, "slurm:24.11")
	cache := &staleCache{Client: store}
	r := New(cache, store, events.NewFakeRecorder(100), kubetest.Noon, Config{Image: "slurmrestd:1"})
	reconcile := func() { _, _ = r.Reconcile(t.Context(), kubetest.Request("api")) } // a conflict is an error
	var asking *v1beta1.RestApi
	for range 6 {
		reconcile()
		if api := kubetest.Get(t, store, "api", &v1beta1.RestApi{}); asking == nil && len(kubetest.LookupPods(t, store)) > 0 {
			asking = api
		}
		kubetest.AnswerLookups(t, store, outputs)
		kubetest.RollOut(t, store)
	}
	known := kubetest.Get(t, store, "api", &v1beta1.RestApi{}).Status.Release
	if asking == nil || known != "24.11" || len(kubetest.LookupPods(t, store)) > 0 {
		t.Fatalf("the release is %q, %d lookups stay, and %v asked", known, len(kubetest.LookupPods(t, store)), asking)
	}
	cache.old = asking
	reconcile()
	if len(kubetest.LookupPods(t, store)) != 1 {
		t.Fatal("nothing is looked up again")
	}
	cache.old = nil
	reconcile()
	if len(kubetest.LookupPods(t, store)) > 0 {
		t.Error("the lookup stays")
	}
}

// TestALookupOfAnEarlierProcessDoesNotStay: the operator has ended after it had made a lookup that was over.
func TestALookupOfAnEarlierProcessDoesNotStay(t *testing.T) {
	c := newControllerOf("24.11")
	c.Status.NextImage = "slurm:26.05"
	store := newStore(t, c)
	setImage(t, store, "slurm:24.11")
	var lookup client.Object
	for range 6 {
		r := New(store, store, events.NewFakeRecorder(100), kubetest.Noon, Config{Image: "slurmrestd:1"})
		_, _ = r.Reconcile(t.Context(), kubetest.Request("api")) // a conflict is an error
		if pods := kubetest.LookupPods(t, store); lookup == nil && len(pods) > 0 {
			lookup = pods[0].DeepCopy()
		}
		kubetest.AnswerLookups(t, store, outputs)
		kubetest.RollOut(t, store)
	}
	if lookup == nil || len(kubetest.LookupPods(t, store)) > 0 {
		t.Fatalf("the lookup is %v, and %d stay", lookup, len(kubetest.LookupPods(t, store)))
	}
	lookup.SetResourceVersion("")
	if err := store.Create(t.Context(), lookup); err != nil {
		t.Fatal(err)
	}
	r := New(store, store, events.NewFakeRecorder(100), kubetest.Noon, Config{Image: "slurmrestd:1"})
	if _, err := r.Reconcile(t.Context(), kubetest.Request("api")); err != nil || len(kubetest.LookupPods(t, store)) > 0 {
		t.Errorf("the lookup stays; %v", err)
	}
}
