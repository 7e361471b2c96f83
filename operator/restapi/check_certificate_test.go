package restapi

import (
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
	"github.com/slurmtide/slurmtide/operator/kube/kubetest"
	"github.com/slurmtide/slurmtide/test/harness/testcert"
)

// newTLSStore returns a store with a RestApi "team/api" that has TLS, and its Controller.
func newTLSStore(t *testing.T, tls v1beta1.RestApiTLS, objects ...client.Object) *kubetest.Store {
	t.Helper()
	api := &v1beta1.RestApi{ObjectMeta: metav1.ObjectMeta{Name: "api", UID: "uid-api", Generation: 1}}
	api.Spec.ControllerRef.Name, api.Spec.TLS = "slurm", &tls
	return kubetest.NewStore(t, api, append(objects, newController(""))...)
}

// newCertificate returns a Secret with a certificate for the RestApi, and the PEM of its CA.
func newCertificate(t *testing.T, end time.Time) (secret *corev1.Secret, ca []byte) {
	t.Helper()
	authority := testcert.NewCA(t, "ca", kubetest.Noon().Add(-time.Hour))
	pair := authority.Issue(t, kubetest.Noon().Add(-time.Hour), end, "api-restapi.team.svc")
	return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "cert"},
		Data: map[string][]byte{"tls.crt": pair.Cert, "tls.key": pair.Key}}, authority.PEM
}

// reconcileTLS reconciles the RestApi and returns it, its condition Ready and when to look again.
func reconcileTLS(t *testing.T, store *kubetest.Store, cfg Config) (*v1beta1.RestApi, metav1.Condition, time.Duration) {
	t.Helper()
	result, err := New(store, store, events.NewFakeRecorder(10), kubetest.Noon, cfg).Reconcile(t.Context(), kubetest.Request("api"))
	if err != nil {
		t.Fatal(err)
	}
	api := kubetest.Get(t, store, "api", &v1beta1.RestApi{})
	return api, *meta.FindStatusCondition(api.Status.Conditions, v1beta1.ConditionReady), result.RequeueAfter
}

func TestTLSIsServedAndCheckedAgain(t *testing.T) {
	end := kubetest.Noon().Add(time.Hour)
	secret, ca := newCertificate(t, end)
	secret.Data["ca.crt"] = ca
	store := newTLSStore(t, v1beta1.RestApiTLS{SecretName: "cert"}, secret)
	cfg := Config{Image: "slurmrestd:1", AgentImage: "agent:1"}
	api, _, again := reconcileTLS(t, store, cfg)
	if api.Status.URL != "https://api-restapi.team.svc:6821" || !api.Status.CertificateExpiry.Time.Equal(end) ||
		again != certificateCheckInterval {
		t.Errorf("the status is %+v, again after %v", api.Status, again)
	}
	pod := kubetest.Get(t, store, "api-restapi", &appsv1.Deployment{}).Spec.Template.Spec
	if len(pod.Containers) != 2 || pod.Containers[1].Image != "agent:1" {
		t.Errorf("the containers are %+v", pod.Containers)
	}
	store.Writes = 0
	if reconcileTLS(t, store, cfg); store.Writes > 0 {
		t.Errorf("%d writes, although nothing has changed", store.Writes)
	}
	secret.Data["tls.key"] = nil
	if err := store.Update(t.Context(), secret); err != nil {
		t.Fatal(err)
	}
	api, ready, _ := reconcileTLS(t, store, cfg)
	if ready.Reason != v1beta1.ReasonInvalidCertificate || api.Status.URL == "" {
		t.Errorf("with a broken certificate the condition is %+v and the status %+v", ready, api.Status)
	}
}

func TestWithoutTLSTheURLIsPlain(t *testing.T) {
	store := newStore(t, newController(""))
	reconcileAPI(t, store)
	api := kubetest.Get(t, store, "api", &v1beta1.RestApi{})
	if api.Status.URL != "http://api-restapi.team.svc:6820" || api.Status.CertificateExpiry != nil {
		t.Errorf("the status is %+v", api.Status)
	}
}

func TestProblemsOfACertificate(t *testing.T) {
	hour := kubetest.Noon().Add(time.Hour)
	good, ca := newCertificate(t, hour)
	expired, _ := newCertificate(t, kubetest.Noon().Add(-time.Minute))
	_, otherCA := newCertificate(t, hour)
	withCA := func(pem []byte) client.Object {
		out := good.DeepCopy()
		out.Data["ca.crt"] = pem
		return out
	}
	roots := func(key string, pem []byte) client.Object {
		return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "roots"}, Data: map[string]string{key: string(pem)}}
	}
	inConfigMap := &v1beta1.CAReference{Kind: v1beta1.CAInConfigMap, Name: "roots"}
	inSecret := &v1beta1.CAReference{Name: "other", Key: "root.pem"}
	for _, tc := range []struct {
		name    string
		ca      *v1beta1.CAReference
		objects []client.Object
		// reason and message are those of the condition Ready. Without a problem the reason is Progressing.
		reason, message string
	}{
		{"no Secret", nil, nil, "ReferenceNotFound", "spec.tls.secretName: there is no Secret cert"},
		{"no CA", nil, []client.Object{good}, "Progressing", ""},
		{"its CA", nil, []client.Object{withCA(ca)}, "Progressing", ""},
		{"another CA", nil, []client.Object{withCA(otherCA)}, "InvalidCertificate", "Secret team/cert, key ca.crt"},
		{"an expired one", nil, []client.Object{expired}, "InvalidCertificate",
			"Secret cert: the certificate ended on 2030-01-01"},
		{"a CA in a ConfigMap", inConfigMap, []client.Object{good, roots("ca.crt", ca)}, "Progressing", ""},
		{"another CA in a ConfigMap", inConfigMap, []client.Object{withCA(ca), roots("ca.crt", otherCA)},
			"InvalidCertificate", "ConfigMap team/roots, key ca.crt"},
		{"no ConfigMap", inConfigMap, []client.Object{good}, "ReferenceNotFound",
			"spec.tls.caRef: there is no ConfigMap roots"},
		{"no key in the ConfigMap", inConfigMap, []client.Object{good, roots("x", ca)}, "ReferenceNotFound",
			"spec.tls.caRef: ConfigMap roots has no key ca.crt"},
		{"a CA in another Secret", inSecret, []client.Object{good, &corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Name: "other"}, Data: map[string][]byte{"root.pem": ca}}}, "Progressing", ""},
		{"no other Secret", inSecret, []client.Object{good}, "ReferenceNotFound", "spec.tls.caRef: there is no Secret other"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			for i, object := range tc.objects {
				tc.objects[i], _ = object.DeepCopyObject().(client.Object)
			}
			store := newTLSStore(t, v1beta1.RestApiTLS{SecretName: "cert", CARef: tc.ca}, tc.objects...)
			api, ready, _ := reconcileTLS(t, store, Config{Image: "slurmrestd:1", AgentImage: "agent:1"})
			if ready.Reason != tc.reason || !strings.Contains(ready.Message, tc.message) {
				t.Errorf("the condition is %+v", ready)
			}
			if isProblem := tc.reason != v1beta1.ReasonProgressing; isProblem != (api.Status.URL == "") {
				t.Errorf("the status has the URL %q", api.Status.URL)
			}
		})
	}
}

func TestTLSNeedsTheAgent(t *testing.T) {
	store := newTLSStore(t, v1beta1.RestApiTLS{SecretName: "cert"})
	_, ready, _ := reconcileTLS(t, store, Config{Image: "slurmrestd:1"})
	if ready.Reason != v1beta1.ReasonInvalidSpec || !strings.Contains(ready.Message, "--controller.agent-image") {
		t.Errorf("the condition is %+v", ready)
	}
}

func TestReconcilerWithTLSKilledAtEveryWrite(t *testing.T) {
	secret, _ := newCertificate(t, kubetest.Noon().Add(time.Hour))
	kubetest.CheckKilledAtEveryWrite(t, func() *kubetest.Store {
		return newTLSStore(t, v1beta1.RestApiTLS{SecretName: "cert"}, secret.DeepCopy())
	}, func(s *kubetest.Store) error {
		_, err := New(s, s, events.NewFakeRecorder(10), kubetest.Noon, Config{Image: "slurmrestd:1", AgentImage: "agent:1"}).
			Reconcile(t.Context(), kubetest.Request("api"))
		return err
	})
}
