package access

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
)

// Ref is a key of a Secret or ConfigMap. The zero value is none.
type Ref struct {
	Kind, Namespace, Name, Key string
}

// String tells people which key it is.
func (r Ref) String() string {
	return fmt.Sprintf("%s %s/%s, key %s", r.Kind, r.Namespace, r.Name, r.Key)
}

// Target is where a cluster's slurmrestd is and what opens it. Targets that are
// equal need no new connection.
type Target struct {
	URL string
	// Token holds a token, or with Mint the key that tokens are minted with.
	Token Ref
	Mint  bool
	// CA holds certificates, Certificate names a Secret of type kubernetes.io/tls
	// (its Key is empty).
	CA, Certificate Ref
	// Problem is why there is nothing to connect to; the rest means nothing then.
	Problem string
}

// restPort is slurmrestd's port.
const restPort = 6820

// TargetOfCluster is where a Cluster's slurmrestd is.
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

// TargetOfController is where the slurmrestd of a Controller is: at the Service of
// the RestApi that names it, the first of apis where there are several,
// which the caller sorts by name.
func TargetOfController(c *v1beta1.Controller, apis []*v1beta1.RestApi) Target {
	i := slices.IndexFunc(apis, func(a *v1beta1.RestApi) bool {
		return a.Namespace == c.Namespace && a.Spec.ControllerRef.Name == c.Name
	})
	if i < 0 {
		return Target{Problem: "no RestApi in its namespace names this Controller"}
	}
	key := cmp.Or(c.Spec.JWTKeyRef, c.Spec.JWTHS256KeyRef)
	if key == nil || key.Name == "" {
		return Target{Problem: "the Controller has neither jwtKeyRef nor jwtHs256KeyRef, which tokens are minted with"}
	}
	port := cmp.Or(apis[i].Spec.Service.Port, restPort)
	return Target{
		URL:   fmt.Sprintf("http://%s-restapi.%s.svc:%d", apis[i].Name, c.Namespace, port),
		Token: RefOf(c.Namespace, key), Mint: true,
	}
}

// RefOf is the reference to a key of a Secret in the namespace.
func RefOf(namespace string, s *corev1.SecretKeySelector) Ref {
	return Ref{"Secret", namespace, s.Name, s.Key}
}
