package controller

import (
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
	"github.com/slurmtide/slurmtide/operator/sshd"
)

// hasSSSD reports whether slurmctld's pods have the sidecar.
func (e *env) hasSSSD() bool {
	e.t.Helper()
	set := &appsv1.StatefulSet{}
	e.get("slurm-controller", set)
	return slices.ContainsFunc(set.Spec.Template.Spec.InitContainers,
		func(c corev1.Container) bool { return c.Name == sshd.ContainerSSSD })
}

// TestAChangedDirectoryLeavesSlurmctldAlone: SSSD reads the Secret itself.
func TestAChangedDirectoryLeavesSlurmctldAlone(t *testing.T) {
	e := newEnv(t, newSecret("sssd", "sssd.conf"))
	e.change(func(s *v1beta1.ControllerSpec) { s.SSSDConfRef = keyOf("sssd", "sssd.conf") })
	e.reconcile()
	if !e.hasSSSD() {
		t.Fatal("slurmctld's pods have no SSSD")
	}
	secret := &corev1.Secret{}
	e.get("sssd", secret)
	secret.Data["sssd.conf"] = []byte("broken")
	if err := e.store.Update(t.Context(), secret); err != nil {
		t.Fatal(err)
	}
	e.store.Writes = 0
	if e.reconcile(); e.store.Writes > 0 {
		t.Errorf("%d writes after a change of sssd.conf", e.store.Writes)
	}
	e.deleteSecret("sssd")
	if ready := e.reconcile(); ready.Reason != v1beta1.ReasonReferenceNotFound || !e.hasSSSD() {
		t.Errorf("without the Secret: %+v; SSSD in the pods: %t", ready, e.hasSSSD())
	}
}

// TestANamespaceThatRefusesSSSD: Kubernetes would delete slurmctld's pod and create none.
func TestANamespaceThatRefusesSSSD(t *testing.T) {
	e := newEnv(t, newSecret("sssd", "sssd.conf"))
	e.reconcile()
	setStandard := func(level string) {
		t.Helper()
		namespace := &corev1.Namespace{}
		if err := e.store.Get(t.Context(), client.ObjectKey{Name: "team"}, namespace); err != nil {
			t.Fatal(err)
		}
		namespace.Labels = map[string]string{"pod-security.kubernetes.io/enforce": level}
		if err := e.store.Update(t.Context(), namespace); err != nil {
			t.Fatal(err)
		}
	}
	setStandard("restricted")
	e.change(func(s *v1beta1.ControllerSpec) { s.SSSDConfRef = keyOf("sssd", "sssd.conf") })
	if ready := e.reconcile(); ready.Reason != v1beta1.ReasonInvalidSpec || !strings.Contains(ready.Message, "restricted") || e.hasSSSD() {
		t.Errorf("with restricted: %+v; SSSD in the pods: %t", ready, e.hasSSSD())
	}
	setStandard("baseline")
	if e.reconcile(); !e.hasSSSD() {
		t.Error("with baseline slurmctld's pods have no SSSD")
	}
}
