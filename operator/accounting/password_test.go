package accounting

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
)

// askForPassword deletes the Secret of the database and sets the annotation.
func (e *env) askForPassword(parts string) {
	e.Helper()
	a := &v1beta1.Accounting{}
	if err := e.get("acct", a); err != nil {
		e.Fatal(err)
	}
	a.Annotations = map[string]string{v1beta1.AnnotationGenerateKeys: parts}
	if err := e.store.Update(e.Context(), a); err != nil {
		e.Fatal(err)
	}
	e.deletePassword()
}

func (e *env) deletePassword() {
	e.Helper()
	secret := &corev1.Secret{}
	if err := e.get("mariadb", secret); err != nil {
		e.Fatal(err)
	}
	if err := e.store.Delete(e.Context(), secret); err != nil {
		e.Fatal(err)
	}
}

func TestAMissingPasswordIsGeneratedOnRequest(t *testing.T) {
	e := newEnv(t)
	e.askForPassword("slurmKeyRef, storageConfig.passwordKeyRef")
	if c := e.reconcile(v1beta1.ConditionReady); c.Reason != v1beta1.ReasonProgressing {
		t.Errorf("the condition is %+v", c)
	}
	made := &corev1.Secret{}
	if err := e.get("mariadb", made); err != nil {
		t.Fatal(err)
	}
	password := string(made.Data["password"])
	if len(password) < 20 || strings.ContainsFunc(password, func(r rune) bool { return !strings.ContainsRune("ABCDEFGHIJKLMNOPQRSTUVWXYZ234567", r) }) {
		t.Errorf("the password has %d characters, or odd ones", len(password))
	}
	if len(made.OwnerReferences) > 0 {
		t.Errorf("the Secret would not outlive the Accounting: %+v", made.ObjectMeta)
	}
	if event := <-e.recorder.Events; event != "Normal PasswordGenerated generated password of Secret mariadb" {
		t.Errorf("the event is %q", event)
	}
	e.reconcile(v1beta1.ConditionReady)
	again := &corev1.Secret{}
	if err := e.get("mariadb", again); err != nil || string(again.Data["password"]) != password {
		t.Errorf("the password is another one: %v", err)
	}
	e.deletePassword()
	if c := e.reconcile(v1beta1.ConditionReady); c.Reason != v1beta1.ReasonReferenceNotFound ||
		!strings.Contains(c.Message, "the database has its password") {
		t.Errorf("after the Secret was deleted the condition is %+v", c)
	}
}

func TestNoPasswordIsGeneratedUnasked(t *testing.T) {
	for _, parts := range []string{"", "slurmKeyRef", "passwordKeyRef"} {
		e := newEnv(t)
		e.askForPassword(parts)
		if c := e.reconcile(v1beta1.ConditionReady); c.Reason != v1beta1.ReasonReferenceNotFound {
			t.Errorf("%q: the condition is %+v", parts, c)
		}
		if err := e.get("mariadb", &corev1.Secret{}); err == nil {
			t.Errorf("%q: there is a Secret", parts)
		}
	}
}
