package token

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
)

// keyRef is a field that names the Secret of a key, a password or a certificate.
type keyRef struct{ field, secret string }

// findKeyUser returns the field of an object in the namespace that reads a key from a Secret, such as "spec.slurmKeyRef of
// Controller slurm", or an empty string.
func findKeyUser(ctx context.Context, reader client.Reader, namespace, secret string) (string, error) {
	controllers, accountings, clusters := &v1beta1.ControllerList{}, &v1beta1.AccountingList{}, &v1beta1.ClusterList{}
	tokens, restAPIs := &v1beta1.TokenList{}, &v1beta1.RestApiList{}
	logins, nodeSets := &v1beta1.LoginSetList{}, &v1beta1.NodeSetList{}
	in := client.InNamespace(namespace)
	err := errors.Join(reader.List(ctx, controllers, in), reader.List(ctx, accountings, in), reader.List(ctx, clusters, in),
		reader.List(ctx, tokens, in), reader.List(ctx, restAPIs, in), reader.List(ctx, logins, in),
		reader.List(ctx, nodeSets, in))
	if err != nil {
		return "", fmt.Errorf("listing the objects that read keys: %w", err)
	}
	out := ""
	look := func(kind, name string, keys ...keyRef) {
		for _, key := range keys {
			if key.secret == secret {
				out = fmt.Sprintf("spec.%s of %s %s", key.field, kind, name)
			}
		}
	}
	for i := range controllers.Items {
		look(v1beta1.KindController, controllers.Items[i].Name, controllerKeys(&controllers.Items[i].Spec)...)
	}
	for i := range accountings.Items {
		look(v1beta1.KindAccounting, accountings.Items[i].Name, accountingKeys(&accountings.Items[i].Spec)...)
	}
	for i := range clusters.Items {
		look(v1beta1.KindCluster, clusters.Items[i].Name, clusterKeys(&clusters.Items[i].Spec)...)
	}
	for i := range tokens.Items {
		s := &tokens.Items[i].Spec
		look(v1beta1.KindToken, tokens.Items[i].Name, keyRef{"jwtKeyRef", nameOf(s.JWTKeyRef)},
			keyRef{"jwtHs256KeyRef", nameOf(s.JWTHS256KeyRef)})
	}
	for i := range restAPIs.Items {
		if tls := restAPIs.Items[i].Spec.TLS; tls != nil {
			look(v1beta1.KindRestApi, restAPIs.Items[i].Name, keyRef{"tls.secretName", tls.SecretName})
		}
	}
	for i := range logins.Items {
		look(v1beta1.KindLoginSet, logins.Items[i].Name, keyRef{"sssdConfRef", nameOf(logins.Items[i].Spec.SSSDConfRef)})
	}
	for i := range nodeSets.Items {
		if ssh := nodeSets.Items[i].Spec.SSH; ssh != nil {
			look(v1beta1.KindNodeSet, nodeSets.Items[i].Name, keyRef{"ssh.sssdConfRef", nameOf(ssh.SSSDConfRef)})
		}
	}
	return out, nil
}

func controllerKeys(s *v1beta1.ControllerSpec) []keyRef {
	return []keyRef{{"slurmKeyRef", nameOf(s.SlurmKeyRef)}, {"jwtKeyRef", nameOf(s.JWTKeyRef)},
		{"jwtHs256KeyRef", nameOf(s.JWTHS256KeyRef)}, {"sssdConfRef", nameOf(s.SSSDConfRef)}}
}

func accountingKeys(s *v1beta1.AccountingSpec) []keyRef {
	out := []keyRef{{"slurmKeyRef", nameOf(s.SlurmKeyRef)}, {"jwtKeyRef", nameOf(s.JWTKeyRef)},
		{"jwtHs256KeyRef", nameOf(s.JWTHS256KeyRef)}}
	if s.StorageConfig != nil {
		out = append(out, keyRef{"storageConfig.passwordKeyRef", s.StorageConfig.PasswordKeyRef.Name})
	}
	return out
}

// clusterKeys leaves out spec.token.secretRef, which names a token.
func clusterKeys(s *v1beta1.ClusterSpec) []keyRef {
	out := []keyRef{{"slurmKeyRef", nameOf(s.SlurmKeyRef)}}
	if s.ClientCertRef != nil {
		out = append(out, keyRef{"clientCertRef", s.ClientCertRef.Name})
	}
	return out
}

// nameOf returns the name of the Secret of a key, empty if the field is not set.
func nameOf(ref *corev1.SecretKeySelector) string {
	if ref == nil {
		return ""
	}
	return ref.Name
}
