package cluster

import (
	"context"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/slurmtide/slurmtide/operator/access"
	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
	"github.com/slurmtide/slurmtide/operator/refs"
	"github.com/slurmtide/slurmtide/operator/slurmclients"
	"github.com/slurmtide/slurmtide/slurmclient"
	"github.com/slurmtide/slurmtide/slurmclient/slurmtest"
)

const secretToken = "a token that nobody may see"

type fakeSecrets struct{}

func (fakeSecrets) Read(context.Context, refs.KeyRef) (access.SecretContent, error) {
	return access.SecretContent{Data: map[string][]byte{"jwt": []byte(strings.ReplaceAll(secretToken, " ", "-"))},
		TokenAnnotation: "true"}, nil
}

func TestStatusFollowsSlurm(t *testing.T) {
	simulated := slurmtest.New(slurmtest.Config{Nodes: []slurmtest.NodeConf{{Names: "n1", CPUs: 1}}})
	server := httptest.NewServer(simulated.Handler())
	defer server.Close()
	scheme := runtime.NewScheme()
	if err := v1beta1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	object := &v1beta1.Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "red", Generation: 1},
		Spec: v1beta1.ClusterSpec{
			Server: server.URL, Token: v1beta1.ClusterToken{SecretRef: v1beta1.SecretKeyReference{Name: "token",
				Key: "jwt"}},
		}}
	kube := fake.NewClientBuilder().WithScheme(scheme).WithObjects(object).WithStatusSubresource(object).Build()
	clients := slurmclients.New(slurmclients.Config{Access: access.Config{Secrets: fakeSecrets{}},
		Cache: slurmclient.CacheConfig{Period: 10 * time.Millisecond}})
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- clients.Start(ctx) }()
	defer func() { cancel(); <-done }()

	r := New(kube, clients, time.Now)
	name := types.NamespacedName{Namespace: "team", Name: "red"}
	ready := func() *metav1.Condition {
		if _, err := r.Reconcile(t.Context(), ctrl.Request{NamespacedName: name}); err != nil {
			t.Fatal(err)
		}
		var got v1beta1.Cluster
		if err := kube.Get(t.Context(), name, &got); err != nil {
			t.Fatal(err)
		}
		return meta.FindStatusCondition(got.Status.Conditions, v1beta1.ConditionReady)
	}
	if c := ready(); c.Status != metav1.ConditionUnknown {
		t.Errorf("before the first reading the condition is %+v", c)
	}
	clients.Set(refs.ClusterKey{Kind: "Cluster", Namespace: "team", Name: "red"}, refs.ClusterEndpoint(object))
	waitUntil(t, "the Cluster is ready", func() bool { return ready().Status == metav1.ConditionTrue })

	simulated.InjectFault(slurmtest.Fault{Kind: slurmtest.FaultToken})
	waitUntil(t, "the token is refused", func() bool { return ready().Reason == v1beta1.ReasonUnauthorized })
	if c := ready(); strings.Contains(c.Message, "nobody") {
		t.Errorf("the condition contains the token: %s", c.Message)
	}
	simulated.ClearFaults()
	waitUntil(t, "the Cluster is ready again", func() bool { return ready().Status == metav1.ConditionTrue })
	version := resourceVersionOf(t, kube, name)
	if ready(); resourceVersionOf(t, kube, name) != version {
		t.Error("the status was written although nothing has changed")
	}
	if err := kube.Delete(t.Context(), object); err != nil {
		t.Fatal(err)
	}
	if _, err := r.Reconcile(t.Context(), ctrl.Request{NamespacedName: name}); err != nil {
		t.Errorf("reconciling a deleted Cluster: %v", err)
	}
}

func resourceVersionOf(t *testing.T, kube client.Client, name types.NamespacedName) string {
	t.Helper()
	var c v1beta1.Cluster
	if err := kube.Get(t.Context(), name, &c); err != nil {
		t.Fatal(err)
	}
	return c.ResourceVersion
}

// waitUntil polls until ok returns true.
func waitUntil(t *testing.T, what string, ok func() bool) {
	t.Helper()
	deadline := time.After(20 * time.Second)
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for !ok() {
		select {
		case <-deadline:
			t.Fatalf("waited in vain until %s", what)
		case <-tick.C:
		}
	}
}
