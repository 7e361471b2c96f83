package certs

import (
	"encoding/base64"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic/fake"
	clienttesting "k8s.io/client-go/testing"
)

// newAPIService returns an APIService of a Service.
func newAPIService(name, service string) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apiregistration.k8s.io/v1", "kind": "APIService", "metadata": map[string]any{"name": name},
		"spec": map[string]any{"service": map[string]any{"namespace": "slurm", "name": service}},
	}}
}

func TestAnnounce(t *testing.T) {
	const first, second = "v1beta2.custom.metrics.k8s.io", "v1beta1.external.metrics.k8s.io"
	ca := base64.StdEncoding.EncodeToString([]byte("ca"))
	for _, tc := range []struct {
		name      string
		existing  []runtime.Object
		forbidden []string
		want      map[string]string // the CA of each APIService
		fails     bool
	}{
		{"both are ours", []runtime.Object{newAPIService(first, "ours"), newAPIService(second, "ours")}, nil,
			map[string]string{first: ca, second: ca}, false},
		{"one is missing", []runtime.Object{newAPIService(second, "ours")}, nil, map[string]string{second: ca}, false},
		{"one is another server's", []runtime.Object{newAPIService(first, "theirs"), newAPIService(second, "ours")}, nil,
			map[string]string{first: "", second: ca}, false},
		{"one is another server's, which must not be read", []runtime.Object{newAPIService(first, "theirs"), newAPIService(second, "ours")},
			[]string{first}, map[string]string{first: "", second: ca}, false},
		{"none may be read", []runtime.Object{newAPIService(first, "ours"), newAPIService(second, "ours")}, []string{first, second},
			map[string]string{first: "", second: ""}, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			client := fake.NewSimpleDynamicClient(runtime.NewScheme(), tc.existing...)
			may := true
			client.PrependReactor("get", "apiservices", func(action clienttesting.Action) (bool, runtime.Object, error) {
				name := action.(clienttesting.GetAction).GetName()
				for _, forbidden := range tc.forbidden {
					if may && forbidden == name {
						return true, nil, apierrors.NewForbidden(schema.GroupResource{Resource: "apiservices"}, name, nil)
					}
				}
				return false, nil, nil
			})
			announcer := &APIServiceAnnouncer{Client: client, Namespace: "slurm", Service: "ours", Names: []string{first, second}}
			if err := announcer.Announce(t.Context(), []byte("ca")); (err != nil) != tc.fails {
				t.Errorf("Announce() = %v", err)
			}
			may = false
			got := map[string]string{}
			for name := range tc.want {
				found, err := client.Resource(apiServices).Get(t.Context(), name, metav1.GetOptions{})
				if err != nil {
					t.Fatal(err)
				}
				got[name], _, _ = unstructured.NestedString(found.Object, "spec", "caBundle")
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("CAs (-want +got):\n%s", diff)
			}
		})
	}
}
