package slurmclients

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
)

// newRestAPI is a RestApi of team/blue.
func newRestAPI(name string) *v1beta1.RestApi {
	return &v1beta1.RestApi{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: name},
		Spec: v1beta1.RestApiSpec{ControllerRef: corev1.LocalObjectReference{Name: "blue"}}}
}

func TestClustersFollowTheirObjects(t *testing.T) {
	scheme := runtime.NewScheme()
	if err := v1beta1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	controller := &v1beta1.Controller{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "blue"},
		Spec: v1beta1.ControllerSpec{
			JWTKeyRef: &corev1.SecretKeySelector{LocalObjectReference: corev1.LocalObjectReference{Name: "key"},
				Key: "jwt"},
		}}
	cluster := &v1beta1.Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "red"},
		Spec: v1beta1.ClusterSpec{Server: "http://red:6820"}}
	kube := fake.NewClientBuilder().WithScheme(scheme).WithObjects(controller, cluster).Build()
	clients := New(Config{})
	f := &objectFollower{client: kube, clients: clients}
	follow := func() {
		t.Helper()
		for name, one := range map[string]func() error{
			"blue": func() error {
				_, err := f.reconcileController(t.Context(),
					reconcile.Request{NamespacedName: types.NamespacedName{Namespace: "team", Name: "blue"}})
				return err
			},
			"red": func() error {
				_, err := f.reconcileCluster(t.Context(),
					reconcile.Request{NamespacedName: types.NamespacedName{Namespace: "team", Name: "red"}})
				return err
			},
		} {
			if err := one(); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
		}
	}
	change := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		follow()
	}
	follow()
	if s := clients.For(blue); s == nil || s.Problem() == "" {
		t.Error("a Controller without a RestApi has no problem")
	}
	if s := clients.For(red); s == nil || s.endpoint.URL != "http://red:6820" {
		t.Errorf("the Cluster's is %+v", s)
	}
	for _, api := range []client.Object{newRestAPI("s"), newRestAPI("r")} {
		change(kube.Create(t.Context(), api))
	}
	if s := clients.For(blue); s.Problem() != "" || s.endpoint.URL != "http://r-restapi.team.svc:6820" {
		t.Errorf("the Controller's is at %q: %s", s.endpoint.URL, s.Problem())
	}
	change(kube.Delete(t.Context(), newRestAPI("r")))
	if s := clients.For(blue); s.endpoint.URL != "http://s-restapi.team.svc:6820" {
		t.Errorf("without that RestApi it is at %q", s.endpoint.URL)
	}
	change(kube.Delete(t.Context(), controller))
	change(kube.Delete(t.Context(), cluster))
	if keys := clients.Keys(); len(keys) != 0 {
		t.Errorf("when the objects are gone there are %v", keys)
	}
	if r := requestsForRestAPI(t.Context(), newRestAPI("r")); len(r) != 1 || r[0].Name != "blue" ||
		r[0].Namespace != "team" {
		t.Errorf("a RestApi wakes %v", r)
	}
}
