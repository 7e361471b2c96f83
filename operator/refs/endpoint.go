package refs

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
)

// KeyRef refers to a key of a Secret or ConfigMap. The zero value is no reference.
type KeyRef struct {
	Kind, Namespace, Name, Key string
}

// String returns a description for messages.
func (r KeyRef) String() string {
	return fmt.Sprintf("%s %s/%s, key %s", r.Kind, r.Namespace, r.Name, r.Key)
}

// Endpoint has the address of a cluster's slurmrestd and the credentials for it. A connection stays valid as
// long as its endpoint stays equal.
type Endpoint struct {
	URL string
	// Token refers to a token or, with MintsTokens, to the key that tokens are minted with.
	Token       KeyRef
	MintsTokens bool
	// CA refers to certificates in PEM. Certificate names a Secret of type kubernetes.io/tls; its Key
	// is empty.
	CA, Certificate KeyRef
	// CAOptional lets the system's CAs verify slurmrestd if the key of CA does not exist.
	CAOptional bool
	// Problem is the reason for a missing endpoint. The other fields are meaningless then.
	Problem string
}

// ClusterEndpoint returns the endpoint of a Cluster's slurmrestd.
func ClusterEndpoint(c *v1beta1.Cluster) Endpoint {
	secret := c.Spec.Token.SecretRef
	t := Endpoint{URL: strings.TrimSuffix(c.Spec.Server, "/"),
		Token: KeyRef{"Secret", c.Namespace, secret.Name, secret.Key}}
	if ca := c.Spec.CARef; ca != nil {
		t.CA = caKeyRef(c.Namespace, ca)
	}
	if cert := c.Spec.ClientCertRef; cert != nil {
		t.Certificate = KeyRef{Kind: "Secret", Namespace: c.Namespace, Name: cert.Name}
	}
	return t
}

// ControllerEndpoint returns the endpoint of a Controller's slurmrestd: the Service of the first of
// apis that names the Controller. The caller sorts apis by name.
func ControllerEndpoint(c *v1beta1.Controller, apis []*v1beta1.RestApi) Endpoint {
	i := slices.IndexFunc(apis, func(a *v1beta1.RestApi) bool {
		return a.Namespace == c.Namespace && a.Spec.ControllerRef.Name == c.Name
	})
	if i < 0 {
		return Endpoint{Problem: "no RestApi in the namespace names this Controller"}
	}
	key := cmp.Or(c.Spec.JWTKeyRef, c.Spec.JWTHS256KeyRef)
	if key == nil || key.Name == "" {
		return Endpoint{Problem: "the Controller has neither jwtKeyRef nor jwtHs256KeyRef: tokens cannot be minted"}
	}
	ca, optional := RestAPICA(apis[i])
	return Endpoint{URL: RestAPIURL(apis[i]), Token: SecretKeyRef(c.Namespace, key), MintsTokens: true,
		CA: ca, CAOptional: optional}
}

// SecretKeyRef returns the reference to a key of a Secret in the namespace.
func SecretKeyRef(namespace string, s *corev1.SecretKeySelector) KeyRef {
	return KeyRef{"Secret", namespace, s.Name, s.Key}
}
