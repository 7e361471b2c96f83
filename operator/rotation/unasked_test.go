package rotation

import (
	"context"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
	"github.com/slurmtide/slurmtide/operator/kube"
	"github.com/slurmtide/slurmtide/operator/kube/kubetest"
	"github.com/slurmtide/slurmtide/operator/names"
)

// TestARotationThatHasBegunEnds at each step, even if the annotation or the Controller is changed or deleted.
func TestARotationThatHasBegunEnds(t *testing.T) {
	for name, disturb := range map[string]func(*env){
		"the annotation is removed": func(e *env) {
			e.changeController(func(c *v1beta1.Controller) { delete(c.Annotations, v1beta1.AnnotationRotateKeys) })
		},
		"the annotation is empty": func(e *env) {
			e.changeController(func(c *v1beta1.Controller) { c.Annotations[v1beta1.AnnotationRotateKeys] = "" })
		},
		"the status is lost": func(e *env) {
			e.changeController(func(c *v1beta1.Controller) { c.Status.Conditions = nil })
		},
		"the Controller is made again without the annotation": func(e *env) { e.recreateController() },
	} {
		for begun := 1; begun <= 3; begun++ {
			t.Run(name, func(t *testing.T) {
				e := newEnv(t)
				for pass, written := range []string{"first*,new", "first,new*", "new*"} {
					if err := e.reconcile(e.store); err != nil {
						t.Fatal(err)
					}
					if pass+1 == begun {
						disturb(e)
					}
					e.load(written)
				}
				e.check(v1beta1.ReasonRotated, "", "new*")
				e.store.Writes = 0
				if err := e.reconcile(e.store); err != nil || e.store.Writes > 0 {
					t.Errorf("then there are %d writes, and the error %v", e.store.Writes, err)
				}
			})
		}
	}
}

// changeController changes the object and the status of the Controller.
func (e *env) changeController(change func(*v1beta1.Controller)) {
	e.t.Helper()
	c := kubetest.Get(e.t, e.store, "slurm", &v1beta1.Controller{})
	change(c)
	status := c.Status
	if err := e.store.Update(e.t.Context(), c); err != nil {
		e.t.Fatal(err)
	}
	c.Status = status
	if err := e.store.Status().Update(e.t.Context(), c); err != nil {
		e.t.Fatal(err)
	}
}

// recreateController deletes the Controller and makes one of the same spec without annotations.
func (e *env) recreateController() {
	e.t.Helper()
	c := kubetest.Get(e.t, e.store, "slurm", &v1beta1.Controller{})
	if err := ReleaseSecrets(e.t.Context(), e.writer(), c); err != nil {
		e.t.Fatal(err)
	}
	next := &v1beta1.Controller{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "slurm", UID: "uid-again"}, Spec: c.Spec}
	if err := e.store.Delete(e.t.Context(), c); err != nil {
		e.t.Fatal(err)
	}
	if err := e.store.Create(e.t.Context(), next); err != nil {
		e.t.Fatal(err)
	}
}

func (e *env) writer() kube.Writer {
	return kube.Writer{Client: e.store, Uncached: e.store, Owner: FieldManager}
}

// TestNothingIsReportedUnasked: no condition without a rotation, or for one that never began.
func TestNothingIsReportedUnasked(t *testing.T) {
	e := newEnv(t)
	delete(e.keys, "10.0.0.3")
	e.check(v1beta1.ReasonWaitingForDaemons, "waiting for w-0", "")
	e.changeController(func(c *v1beta1.Controller) { c.Annotations = nil })
	for range 2 {
		if err := e.reconcile(e.store); err != nil {
			t.Fatal(err)
		}
		c := kubetest.Get(t, e.store, "slurm", &v1beta1.Controller{})
		if got := meta.FindStatusCondition(c.Status.Conditions, v1beta1.ConditionKeysRotated); got != nil || e.written(e.store) != "" {
			t.Errorf("the condition is %+v, and %q is written", got, e.written(e.store))
		}
	}
}

// TestARotationOfJWTKeysThatHasBegunEnds without its annotation.
func TestARotationOfJWTKeysThatHasBegunEnds(t *testing.T) {
	e := newJWTEnv(t)
	if err := e.reconcile(e.store); err != nil {
		t.Fatal(err)
	}
	e.changeController(func(c *v1beta1.Controller) { c.Annotations, c.Status.Conditions = nil, nil })
	for range 12 {
		e.loadJWT(e.store)
		e.issueToken(string(e.jwtSecret(e.store)["signing.key"]))
		e.later += 3 * 60e9
		if err := e.reconcile(e.store); err != nil {
			t.Fatal(err)
		}
	}
	e.checkJWT(v1beta1.ReasonRotated, "", "new")
}

// TestTheSecretsHaveAnAnchor until no Controller has the key, and are deleted with the last object that has it.
func TestTheSecretsHaveAnAnchor(t *testing.T) {
	e := newEnv(t)
	other := &v1beta1.Controller{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "other", UID: "uid-other"}}
	other.Spec.SlurmKeyRef = keyOf("auth")
	if err := e.store.Create(t.Context(), other); err != nil {
		t.Fatal(err)
	}
	delete(e.keys, "10.0.0.9")
	pod := kubetest.Get(t, e.store, "other-0", &corev1.Pod{})
	if err := e.store.Delete(t.Context(), pod); err != nil {
		t.Fatal(err)
	}
	ctld := newPod("other-controller-0", "10.0.0.8", names.SlurmctldSelector("other"))
	ctld.Namespace = "team"
	e.keys["10.0.0.8"] = ""
	if err := e.store.Create(t.Context(), ctld); err != nil {
		t.Fatal(err)
	}
	e.check(v1beta1.ReasonDistributingKey, "", "first*,new")
	secret := func() *corev1.Secret {
		out := &corev1.Secret{}
		err := e.store.Get(context.Background(), client.ObjectKey{Namespace: "team", Name: names.KeySetSecret("auth", "slurm.key")}, out)
		if apierrors.IsNotFound(err) {
			return nil
		} else if err != nil {
			t.Fatal(err)
		}
		return out
	}
	release := func(object client.Object, want string) {
		t.Helper()
		if c, is := object.(*v1beta1.Controller); is {
			if err := ReleaseSecrets(t.Context(), e.writer(), c); err != nil {
				t.Fatal(err)
			}
		}
		if err := e.store.Delete(t.Context(), object); err != nil {
			t.Fatal(err)
		}
		var owners []string
		if s := secret(); s != nil {
			for _, owner := range s.OwnerReferences {
				owners = append(owners, owner.Kind+" "+owner.Name)
			}
		}
		if got := strings.Join(owners, ", "); got != want {
			t.Errorf("without %T %s the owners are %s, want %s", object, object.GetName(), got, want)
		}
	}
	release(kubetest.Get(t, e.store, "other", &v1beta1.Controller{}), "Controller slurm, Accounting db, Namespace team")
	release(kubetest.Get(t, e.store, "slurm", &v1beta1.Controller{}), "Accounting db")
	again := newEnv(t)
	again.check(v1beta1.ReasonDistributingKey, "", "first*,new")
	if err := again.store.Delete(t.Context(), kubetest.Get(t, again.store, "db", &v1beta1.Accounting{})); err != nil {
		t.Fatal(err)
	}
	e = again
	release(kubetest.Get(t, e.store, "slurm", &v1beta1.Controller{}), "")
	if secret() != nil {
		t.Error("the Secret outlives all that have its key")
	}
}

// TestAStepKeepsOwnersOfBefore: the daemons of an Accounting that now refers to another key may continue with this one.
func TestAStepKeepsOwnersOfBefore(t *testing.T) {
	e := newEnv(t)
	e.check(v1beta1.ReasonDistributingKey, "", "first*,new")
	e.load("first*,new")
	a := kubetest.Get(t, e.store, "db", &v1beta1.Accounting{})
	a.Spec.SlurmKeyRef = keyOf("gone")
	if err := e.store.Update(t.Context(), a); err != nil {
		t.Fatal(err)
	}
	e.check(v1beta1.ReasonSwitchingKey, "", "first,new*")
	e.recreateController()
	if got := e.written(e.store); got != "first,new*" {
		t.Errorf("without the last Controller that refers to the key, its key set is %q", got)
	}
}

// TestAForbiddenReadDoesNotEndARotation whose annotation is gone.
func TestAForbiddenReadDoesNotEndARotation(t *testing.T) {
	e := newEnv(t)
	e.check(v1beta1.ReasonDistributingKey, "", "first*,new")
	e.load("first*,new")
	e.changeController(func(c *v1beta1.Controller) { delete(c.Annotations, v1beta1.AnnotationRotateKeys) })
	e.forbidden = names.KeySetSecret("auth", "slurm.key")
	e.checkCondition(v1beta1.ReasonForbidden, "may not read Secret")
	if e.again == 0 {
		t.Error("nobody looks again")
	}
	e.forbidden = ""
	e.check(v1beta1.ReasonSwitchingKey, "", "first,new*")
	e.load("first,new*")
	e.check(v1beta1.ReasonRetiringKey, "", "new*")
	e.load("new*")
	e.check(v1beta1.ReasonRotated, "", "new*")
	e.forbidden = names.KeySetSecret("auth", "slurm.key")
	e.checkCondition(v1beta1.ReasonRotated, "") // it is over
	if e.again == 0 {
		t.Error("nobody looks again whether the Secret exists")
	}
}

// TestTheSecretOutlivesAChangedReference: slurmdbd of an Accounting whose slurmKeyRef was changed meanwhile, and cannot be followed,
// still has the keys. A recreated Controller needs them.
func TestTheSecretOutlivesAChangedReference(t *testing.T) {
	e := newEnv(t)
	e.check(v1beta1.ReasonDistributingKey, "", "first*,new")
	a := kubetest.Get(t, e.store, "db", &v1beta1.Accounting{})
	a.Spec.SlurmKeyRef = keyOf("gone")
	if err := e.store.Update(t.Context(), a); err != nil {
		t.Fatal(err)
	}
	e.recreateController()
	if got := e.written(e.store); got != "first*,new" {
		t.Errorf("the key set is %q", got)
	}
}
