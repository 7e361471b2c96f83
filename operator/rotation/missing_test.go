package rotation

import (
	"bytes"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
	"github.com/slurmtide/slurmtide/operator/kube/kubetest"
	"github.com/slurmtide/slurmtide/operator/names"
	"github.com/slurmtide/slurmtide/operator/podspec"
	"github.com/slurmtide/slurmtide/operator/rotation/keyfile"
	"github.com/slurmtide/slurmtide/operator/rotation/plan"
	"github.com/slurmtide/slurmtide/operator/slurmconf"
)

// keySetSecret returns the Secret with the key set.
func (e *env) keySetSecret() *corev1.Secret {
	e.t.Helper()
	return kubetest.Get(e.t, e.store, names.KeySetSecret("auth", "slurm.key"), &corev1.Secret{})
}

// rotateOnce replaces the key once.
func (e *env) rotateOnce() {
	e.t.Helper()
	for _, written := range []string{"first*,new", "first,new*", "new*"} {
		if err := e.reconcile(e.store); err != nil {
			e.t.Fatal(err)
		}
		e.load(written)
	}
	e.check(v1beta1.ReasonRotated, "", "new*")
}

// TestADeletedKeySet: no rotation begins with the retired key, and the condition names the problem until the set is restored or all
// daemons have the user's key.
func TestADeletedKeySet(t *testing.T) {
	for name, ask := range map[string]string{"of a rotation that is asked for": "monday", "unasked": "",
		"while another is asked for": "tuesday"} {
		t.Run(name, func(t *testing.T) {
			e := newEnv(t)
			e.rotateOnce()
			secret := e.keySetSecret()
			if err := e.store.Delete(t.Context(), secret); err != nil {
				t.Fatal(err)
			}
			e.newKeyID = "newer"
			e.changeController(func(c *v1beta1.Controller) { c.Annotations[v1beta1.AnnotationRotateKeys] = ask })
			e.check(v1beta1.ReasonKeySetMissing, "db-accounting-0 has the key set new*", "")
			e.load("") // replaced pods have the retired key
			delete(e.keys, "10.0.0.3")
			e.check(v1beta1.ReasonKeySetMissing, "w-0 may have it", "")
			e.load("new*")
			e.keys["10.0.0.3"] = "new*"
			secret.ResourceVersion, secret.UID = "", ""
			if err := e.store.Create(t.Context(), secret); err != nil {
				t.Fatal(err)
			}
			if ask == "tuesday" {
				e.check(v1beta1.ReasonDistributingKey, "", "new*,newer")
				return
			}
			e.check(v1beta1.ReasonRotated, "", "new*")
		})
	}
}

// TestAnEmptiedKeySet counts as a deleted one.
func TestAnEmptiedKeySet(t *testing.T) {
	for name, ask := range map[string]string{"of a rotation that is asked for": "monday", "unasked": "",
		"while another is asked for": "tuesday"} {
		t.Run(name, func(t *testing.T) {
			e := newEnv(t)
			e.rotateOnce()
			full, emptied := e.keySetSecret().Data, e.keySetSecret()
			emptied.Data = nil
			if err := e.store.Update(t.Context(), emptied); err != nil {
				t.Fatal(err)
			}
			e.changeController(func(c *v1beta1.Controller) { c.Annotations[v1beta1.AnnotationRotateKeys] = ask })
			e.checkCondition(v1beta1.ReasonKeySetMissing, "db-accounting-0 has the key set new*")
			restored := e.keySetSecret()
			restored.Data = full
			if err := e.store.Update(t.Context(), restored); err != nil {
				t.Fatal(err)
			}
			if ask != "tuesday" {
				e.check(v1beta1.ReasonRotated, "", "new*")
			}
		})
	}
	for name, empty := range map[string]func(map[string][]byte){
		"slurm.jwks is missing":  func(data map[string][]byte) { delete(data, podspec.SlurmJWKSFile) },
		"slurm.jwks is empty":    func(data map[string][]byte) { data[podspec.SlurmJWKSFile] = nil },
		"slurm.jwks has no keys": func(data map[string][]byte) { data[podspec.SlurmJWKSFile] = []byte(`{"keys":[]}`) },
		"slurm.jwks has a key of another id": func(data map[string][]byte) {
			data[podspec.SlurmJWKSFile] = bytes.ReplaceAll(data[podspec.SlurmJWKSFile], []byte(`"new"`), []byte(`"NEW"`))
		},
	} {
		t.Run(name, func(t *testing.T) {
			e := newEnv(t)
			e.rotateOnce()
			full, emptied := e.keySetSecret().Data, e.keySetSecret()
			empty(emptied.Data)
			if err := e.store.Update(t.Context(), emptied); err != nil {
				t.Fatal(err)
			}
			e.checkCondition(v1beta1.ReasonKeySetMissing, "has the key set new*")
			restored := e.keySetSecret()
			restored.Data = full
			if err := e.store.Update(t.Context(), restored); err != nil {
				t.Fatal(err)
			}
			e.check(v1beta1.ReasonRotated, "", "new*")
		})
	}
	t.Run("all daemons have the key of the user again", func(t *testing.T) {
		e := newEnv(t)
		e.rotateOnce()
		emptied := e.keySetSecret()
		delete(emptied.Data, slurmconf.KeySetFile)
		if err := e.store.Update(t.Context(), emptied); err != nil {
			t.Fatal(err)
		}
		e.load("")
		e.changeController(func(c *v1beta1.Controller) { c.Annotations[v1beta1.AnnotationRotateKeys] = "tuesday" })
		e.checkCondition(v1beta1.ReasonKeySetMissing, "has no key set: restore it from a backup, or delete it")
		if err := e.store.Delete(t.Context(), e.keySetSecret()); err != nil {
			t.Fatal(err)
		}
		e.check(v1beta1.ReasonDistributingKey, "", "first*,new")
	})
}

// TestAKeySetThatIsGivenUp: all daemons have the user's key again, such as after a restart of all pods.
func TestAKeySetThatIsGivenUp(t *testing.T) {
	e := newEnv(t)
	e.rotateOnce()
	if err := e.store.Delete(t.Context(), e.keySetSecret()); err != nil {
		t.Fatal(err)
	}
	e.changeController(func(c *v1beta1.Controller) { delete(c.Annotations, v1beta1.AnnotationRotateKeys) })
	e.load("")
	if err := e.reconcile(e.store); err != nil {
		t.Fatal(err)
	}
	c := kubetest.Get(t, e.store, "slurm", &v1beta1.Controller{})
	if condition := meta.FindStatusCondition(c.Status.Conditions, v1beta1.ConditionKeysRotated); condition != nil {
		t.Errorf("the condition is %+v", condition)
	}
}

// TestAnImmutableKeySet: a user made the Secret immutable, so the API server refuses the next keys.
func TestAnImmutableKeySet(t *testing.T) {
	e := newEnv(t)
	e.check(v1beta1.ReasonDistributingKey, "", "first*,new")
	secret := e.keySetSecret()
	secret.Immutable = new(true)
	if err := e.store.Update(t.Context(), secret); err != nil {
		t.Fatal(err)
	}
	e.load("first*,new")
	e.check(v1beta1.ReasonSecretImmutable, "without the field immutable", "first*,new")
	var events []string
	for len(e.recorder.Events) > 0 {
		events = append(events, <-e.recorder.Events)
	}
	if got := strings.Join(events, "\n"); !strings.Contains(got, "Warning SecretImmutable") {
		t.Errorf("the events are\n%s", got)
	}
	secret = e.keySetSecret()
	if err := e.store.Delete(t.Context(), secret, client.GracePeriodSeconds(0)); err != nil {
		t.Fatal(err)
	}
	secret.Immutable, secret.ResourceVersion, secret.UID = nil, "", ""
	if err := e.store.Create(t.Context(), secret); err != nil {
		t.Fatal(err)
	}
	e.check(v1beta1.ReasonSwitchingKey, "", "first,new*")
}

// TestADamagedKeySetInTheMiddleIsNotFilledWithNewContents: daemons compare only ids, and would refuse one another.
func TestADamagedKeySetInTheMiddleIsNotFilledWithNewContents(t *testing.T) {
	e := newEnv(t)
	if err := e.reconcile(e.store); err != nil {
		t.Fatal(err)
	}
	e.load("first*,new")
	damaged := e.keySetSecret()
	damaged.Data[podspec.SlurmJWKSFile] = []byte(`{"keys":[]}`)
	if err := e.store.Update(t.Context(), damaged); err != nil {
		t.Fatal(err)
	}
	e.checkCondition(v1beta1.ReasonKeySetMissing, "has the key set first*,new")
	if text := string(e.keySetSecret().Data[podspec.SlurmJWKSFile]); text != `{"keys":[]}` {
		t.Errorf("somebody's text is replaced by %s", text)
	}
}

// TestAMissingKeySetIsLookedForAgain: another problem hides it for a moment, and no rotation is requested.
func TestAMissingKeySetIsLookedForAgain(t *testing.T) {
	e := newEnv(t)
	e.rotateOnce()
	e.changeController(func(c *v1beta1.Controller) {
		delete(c.Annotations, v1beta1.AnnotationRotateKeys)
		c.Spec.AccountingRef = &corev1.LocalObjectReference{Name: "gone"}
	})
	if err := e.store.Delete(t.Context(), e.keySetSecret()); err != nil {
		t.Fatal(err)
	}
	if err := e.reconcile(e.store); err != nil || e.again == 0 {
		t.Errorf("the operator looks again after %v, %v", e.again, err)
	}
	e.changeController(func(c *v1beta1.Controller) { c.Spec.AccountingRef = &corev1.LocalObjectReference{Name: "db"} })
	e.checkCondition(v1beta1.ReasonKeySetMissing, "has the key set new*")
}

// TestAMissingKeySetAfterARequestThatIsWithdrawn: the condition of the second rotation, which has not begun, does not show the first.
func TestAMissingKeySetAfterARequestThatIsWithdrawn(t *testing.T) {
	e := newEnv(t)
	e.rotateOnce()
	e.changeController(func(c *v1beta1.Controller) { c.Annotations[v1beta1.AnnotationRotateKeys] = "tuesday" })
	loaded := e.keys["10.0.0.3"]
	delete(e.keys, "10.0.0.3")
	e.checkCondition(v1beta1.ReasonWaitingForDaemons, "")
	e.keys["10.0.0.3"] = loaded
	e.changeController(func(c *v1beta1.Controller) { delete(c.Annotations, v1beta1.AnnotationRotateKeys) })
	if err := e.store.Delete(t.Context(), e.keySetSecret()); err != nil {
		t.Fatal(err)
	}
	e.checkCondition(v1beta1.ReasonKeySetMissing, "has the key set new*")
}

// TestASetOfThreeKeysIsRotatedOncePerRequest: a user added a key by hand.
func TestASetOfThreeKeysIsRotatedOncePerRequest(t *testing.T) {
	e := newEnv(t)
	e.rotateOnce()
	secret := e.keySetSecret()
	set, err := plan.NewKeySet("new", "new", "b", "c")
	if err != nil {
		t.Fatal(err)
	}
	text, err := keyfile.Encode(set, map[string][]byte{"new": []byte("n"), "b": []byte("b"), "c": []byte("c")})
	if err != nil {
		t.Fatal(err)
	}
	secret.Data = map[string][]byte{podspec.SlurmJWKSFile: text, slurmconf.KeySetFile: []byte(set.String())}
	if err := e.store.Update(t.Context(), secret); err != nil {
		t.Fatal(err)
	}
	e.newKeyID = "newer"
	e.changeController(func(c *v1beta1.Controller) { c.Annotations[v1beta1.AnnotationRotateKeys] = "tuesday" })
	for range 10 {
		e.load(e.written(e.store))
		if err := e.reconcile(e.store); err != nil {
			t.Fatal(err)
		}
		if e.written(e.store) == "newer*" {
			e.newKeyID = "newest"
		}
	}
	e.check(v1beta1.ReasonRotated, "", "newer*")
}
