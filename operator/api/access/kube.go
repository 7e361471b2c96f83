package access

import (
	"context"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

// Kube reads single objects that hold secrets and certificates. Its errors hold
// no content.
type Kube interface {
	// Read returns a Secret or ConfigMap, whose kind the reference says.
	Read(ctx context.Context, r Ref) (Object, error)
}

// Object is a Secret or ConfigMap.
type Object struct {
	Data map[string][]byte
	// Mark is what a Secret says about its use as a token, see markOf.
	Mark string
}

// FromClientset reads with plain GETs.
func FromClientset(c kubernetes.Interface) Kube { return clientset{c} }

type clientset struct{ kubernetes.Interface }

func (c clientset) Read(ctx context.Context, r Ref) (Object, error) {
	if r.Kind == "ConfigMap" {
		m, err := c.CoreV1().ConfigMaps(r.Namespace).Get(ctx, r.Name, metav1.GetOptions{})
		if err != nil {
			return Object{}, readError("ConfigMap", r, err)
		}
		out := map[string][]byte{}
		for k, v := range m.Data {
			out[k] = []byte(v)
		}
		for k, v := range m.BinaryData {
			out[k] = v
		}
		return Object{Data: out}, nil
	}
	s, err := c.CoreV1().Secrets(r.Namespace).Get(ctx, r.Name, metav1.GetOptions{})
	if err != nil {
		return Object{}, readError("Secret", r, err)
	}
	return Object{Data: s.Data, Mark: markOf(s)}, nil
}

// readError says what could not be read, and what to do where it is forbidden.
func readError(kind string, r Ref, err error) error {
	if apierrors.IsForbidden(err) {
		return fmt.Errorf("reading %s %s/%s is forbidden: add the namespace to the chart's rbac.secretNamespaces: %w", kind, r.Namespace, r.Name, err)
	}
	return fmt.Errorf("reading %s %s/%s: %w", kind, r.Namespace, r.Name, err)
}

// MissingError says that a Secret or ConfigMap is there and does not have a key, or
// nothing in it.
type MissingError struct{ Ref Ref }

// Error names the key.
func (e *MissingError) Error() string {
	return fmt.Sprintf("%s %s/%s has no key %q, or it is empty", e.Ref.Kind, e.Ref.Namespace, e.Ref.Name, e.Ref.Key)
}

// IsMissing reports whether err says that an object or a key that is named is not there.
func IsMissing(err error) bool {
	var missing *MissingError
	return errors.As(err, &missing) || apierrors.IsNotFound(err)
}

// ReadKey returns one key of a Secret or ConfigMap. One that is empty is a *MissingError.
func ReadKey(ctx context.Context, kube Kube, r Ref) ([]byte, error) {
	object, err := readKey(ctx, kube, r)
	return object.Data[r.Key], err
}

// readKey returns the object, in which the key is not empty.
func readKey(ctx context.Context, kube Kube, r Ref) (Object, error) {
	object, err := kube.Read(ctx, r)
	if err != nil {
		return Object{}, err
	}
	if len(object.Data[r.Key]) == 0 {
		return Object{}, &MissingError{r}
	}
	return object, nil
}
