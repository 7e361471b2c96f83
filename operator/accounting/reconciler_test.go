package accounting

import (
	"context"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
	"github.com/slurmtide/slurmtide/operator/configagent"
	"github.com/slurmtide/slurmtide/operator/kube/kubetest"
)

// env is a store with an Accounting "team/acct".
type env struct {
	*testing.T
	store *kubetest.Store
	// agent is what the agents say, and recorder has the events.
	agent    configagent.Status
	recorder *events.FakeRecorder
}

func newSecret(name, key string) *corev1.Secret {
	return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: name}, Data: map[string][]byte{key: []byte("secret-text")}}
}

func newEnv(t *testing.T, objects ...client.Object) *env {
	t.Helper()
	key := func(name, key string) *corev1.SecretKeySelector {
		return &corev1.SecretKeySelector{LocalObjectReference: corev1.LocalObjectReference{Name: name}, Key: key}
	}
	a := &v1beta1.Accounting{ObjectMeta: metav1.ObjectMeta{Name: "acct", UID: "uid-acct", Generation: 1}}
	a.Spec.SlurmKeyRef, a.Spec.JWTKeyRef = key("slurm", "key"), key("jwt", "key")
	a.Spec.StorageConfig = &v1beta1.StorageConfig{Host: "mariadb", PasswordKeyRef: *key("mariadb", "password")}
	objects = append(objects, newSecret("slurm", "key"), newSecret("jwt", "key"), newSecret("mariadb", "password"))
	return &env{T: t, recorder: events.NewFakeRecorder(10), store: kubetest.NewStore(t, a, objects...)}
}

func (e *env) get(name string, into client.Object) error {
	return e.store.Get(e.Context(), client.ObjectKey{Namespace: "team", Name: name}, into)
}

// reconcile reconciles the Accounting and returns one of its conditions, or nil.
func (e *env) reconcile(kind string) *metav1.Condition {
	e.Helper()
	read := func(context.Context, string) (configagent.Status, error) { return e.agent, nil }
	r := New(e.store, e.store, read, e.recorder, kubetest.Noon, Config{Image: "slurmdbd:1", AgentImage: "agent:1"})
	name := client.ObjectKey{Namespace: "team", Name: "acct"}
	if _, err := r.Reconcile(e.Context(), ctrl.Request{NamespacedName: name}); err != nil {
		e.Fatal(err)
	}
	a := &v1beta1.Accounting{}
	if err := e.get("acct", a); err != nil {
		e.Fatal(err)
	}
	return meta.FindStatusCondition(a.Status.Conditions, kind)
}

func (e *env) change(change func(*v1beta1.AccountingSpec)) {
	e.Helper()
	a := &v1beta1.Accounting{}
	if err := e.get("acct", a); err != nil {
		e.Fatal(err)
	}
	change(&a.Spec)
	if err := e.store.Update(e.Context(), a); err != nil {
		e.Fatal(err)
	}
}

func TestReconcileAppliesOnceAndReportsReadiness(t *testing.T) {
	e := newEnv(t)
	if c := e.reconcile(v1beta1.ConditionReady); c.Reason != v1beta1.ReasonProgressing {
		t.Errorf("without a pod the condition is %+v", c)
	}
	set, config := &appsv1.StatefulSet{}, &corev1.ConfigMap{}
	if err := e.get("acct-accounting", set); err != nil {
		t.Fatal(err)
	}
	if err := e.get("acct-accounting-config", config); err != nil {
		t.Fatal(err)
	}
	if text := config.Data["slurmdbd.conf"]; strings.Contains(text, "secret-text") || strings.Contains(text, "StoragePass") {
		t.Errorf("the ConfigMap has the password:\n%s", text)
	}
	e.store.Writes = 0
	if e.reconcile(v1beta1.ConditionReady); e.store.Writes > 0 {
		t.Errorf("%d writes, although nothing has changed", e.store.Writes)
	}
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "acct-accounting-0",
		Labels: set.Spec.Template.Labels}}
	pod.OwnerReferences = []metav1.OwnerReference{{Kind: "StatefulSet", Name: "acct-accounting", Controller: new(true)}}
	pod.Status.PodIP = "10.0.0.7"
	if err := e.store.Create(t.Context(), pod); err != nil {
		t.Fatal(err)
	}
	e.agent = configagent.Status{Wanted: config.Data["slurmtide.revision"], Applied: config.Data["slurmtide.revision"]}
	if c := e.reconcile(v1beta1.ConditionConfigApplied); c.Status != metav1.ConditionTrue {
		t.Errorf("with an agent that has applied it the condition is %+v", c)
	}
	if c := e.reconcile(v1beta1.ConditionReady); !strings.Contains(c.Message, "waits for the database at mariadb:3306") {
		t.Errorf("while slurmdbd does not listen the condition is %+v", c)
	}
	set.Status.ReadyReplicas = 1
	if err := e.store.Status().Update(t.Context(), set); err != nil {
		t.Fatal(err)
	}
	if c := e.reconcile(v1beta1.ConditionReady); c.Status != metav1.ConditionTrue {
		t.Errorf("with a ready pod the condition is %+v", c)
	}
}

func TestWhatIsMissingIsNamed(t *testing.T) {
	for _, tc := range []struct {
		name            string
		change          func(*v1beta1.AccountingSpec)
		reason, message string
	}{
		{"no database", func(s *v1beta1.AccountingSpec) { s.StorageConfig = nil }, v1beta1.ReasonInvalidSpec,
			"spec.storageConfig must be given"},
		{"no Secret", func(s *v1beta1.AccountingSpec) { s.StorageConfig.PasswordKeyRef.Name = "gone" },
			v1beta1.ReasonReferenceNotFound, "spec.storageConfig.passwordKeyRef: there is no Secret gone"},
		{"no key in it", func(s *v1beta1.AccountingSpec) { s.SlurmKeyRef.Key = "gone" }, v1beta1.ReasonReferenceNotFound,
			"spec.slurmKeyRef: Secret slurm has no key gone"},
		{"no ConfigMap of the JSON Web Key Set", func(s *v1beta1.AccountingSpec) {
			s.JWKSKeyRef = &corev1.ConfigMapKeySelector{Key: "jwks.json"}
			s.JWKSKeyRef.Name = "gone"
		}, v1beta1.ReasonReferenceNotFound, "spec.jwksKeyRef: there is no ConfigMap gone"},
		{"another host", func(s *v1beta1.AccountingSpec) { s.ExtraConf = "DbdHost=x" }, v1beta1.ReasonInvalidSpec, "DbdHost"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			e := newEnv(t)
			e.change(tc.change)
			if c := e.reconcile(v1beta1.ConditionReady); c.Reason != tc.reason || !strings.Contains(c.Message, tc.message) {
				t.Errorf("the condition is %+v", c)
			}
		})
	}
}

func TestObjectsOfOthersStay(t *testing.T) {
	e := newEnv(t, &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "acct-accounting"}})
	c := e.reconcile(v1beta1.ConditionReady)
	if c.Reason != v1beta1.ReasonObjectTaken || !strings.Contains(c.Message, "Service team/acct-accounting") {
		t.Errorf("the condition is %+v", c)
	}
}

// TestAnExternalSlurmdbdHasNoObjects, also if there were some.
func TestAnExternalSlurmdbdHasNoObjects(t *testing.T) {
	e := newEnv(t)
	e.reconcile(v1beta1.ConditionReady)
	e.change(func(s *v1beta1.AccountingSpec) {
		s.External, s.ExternalConfig = true, &v1beta1.ExternalConfig{Host: "dbd.example.com", Port: 7000}
	})
	if c := e.reconcile(v1beta1.ConditionReady); c.Status != metav1.ConditionUnknown || c.Reason != v1beta1.ReasonExternal {
		t.Errorf("the condition is %+v", c)
	}
	if c := e.reconcile(v1beta1.ConditionConfigApplied); c != nil {
		t.Errorf("there is a condition %+v", c)
	}
	if err := e.get("acct-accounting", &appsv1.StatefulSet{}); !apierrors.IsNotFound(err) {
		t.Errorf("the StatefulSet is still there: %v", err)
	}
}

func TestReconcilerKilledAtEveryWrite(t *testing.T) {
	read := func(context.Context, string) (configagent.Status, error) { return configagent.Status{}, nil }
	reconcile := func(s *kubetest.Store) error {
		kubetest.AnswerLookups(t, s, outputs)
		kubetest.RollOut(t, s)
		r := New(s, s, read, events.NewFakeRecorder(10), kubetest.Noon, Config{Image: "slurmdbd:1", AgentImage: "agent:1"})
		_, err := r.Reconcile(t.Context(), kubetest.Request("acct"))
		return err
	}
	t.Run("applied", func(t *testing.T) {
		kubetest.CheckKilledAtEveryWrite(t, func() *kubetest.Store { return newEnv(t).store }, reconcile)
	})
	t.Run("another image", func(t *testing.T) {
		kubetest.CheckKilledAtEveryWrite(t, func() *kubetest.Store {
			e := newOldSlurmdbd(t, "24.11")
			e.setImage("slurm:26.05")
			e.store.Writes = 0
			return e.store
		}, reconcile)
	})
	t.Run("made external", func(t *testing.T) {
		kubetest.CheckKilledAtEveryWrite(t, func() *kubetest.Store {
			e := newEnv(t)
			e.reconcile(v1beta1.ConditionReady)
			e.change(func(s *v1beta1.AccountingSpec) {
				s.External, s.ExternalConfig = true, &v1beta1.ExternalConfig{Host: "dbd.example.com"}
			})
			e.store.Writes = 0
			return e.store
		}, reconcile)
	})
}
