package access_test

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/slurmtide/slurmtide/operator/access"
	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
)

// TestCheckKeysRefusesATokensSecret: a Token made it before a field referred to it as a key.
func TestCheckKeysRefusesATokensSecret(t *testing.T) {
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "auth"},
		Data: map[string][]byte{"slurm.key": []byte("x")}}
	key := access.RequiredKey{Field: "spec.slurmKeyRef", Ref: &corev1.SecretKeySelector{Key: "slurm.key",
		LocalObjectReference: corev1.LocalObjectReference{Name: "auth"}}}
	check := func() error {
		return access.CheckKeys(t.Context(), fake.NewClientBuilder().WithObjects(secret).Build(), "team", key)
	}
	if err := check(); err != nil {
		t.Error(err)
	}
	secret.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(&v1beta1.Token{
		ObjectMeta: metav1.ObjectMeta{Name: "t", UID: "uid-t"}}, v1beta1.SchemeGroupVersion.WithKind(v1beta1.KindToken))}
	if err := check(); err == nil || !strings.Contains(err.Error(), "spec.slurmKeyRef: a Token made Secret auth") {
		t.Errorf("the error is %v", err)
	}
}
