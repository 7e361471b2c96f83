//go:build e2e

package charts

import (
	"maps"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
)

// missingReferences returns the Secrets and ConfigMaps that users bring: keys, passwords, key sets and scripts.
func missingReferences(all []client.Object) []client.Object {
	has := map[string]bool{}
	for _, o := range all {
		has[o.GetObjectKind().GroupVersionKind().Kind+" "+o.GetName()] = true
	}
	secrets, configMaps := map[string]map[string][]byte{}, map[string]map[string]string{}
	needSecret := func(ref *corev1.SecretKeySelector) {
		if ref != nil && ref.Name != "" && !has["Secret "+ref.Name] {
			if secrets[ref.Name] == nil {
				secrets[ref.Name] = map[string][]byte{}
			}
			secrets[ref.Name][ref.Key] = []byte("secret")
		}
	}
	for _, o := range all {
		switch o := o.(type) {
		case *v1beta1.Controller:
			needSecret(o.Spec.SlurmKeyRef)
			needSecret(o.Spec.JWTKeyRef)
			needSecret(o.Spec.SSSDConfRef)
			if ref := o.Spec.JWKSKeyRef; ref != nil {
				configMaps[ref.Name] = map[string]string{ref.Key: `{"keys":[{"kty":"oct","kid":"a","k":"c2VjcmV0","alg":"HS256"}]}`}
			}
			for _, refs := range [][]corev1.LocalObjectReference{o.Spec.ConfigFileRefs, o.Spec.PrologScriptRefs, o.Spec.EpilogScriptRefs,
				o.Spec.PrologSlurmctldScriptRefs, o.Spec.EpilogSlurmctldScriptRefs} {
				for _, ref := range refs {
					if !has["ConfigMap "+ref.Name] {
						configMaps[ref.Name] = map[string]string{ref.Name: "#!/bin/sh\ntrue\n"}
					}
				}
			}
		case *v1beta1.Accounting:
			needSecret(o.Spec.SlurmKeyRef)
			needSecret(o.Spec.JWTKeyRef)
			if o.Spec.StorageConfig != nil {
				needSecret(&o.Spec.StorageConfig.PasswordKeyRef)
			}
		case *v1beta1.LoginSet:
			needSecret(o.Spec.SSSDConfRef)
		}
	}
	var out []client.Object
	for name, data := range maps.All(secrets) {
		out = append(out, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: name}, Data: data})
	}
	for name, data := range maps.All(configMaps) {
		out = append(out, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}, Data: data})
	}
	return out
}
