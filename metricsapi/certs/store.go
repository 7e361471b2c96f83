package certs

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
)

// The keys of the Secret.
const (
	keyCACert = "ca.crt"
	keyCAKey  = "ca.key"
	keyCert   = "tls.crt"
	keyKey    = "tls.key"
)

// SecretStore keeps the bundle in a Secret and announces its CA in APIServices.
type SecretStore struct {
	Client  kubernetes.Interface
	Dynamic dynamic.Interface
	// Namespace and Secret say where the bundle is; Service, in the same namespace,
	// is how the server is reached.
	Namespace, Secret, Service string
	// APIServices are the names of those that lead to the server. One that is absent,
	// or leads to another Service, is left alone.
	APIServices []string
}

var _ Store = (*SecretStore)(nil)

// Read implements Store. A Secret that is there and empty is as good as none.
func (s *SecretStore) Read(ctx context.Context) (Bundle, string, error) {
	secret, err := s.Client.CoreV1().Secrets(s.Namespace).Get(ctx, s.Secret, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return Bundle{}, "", nil
	}
	if err != nil {
		return Bundle{}, "", err
	}
	d := secret.Data
	return Bundle{d[keyCACert], d[keyCAKey], d[keyCert], d[keyKey]}, secret.ResourceVersion, nil
}

// Write implements Store.
func (s *SecretStore) Write(ctx context.Context, b Bundle, version string) error {
	data := map[string][]byte{keyCACert: b.CACert, keyCAKey: b.CAKey, keyCert: b.Cert, keyKey: b.Key}
	secrets := s.Client.CoreV1().Secrets(s.Namespace)
	if version == "" {
		_, err := secrets.Create(ctx, &corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Name: s.Secret, Namespace: s.Namespace}, Data: data,
		}, metav1.CreateOptions{})
		return changed(err)
	}
	// Labels and the type stay as whoever made the Secret wants them.
	secret, err := secrets.Get(ctx, s.Secret, metav1.GetOptions{})
	if err != nil {
		return err
	}
	if secret.ResourceVersion != version {
		return ErrChanged
	}
	secret.Data = data
	_, err = secrets.Update(ctx, secret, metav1.UpdateOptions{})
	return changed(err)
}

func changed(err error) error {
	if apierrors.IsAlreadyExists(err) || apierrors.IsConflict(err) {
		return ErrChanged
	}
	return err
}

// Announce implements Store.
func (s *SecretStore) Announce(ctx context.Context, caCert []byte) error {
	services := s.Dynamic.Resource(schema.GroupVersionResource{Group: "apiregistration.k8s.io", Version: "v1", Resource: "apiservices"})
	for _, name := range s.APIServices {
		seen, err := services.Get(ctx, name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			continue
		}
		if err != nil {
			return fmt.Errorf("reading APIService %s: %w", name, err)
		}
		if !s.mine(seen) || bytes.Equal(caOf(seen), caCert) {
			continue
		}
		patch, err := json.Marshal(map[string]any{"spec": map[string]any{"caBundle": caCert, "insecureSkipTLSVerify": false}})
		if err != nil {
			return err
		}
		if _, err := services.Patch(ctx, name, types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
			return fmt.Errorf("patching APIService %s: %w", name, err)
		}
	}
	return nil
}

// mine reports whether an APIService leads to our Service.
func (s *SecretStore) mine(a *unstructured.Unstructured) bool {
	name, _, _ := unstructured.NestedString(a.Object, "spec", "service", "name")
	namespace, _, _ := unstructured.NestedString(a.Object, "spec", "service", "namespace")
	return name == s.Service && namespace == s.Namespace
}

func caOf(a *unstructured.Unstructured) []byte {
	text, _, _ := unstructured.NestedString(a.Object, "spec", "caBundle")
	ca, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return nil
	}
	return ca
}
