package access

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

// Kube reads single objects that hold secrets and certificates. Its errors hold
// no content.
type Kube interface {
	// Read returns the data of a Secret or ConfigMap, whose kind the reference says.
	Read(ctx context.Context, r Ref) (map[string][]byte, error)
}

// FromClientset reads with plain GETs.
func FromClientset(c kubernetes.Interface) Kube { return clientset{c} }

type clientset struct{ kubernetes.Interface }

func (c clientset) Read(ctx context.Context, r Ref) (map[string][]byte, error) {
	if r.Kind == "ConfigMap" {
		m, err := c.CoreV1().ConfigMaps(r.Namespace).Get(ctx, r.Name, metav1.GetOptions{})
		if err != nil {
			return nil, fmt.Errorf("reading ConfigMap %s/%s: %w", r.Namespace, r.Name, err)
		}
		out := map[string][]byte{}
		for k, v := range m.Data {
			out[k] = []byte(v)
		}
		for k, v := range m.BinaryData {
			out[k] = v
		}
		return out, nil
	}
	s, err := c.CoreV1().Secrets(r.Namespace).Get(ctx, r.Name, metav1.GetOptions{})
	if err != nil {
		return nil, fmt.Errorf("reading Secret %s/%s: %w", r.Namespace, r.Name, err)
	}
	return s.Data, nil
}

// ReadKey returns one key of a Secret or ConfigMap. An empty one is an error.
func ReadKey(ctx context.Context, kube Kube, r Ref) ([]byte, error) {
	data, err := kube.Read(ctx, r)
	if err != nil {
		return nil, err
	}
	if len(data[r.Key]) == 0 {
		return nil, fmt.Errorf("%s %s/%s has no key %q, or it is empty", r.Kind, r.Namespace, r.Name, r.Key)
	}
	return data[r.Key], nil
}
