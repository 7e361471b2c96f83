package render

import (
	"fmt"
	"io"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
)

// generatedKeySize is the size in bytes of a generated key.
const generatedKeySize = 64

// KeySecret is a Secret with keys that a Controller refers to.
type KeySecret struct {
	// Name is the name of the Secret. Keys are the names of its keys, in the order of the references to them.
	Name string
	Keys []string
}

// RequestedKeySecrets returns the missing Secrets that the operator should generate (AnnotationGenerateKeys). It leaves
// out a Secret if only one of its two keys is requested: it would lack the other.
func RequestedKeySecrets(c *v1beta1.Controller) []KeySecret {
	requested := map[string]bool{}
	for part := range strings.SplitSeq(c.Annotations[v1beta1.AnnotationGenerateKeys], ",") {
		requested[strings.TrimSpace(part)] = true
	}
	var out []KeySecret
	partial := map[string]bool{} // by the name of the Secret
	for _, reference := range []struct {
		name string
		ref  *corev1.SecretKeySelector
	}{{v1beta1.GenerateSlurmKey, c.Spec.SlurmKeyRef}, {v1beta1.GenerateJWTKey, JWTKeyRef(c)}} {
		ref := reference.ref
		if ref == nil || ref.Name == "" || ref.Key == "" {
			continue
		}
		partial[ref.Name] = partial[ref.Name] || !requested[reference.name]
		at := slices.IndexFunc(out, func(s KeySecret) bool { return s.Name == ref.Name })
		switch {
		case at < 0:
			out = append(out, KeySecret{Name: ref.Name, Keys: []string{ref.Key}})
		case !slices.Contains(out[at].Keys, ref.Key):
			out[at].Keys = append(out[at].Keys, ref.Key)
		}
	}
	return slices.DeleteFunc(out, func(s KeySecret) bool { return partial[s.Name] })
}

// Generate returns the Secret with keys read from random. It is immutable, and has no owner: a recreated Controller
// keeps the same keys. New keys would make the hosts outside and the users' tokens worthless.
func (s KeySecret) Generate(c *v1beta1.Controller, random io.Reader) (*corev1.Secret, error) {
	out := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: s.Name, Namespace: c.Namespace, Labels: Input{Controller: c}.labels()},
		Type:       corev1.SecretTypeOpaque, Immutable: new(true), Data: map[string][]byte{},
	}
	for _, key := range s.Keys {
		value := make([]byte, generatedKeySize)
		if _, err := io.ReadFull(random, value); err != nil {
			return nil, fmt.Errorf("generating %s of Secret %s: %w", key, s.Name, err)
		}
		out.Data[key] = value
	}
	return out, nil
}
