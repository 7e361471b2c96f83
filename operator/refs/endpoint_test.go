package refs

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
)

func objectMeta(namespace, name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: namespace, Name: name}
}

func localRef(name string) *corev1.LocalObjectReference {
	return &corev1.LocalObjectReference{Name: name}
}

func newCluster(namespace, name, server string) *v1beta1.Cluster {
	return &v1beta1.Cluster{ObjectMeta: objectMeta(namespace, name), Spec: v1beta1.ClusterSpec{
		Server: server, Token: v1beta1.ClusterToken{SecretRef: v1beta1.SecretKeyReference{Name: name + "-token",
			Key: "jwt"}},
	}}
}

func newKeySelector(name, key string) *corev1.SecretKeySelector {
	return &corev1.SecretKeySelector{LocalObjectReference: corev1.LocalObjectReference{Name: name}, Key: key}
}

func TestClusterKeyOf(t *testing.T) {
	for _, tc := range []struct {
		name string
		spec v1beta1.NodeSetSpec
		want ClusterKey
		ok   bool
	}{
		{"a Controller", v1beta1.NodeSetSpec{ControllerRef: localRef("blue")}, ClusterKey{"Controller", "team", "blue"},
			true},
		{"a Cluster", v1beta1.NodeSetSpec{ClusterRef: localRef("red")}, ClusterKey{"Cluster", "team", "red"}, true},
		{"an empty reference", v1beta1.NodeSetSpec{ControllerRef: localRef("")}, ClusterKey{}, false},
		{"no reference", v1beta1.NodeSetSpec{}, ClusterKey{}, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, ok := ClusterKeyOf(&v1beta1.NodeSet{ObjectMeta: objectMeta("team", "a"), Spec: tc.spec})
			if got != tc.want || ok != tc.ok {
				t.Errorf("got %+v, %v; want %+v, %v", got, ok, tc.want, tc.ok)
			}
		})
	}
}

func TestEndpoints(t *testing.T) {
	withCA := newCluster("team", "red", "https://slurm.example.com:6820/")
	withCA.Spec.CARef = &v1beta1.CAReference{Kind: v1beta1.CAInConfigMap, Name: "bundle"}
	withCA.Spec.ClientCertRef = &v1beta1.SecretReference{Name: "client"}
	controller := func(change func(*v1beta1.ControllerSpec)) *v1beta1.Controller {
		c := &v1beta1.Controller{ObjectMeta: objectMeta("team", "blue")}
		change(&c.Spec)
		return c
	}
	api := func(namespace, name, controller string, port int) *v1beta1.RestApi {
		return &v1beta1.RestApi{ObjectMeta: objectMeta(namespace, name), Spec: v1beta1.RestApiSpec{
			ControllerRef: *localRef(controller), Service: v1beta1.ServiceSpec{Port: port},
		}}
	}
	withTLS := func(port int, tls v1beta1.RestApiTLS) []*v1beta1.RestApi {
		out := api("team", "r", "blue", port)
		out.Spec.TLS = &tls
		return []*v1beta1.RestApi{out}
	}
	hs256 := controller(func(s *v1beta1.ControllerSpec) { s.JWTHS256KeyRef = newKeySelector("old", "k") })
	both := controller(func(s *v1beta1.ControllerSpec) {
		s.JWTHS256KeyRef, s.JWTKeyRef = newKeySelector("old", "k"), newKeySelector("new", "k")
	})
	for _, tc := range []struct {
		name      string
		got, want Endpoint
	}{
		{"a Cluster", ClusterEndpoint(newCluster("team", "red", "http://h:1")),
			Endpoint{URL: "http://h:1", Token: KeyRef{"Secret", "team", "red-token", "jwt"}}},
		{"a Cluster with certificates", ClusterEndpoint(withCA),
			Endpoint{URL: "https://slurm.example.com:6820", Token: KeyRef{"Secret", "team", "red-token", "jwt"},
				CA:          KeyRef{"ConfigMap", "team", "bundle", "ca.crt"},
				Certificate: KeyRef{Kind: "Secret", Namespace: "team", Name: "client"}}},
		{"a Controller: the Service of its RestApi",
			ControllerEndpoint(hs256, []*v1beta1.RestApi{api("other", "a", "blue", 0), api("team", "r", "blue", 0),
				api("team", "s", "blue", 0)}),
			Endpoint{URL: "http://r-restapi.team.svc:6820", Token: KeyRef{"Secret", "team", "old", "k"},
				MintsTokens: true}},
		{"a Controller with another port and both keys",
			ControllerEndpoint(both, []*v1beta1.RestApi{api("team", "r", "blue", 80)}),
			Endpoint{URL: "http://r-restapi.team.svc:80", Token: KeyRef{"Secret", "team", "new", "k"},
				MintsTokens: true}},
		{"a RestApi with TLS: the CA may be in its Secret",
			ControllerEndpoint(hs256, withTLS(0, v1beta1.RestApiTLS{SecretName: "cert"})),
			Endpoint{URL: "https://r-restapi.team.svc:6821", Token: KeyRef{"Secret", "team", "old", "k"}, MintsTokens: true,
				CA: KeyRef{"Secret", "team", "cert", "ca.crt"}, CAOptional: true}},
		{"a RestApi with TLS, another port and a CA",
			ControllerEndpoint(hs256, withTLS(443, v1beta1.RestApiTLS{SecretName: "cert",
				CARef: &v1beta1.CAReference{Kind: v1beta1.CAInConfigMap, Name: "roots", Key: "root.pem"}})),
			Endpoint{URL: "https://r-restapi.team.svc:443", Token: KeyRef{"Secret", "team", "old", "k"}, MintsTokens: true,
				CA: KeyRef{"ConfigMap", "team", "roots", "root.pem"}}},
		{"a Controller without a RestApi", ControllerEndpoint(hs256, []*v1beta1.RestApi{api("team", "r", "green", 0)}),
			Endpoint{Problem: "no RestApi in the namespace names this Controller"}},
		{"a Controller without a key", ControllerEndpoint(controller(func(*v1beta1.ControllerSpec) {}),
			[]*v1beta1.RestApi{api("team", "r", "blue", 0)}),
			Endpoint{Problem: "the Controller has neither jwtKeyRef nor jwtHs256KeyRef: tokens cannot be minted"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, tc.got); diff != "" {
				t.Error(diff)
			}
		})
	}
}
