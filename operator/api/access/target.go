package access

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
)

// KeyRef names a key of a Secret or ConfigMap. The zero value names none.
type Ref struct {
	Kind, Namespace, Name, Key string
}

// String returns a description for messages.
func (r Ref) String() string {
	return fmt.Sprintf("%s %s/%s, key %s", r.Kind, r.Namespace, r.Name, r.Key)
}

// Endpoint says where a cluster's slurmrestd is and which credentials it needs. A connection stays
// valid as long as its endpoint stays equal.
type Target struct {
	URL string
	// Token refers to a token or, with MintsTokens, to the key that tokens are minted with.
	Token Ref
	Mint  bool
	// CA refers to certificates in PEM. Certificate names a Secret of type kubernetes.io/tls; its Key
	// is empty.
	CA, Certificate Ref
	// Problem says why there is no endpoint. The other fields are meaningless then.
	Problem string
}

// slurmrestdPort is slurmrestd's default port.
const restPort = 6820

// ClusterEndpoint returns the endpoint of a Cluster's slurmrestd.
func TargetOfCluster(c *v1beta1.Cluster) Target {
	secret := c.Spec.Token.SecretRef
	t := Target{URL: strings.TrimSuffix(c.Spec.Server, "/"), Token: Ref{"Secret", c.Namespace, secret.Name, secret.Key}}
	if ca := c.Spec.CARef; ca != nil {
		t.CA = Ref{cmp.Or(string(ca.Kind), string(v1beta1.CAInSecret)), c.Namespace, ca.Name, cmp.Or(ca.Key, "ca.crt")}
	}
	if cert := c.Spec.ClientCertRef; cert != nil {
		t.Certificate = Ref{Kind: "Secret", Namespace: c.Namespace, Name: cert.Name}
	}
	return t
}

// ControllerEndpoint returns the endpoint of a Controller's slurmrestd: the Service of the first of
// apis that names the Controller. The caller sorts apis by name.
func TargetOfController(c *v1beta1.Controller, apis []*v1beta1.RestApi) Target {
	i := slices.IndexFunc(apis, func(a *v1beta1.RestApi) bool {
		return a.Namespace == c.Namespace && a.Spec.ControllerRef.Name == c.Name
	})
	if i < 0 {
		return Target{Problem: "no RestApi in the namespace names this Controller"}
	}
	key := cmp.Or(c.Spec.JWTKeyRef, c.Spec.JWTHS256KeyRef)
	if key == nil || key.Name == "" {
		return Target{Problem: "the Controller has neither jwtKeyRef nor jwtHs256KeyRef: tokens cannot be minted"}
	}
	port := cmp.Or(apis[i].Spec.Service.Port, restPort)
	return Target{
		URL:   fmt.Sprintf("http://%s-restapi.%s.svc:%d", apis[i].Name, c.Namespace, port),
		Token: RefOf(c.Namespace, key), Mint: true,
	}
}

// SecretKeyRef returns the reference to a key of a Secret in the namespace.
func RefOf(namespace string, s *corev1.SecretKeySelector) Ref {
	return Ref{"Secret", namespace, s.Name, s.Key}
}
