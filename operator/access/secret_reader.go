package access

import (
	"context"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/slurmtide/slurmtide/operator/refs"
)

// SecretReader reads single Secrets and ConfigMaps. Its errors contain nothing of their content.
type SecretReader interface {
	// Read returns the Secret or ConfigMap that the reference names. It ignores the key.
	Read(ctx context.Context, r refs.KeyRef) (SecretContent, error)
}

// SecretContent is the content of a Secret or ConfigMap.
type SecretContent struct {
	Data map[string][]byte
	// TokenAnnotation decides whether and where a Secret may be sent as a token, see tokenAnnotationOf. It is
	// empty for ConfigMaps.
	TokenAnnotation string
	// HoldsToken is true if a Token made the Secret. Such a Secret is not a key.
	HoldsToken bool
}

// NewSecretReader returns a SecretReader that sends one GET for each read.
func NewSecretReader(c kubernetes.Interface) SecretReader { return clientsetReader{c} }

type clientsetReader struct{ kubernetes.Interface }

func (c clientsetReader) Read(ctx context.Context, r refs.KeyRef) (SecretContent, error) {
	if r.Kind == "ConfigMap" {
		m, err := c.CoreV1().ConfigMaps(r.Namespace).Get(ctx, r.Name, metav1.GetOptions{})
		if err != nil {
			return SecretContent{}, wrapReadError("ConfigMap", r, err)
		}
		out := map[string][]byte{}
		for k, v := range m.Data {
			out[k] = []byte(v)
		}
		for k, v := range m.BinaryData {
			out[k] = v
		}
		return SecretContent{Data: out}, nil
	}
	s, err := c.CoreV1().Secrets(r.Namespace).Get(ctx, r.Name, metav1.GetOptions{})
	if err != nil {
		return SecretContent{}, wrapReadError("Secret", r, err)
	}
	return SecretContent{Data: s.Data, TokenAnnotation: tokenAnnotationOf(s), HoldsToken: isOfToken(s)}, nil
}

// wrapReadError names the object that could not be read and, if access is forbidden, the remedy.
func wrapReadError(kind string, r refs.KeyRef, err error) error {
	if apierrors.IsForbidden(err) {
		return fmt.Errorf("reading %s %s/%s is forbidden: add the namespace to the chart's rbac.secretNamespaces: %w",
			kind, r.Namespace, r.Name, err)
	}
	return fmt.Errorf("reading %s %s/%s: %w", kind, r.Namespace, r.Name, err)
}

// MissingError reports that a Secret or ConfigMap exists but lacks a key, or that the key is empty.
type MissingError struct{ Ref refs.KeyRef }

// Error names the key.
func (e *MissingError) Error() string {
	return fmt.Sprintf("%s %s/%s has no key %q, or it is empty", e.Ref.Kind, e.Ref.Namespace, e.Ref.Name, e.Ref.Key)
}

// IsMissing reports whether err is caused by a missing object or key.
func IsMissing(err error) bool {
	var missing *MissingError
	return errors.As(err, &missing) || apierrors.IsNotFound(err)
}

// ReadKey returns the value of one key of a Secret or ConfigMap. The error is a *MissingError if the key
// is absent or empty.
func ReadKey(ctx context.Context, kube SecretReader, r refs.KeyRef) ([]byte, error) {
	object, err := readObjectWithKey(ctx, kube, r)
	return object.Data[r.Key], err
}

// readObjectWithKey returns the object if the key is not empty, and a *MissingError otherwise.
func readObjectWithKey(ctx context.Context, kube SecretReader, r refs.KeyRef) (SecretContent, error) {
	object, err := kube.Read(ctx, r)
	if err != nil {
		return SecretContent{}, err
	}
	if len(object.Data[r.Key]) == 0 {
		return SecretContent{}, &MissingError{r}
	}
	return object, nil
}
