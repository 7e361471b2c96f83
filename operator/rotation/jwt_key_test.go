package rotation

import (
	"context"
	"crypto/rand"
	"crypto/rsa"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
	"github.com/slurmtide/slurmtide/operator/kube/kubetest"
	"github.com/slurmtide/slurmtide/operator/names"
	"github.com/slurmtide/slurmtide/slurmclient/signing"
)

// bridge is the key for RS256 of the tests, since it takes long to make one.
var bridge = func() *rsa.PrivateKey {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		panic(err)
	}
	return key
}()

// usersJWTKey is the key that users give.
const usersJWTKey = "the key of the users"

// newJWTEnv returns an env whose Controller requests only another key of auth/jwt, with a Token "bot".
func newJWTEnv(t *testing.T, more ...client.Object) *env {
	t.Helper()
	token := &v1beta1.Token{ObjectMeta: metav1.ObjectMeta{Name: "bot", UID: "uid-bot"}}
	token.Spec.Username, token.Spec.JWTKeyRef = "bot", jwtRef()
	key := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "jwt"}, Data: map[string][]byte{"jwt.key": []byte(usersJWTKey)}}
	e := newEnv(t, append([]client.Object{token, key}, more...)...)
	c := kubetest.Get(t, e.store, "slurm", &v1beta1.Controller{})
	c.Annotations = map[string]string{v1beta1.AnnotationRotateJWTKeys: "monday"}
	c.Spec.JWTKeyRef = jwtRef()
	a := kubetest.Get(t, e.store, "db", &v1beta1.Accounting{})
	a.Spec.JWTKeyRef = jwtRef()
	for _, object := range []client.Object{c, a} {
		if err := e.store.Update(t.Context(), object); err != nil {
			t.Fatal(err)
		}
	}
	e.issueToken(usersJWTKey)
	return e
}

func jwtRef() *corev1.SecretKeySelector {
	return &corev1.SecretKeySelector{LocalObjectReference: corev1.LocalObjectReference{Name: "jwt"}, Key: "jwt.key"}
}

// issueToken writes the Secret of the Token, signed with a key. Its lifetime is ten minutes.
func (e *env) issueToken(raw string) {
	e.t.Helper()
	key, err := signing.ParseKey([]byte(raw))
	if err != nil {
		e.t.Fatal(err)
	}
	now := kubetest.Noon().Add(e.later)
	text, err := key.Sign(jwt.RegisteredClaims{IssuedAt: jwt.NewNumericDate(now),
		ExpiresAt: jwt.NewNumericDate(now.Add(10 * time.Minute))})
	if err != nil {
		e.t.Fatal(err)
	}
	owner := kubetest.Get(e.t, e.store, "bot", &v1beta1.Token{})
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: names.TokenSecret(owner),
		OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(owner,
			v1beta1.SchemeGroupVersion.WithKind(v1beta1.KindToken))}},
		Data: map[string][]byte{names.TokenSecretKey(owner): []byte(text)}}
	_ = e.store.Delete(context.Background(), &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: secret.Name}})
	if err := e.store.Create(e.t.Context(), secret); err != nil {
		e.t.Fatal(err)
	}
}

// jwtSecret returns the data of the Secret with the keys, or nil.
func (e *env) jwtSecret(store *kubetest.Store) map[string][]byte {
	secret := &corev1.Secret{}
	name := client.ObjectKey{Namespace: "team", Name: names.JWTKeysSecret("jwt", "jwt.key")}
	if err := store.Get(e.t.Context(), name, secret); err != nil {
		return nil
	}
	return secret.Data
}

// loadJWT lets slurmctld and slurmdbd load the written keys.
func (e *env) loadJWT(store *kubetest.Store) {
	for _, address := range []string{"10.0.0.1", "10.0.0.2"} {
		e.jwtKeys[address] = string(e.jwtSecret(store)["slurmtide.jwt-keys"])
	}
}

// checkJWT reconciles and checks the condition JWTKeysRotated and the ids of the written keys.
func (e *env) checkJWT(reason, message, loaded string) {
	e.t.Helper()
	if err := e.reconcile(e.store); err != nil {
		e.t.Fatal(err)
	}
	c := kubetest.Get(e.t, e.store, "slurm", &v1beta1.Controller{})
	condition := meta.FindStatusCondition(c.Status.Conditions, v1beta1.ConditionJWTKeysRotated)
	if condition == nil || condition.Reason != reason || !strings.Contains(condition.Message, message) {
		e.t.Errorf("the condition is %+v, want %s %q", condition, reason, message)
	}
	if got := string(e.jwtSecret(e.store)["slurmtide.jwt-keys"]); got != loaded {
		e.t.Errorf("the keys %q are written, not %q", got, loaded)
	}
}

func TestARotationOfJWTKeysInSteps(t *testing.T) {
	e := newJWTEnv(t)
	id := signing.RSAKeyID(&bridge.PublicKey)
	e.checkJWT(v1beta1.ReasonDistributingKey, "a key for the time in between", "first,"+id)
	written := e.jwtSecret(e.store)
	if string(written["jwt_hs256.rotated.key"]) != usersJWTKey || string(written["signing.key"]) != usersJWTKey ||
		!strings.Contains(string(written["jwks.bridge.json"]), id) {
		t.Errorf("the first keys are %q", written)
	}
	newKey := string(written["next.key"])
	e.jwtKeys["10.0.0.1"] = "first," + id
	e.checkJWT(v1beta1.ReasonDistributingKey, "waiting for db-accounting-0", "first,"+id)
	e.loadJWT(e.store)
	e.checkJWT(v1beta1.ReasonReplacingTokens, "", "first,"+id)
	e.checkJWT(v1beta1.ReasonReplacingTokens, "waiting for Token bot", "first,"+id)
	e.issueToken(string(e.jwtSecret(e.store)["signing.key"]))
	e.checkJWT(v1beta1.ReasonReplacingTokens, "", "first,"+id)
	e.later = time.Minute
	e.checkJWT(v1beta1.ReasonReplacingTokens, "until 2030-01-01T12:02:00Z", "first,"+id)
	e.later = 2 * time.Minute
	e.checkJWT(v1beta1.ReasonSwitchingKey, "", "new,"+id)
	if string(e.jwtSecret(e.store)["jwt_hs256.rotated.key"]) != newKey {
		t.Error("daemons do not get the key that was made in the beginning")
	}
	e.checkJWT(v1beta1.ReasonSwitchingKey, "waiting for db-accounting-0, slurm-controller-0", "new,"+id)
	e.loadJWT(e.store)
	e.checkJWT(v1beta1.ReasonReplacingTokens, "", "new,"+id)
	e.checkJWT(v1beta1.ReasonReplacingTokens, "waiting for Token bot", "new,"+id)
	e.issueToken(newKey)
	e.checkJWT(v1beta1.ReasonReplacingTokens, "", "new,"+id)
	e.later = 4 * time.Minute
	e.checkJWT(v1beta1.ReasonRetiringKey, "", "new")
	e.loadJWT(e.store)
	e.checkJWT(v1beta1.ReasonRotated, "accept tokens of the new key alone", "new")
	written = e.jwtSecret(e.store)
	if string(written["signing.key"]) != newKey || string(written["jwks.bridge.json"]) != `{"keys":[]}` || len(written) != 5 {
		t.Errorf("the last keys are %q", written)
	}
	if worker := kubetest.Get(t, e.store, "w-0", &corev1.Pod{}); worker.Annotations[v1beta1.AnnotationSyncRequested] != "" {
		t.Error("a worker is asked for keys that it does not have")
	}
}

func TestARotationOfJWTKeysThatCannotBegin(t *testing.T) {
	for name, tc := range map[string]struct {
		change          func(*v1beta1.Controller, *v1beta1.Accounting)
		reason, message string
	}{
		"no key": {func(c *v1beta1.Controller, _ *v1beta1.Accounting) { c.Spec.JWTKeyRef = nil },
			v1beta1.ReasonInvalidSpec, "spec.jwtKeyRef must be given"},
		"slurmdbd has the key by another reference": {func(c *v1beta1.Controller, a *v1beta1.Accounting) {
			c.Spec.AccountingRef = &corev1.LocalObjectReference{Name: "db"}
			a.Spec.JWTKeyRef.Key = "other"
		}, v1beta1.ReasonInvalidSpec, "let both refer to the same one"},
		"slurmdbd is outside": {func(_ *v1beta1.Controller, a *v1beta1.Accounting) { a.Spec.External = true },
			v1beta1.ReasonExternal, "Accounting db"},
		"the user says where the keys are": {func(c *v1beta1.Controller, _ *v1beta1.Accounting) {
			c.Spec.ExtraConf = "authaltparameters=jwt_key=/x"
		}, v1beta1.ReasonInvalidSpec, "remove the line"},
		"no Secret": {func(c *v1beta1.Controller, a *v1beta1.Accounting) {
			c.Spec.JWTKeyRef.Name, a.Spec.JWTKeyRef.Name = "gone", "gone"
		}, v1beta1.ReasonReferenceNotFound, "no key jwt.key of a Secret gone"},
	} {
		t.Run(name, func(t *testing.T) {
			e := newJWTEnv(t)
			c, a := kubetest.Get(t, e.store, "slurm", &v1beta1.Controller{}), kubetest.Get(t, e.store, "db", &v1beta1.Accounting{})
			tc.change(c, a)
			if err := e.store.Update(t.Context(), c); err != nil {
				t.Fatal(err)
			}
			if err := e.store.Update(t.Context(), a); err != nil {
				t.Fatal(err)
			}
			e.checkJWT(tc.reason, tc.message, "")
		})
	}
}

// TestNoJWTKeyIsReplacedByNothing: a user removes a key from the Secret of a rotation.
func TestNoJWTKeyIsReplacedByNothing(t *testing.T) {
	for _, gone := range []string{"next.key", "jwt_hs256.rotated.key", "bridge.key"} {
		t.Run(gone, func(t *testing.T) {
			e := newJWTEnv(t)
			id := signing.RSAKeyID(&bridge.PublicKey)
			e.checkJWT(v1beta1.ReasonDistributingKey, "", "first,"+id)
			e.loadJWT(e.store)
			secret := kubetest.Get(t, e.store, names.JWTKeysSecret("jwt", "jwt.key"), &corev1.Secret{})
			kept := secret.Data[gone]
			delete(secret.Data, gone)
			if err := e.store.Update(t.Context(), secret); err != nil {
				t.Fatal(err)
			}
			e.checkJWT(v1beta1.ReasonInvalidSpec, "has no "+gone, "first,"+id)
			secret.Data[gone] = kept
			if err := e.store.Update(t.Context(), secret); err != nil {
				t.Fatal(err)
			}
			e.checkJWT(v1beta1.ReasonReplacingTokens, "", "first,"+id)
		})
	}
}

// TestTheOperatorIsKilledAtEveryWriteOfJWTKeys lets the daemons load the written keys before each pass. No Token exists.
func TestTheOperatorIsKilledAtEveryWriteOfJWTKeys(t *testing.T) {
	var e *env
	newStore := func() *kubetest.Store {
		e = newJWTEnv(t)
		if err := e.store.Delete(t.Context(), kubetest.Get(t, e.store, "bot", &v1beta1.Token{})); err != nil {
			t.Fatal(err)
		}
		e.store.Writes = 0
		return e.store
	}
	kubetest.CheckKilledAtEveryWrite(t, newStore, func(s *kubetest.Store) error {
		e.loadJWT(s)
		return e.reconcile(s)
	})
	e.checkJWT(v1beta1.ReasonRotated, "", "new")
}
