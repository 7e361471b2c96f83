package token

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kubefake "k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/tools/events"

	"github.com/slurmtide/slurmtide/operator/access"
	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
	"github.com/slurmtide/slurmtide/operator/kube/kubetest"
)

func TestATokenThatAnotherOperatorHoldsIsLeftAlone(t *testing.T) {
	token := &v1beta1.Token{ObjectMeta: metav1.ObjectMeta{Name: "t", UID: "uid-t"}}
	token.Spec.Username, token.Spec.JWTKeyRef = "slurm", &corev1.SecretKeySelector{
		LocalObjectReference: corev1.LocalObjectReference{Name: "key"}, Key: "jwt"}
	keys := kubefake.NewClientset(&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "key"},
		Data: map[string][]byte{"jwt": []byte(signingKey)}})
	s := kubetest.NewStore(t, token)
	r := New(s, s, access.NewSecretReader(keys), events.NewFakeRecorder(10), kubetest.Noon)
	kubetest.CheckHeldIsLeftAlone(t, s, kubetest.Get(t, s, "t", &v1beta1.Token{}), kubetest.Noon(), func() error {
		_, err := r.Reconcile(t.Context(), kubetest.Request("t"))
		return err
	})
}
