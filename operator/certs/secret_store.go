package certs

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

// The keys of the Secret.
const (
	keyCACert = "ca.crt"
	keyCAKey  = "ca.key"
	keyCert   = "tls.crt"
	keyKey    = "tls.key"
)

// SecretStore stores the bundle in a Secret.
type SecretStore struct {
	Client kubernetes.Interface
	// Namespace and Name identify the Secret.
	Namespace, Name string
}

var _ Store = (*SecretStore)(nil)

// Read implements Store. It returns an empty bundle for an absent and for an empty Secret.
func (s *SecretStore) Read(ctx context.Context) (Bundle, string, error) {
	secret, err := s.Client.CoreV1().Secrets(s.Namespace).Get(ctx, s.Name, metav1.GetOptions{})
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
			ObjectMeta: metav1.ObjectMeta{Name: s.Name, Namespace: s.Namespace}, Data: data,
		}, metav1.CreateOptions{})
		return conflictOf(err)
	}
	// Labels and type belong to the creator of the Secret.
	secret, err := secrets.Get(ctx, s.Name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	if secret.ResourceVersion != version {
		return ErrConflict
	}
	secret.Data = data
	_, err = secrets.Update(ctx, secret, metav1.UpdateOptions{})
	return conflictOf(err)
}

// conflictOf returns ErrConflict for the conflict errors of the API server, and any other error unchanged.
func conflictOf(err error) error {
	if apierrors.IsAlreadyExists(err) || apierrors.IsConflict(err) {
		return ErrConflict
	}
	return err
}
