package access

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/golang-jwt/jwt/v5"
)

// fakeKube has one Secret and counts how often it is read.
type fakeKube struct {
	data  atomic.Pointer[map[string][]byte]
	reads atomic.Int64
}

func (k *fakeKube) set(key, value string) { k.data.Store(&map[string][]byte{key: []byte(value)}) }

func (k *fakeKube) Read(context.Context, Ref) (Object, error) {
	k.reads.Add(1)
	if d := k.data.Load(); d != nil {
		return Object{Data: *d, Mark: "true"}, nil
	}
	return Object{}, errors.New("not found")
}

func tokenUntil(t *testing.T, end time.Time) string {
	t.Helper()
	token, err := jwt.NewWithClaims(jwt.SigningMethodHS256, jwt.MapClaims{"exp": end.Unix()}).SignedString([]byte("k"))
	if err != nil {
		t.Fatal(err)
	}
	return token
}

func secretOf(t *testing.T, kube Kube, mint bool) *secretToken {
	t.Helper()
	return tokenOf(t.Context(), kube, Target{Token: Ref{"Secret", "team", "token", "jwt"}, Mint: mint}, "slurm", time.Hour, time.Now)
}

func TestATokenIsReadBeforeItEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		kube := &fakeKube{}
		begin := time.Now()
		kube.set("jwt", "SLURM_JWT="+tokenUntil(t, begin.Add(time.Hour))+"\n")
		s := secretOf(t, kube, false)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		go s.keep(ctx)
		time.Sleep(missingEvery + time.Second)
		if got, err := s.Token(); err != nil || got != tokenUntil(t, begin.Add(time.Hour)) {
			t.Fatalf("the token is %q, %v", got, err)
		}
		time.Sleep(50 * time.Minute)
		if n := kube.reads.Load(); n != 1 {
			t.Errorf("the Secret was read %d times while the token was good", n)
		}
		kube.set("jwt", tokenUntil(t, begin.Add(3*time.Hour)))
		time.Sleep(8 * time.Minute)
		if end := s.Expiry(); !end.Equal(begin.Add(3 * time.Hour).Truncate(time.Second)) {
			t.Errorf("the token in use ends at %v", end)
		}
	})
}

func TestASecretIsReadSeldomThoughTheTokenIsRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		kube := &fakeKube{}
		kube.set("jwt", "one")
		s := secretOf(t, kube, false)
		if changed, err := s.Reload(); !changed || err != nil {
			t.Fatalf("the first reading: %v, %v", changed, err)
		}
		kube.set("jwt", "two")
		for range missingEvery / time.Second {
			if changed, _ := s.Reload(); changed {
				t.Fatal("it was read again at once")
			}
			time.Sleep(time.Second)
		}
		if changed, err := s.Reload(); !changed || err != nil {
			t.Errorf("after a while: %v, %v", changed, err)
		}
		if got, _ := s.Token(); got != "two" || kube.reads.Load() != 2 {
			t.Errorf("the token is %s after %d readings", got, kube.reads.Load())
		}
	})
}

func TestATokenThatCanNotBeReadIsAnErrorUntilItCan(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		kube := &fakeKube{}
		s := secretOf(t, kube, false)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		go s.keep(ctx)
		if _, err := s.Token(); !errors.Is(err, errNoToken) {
			t.Errorf("before the first reading the error is %v", err)
		}
		time.Sleep(missingEvery + time.Second)
		if _, err := s.Token(); err == nil || !strings.Contains(err.Error(), "not found") {
			t.Errorf("without a Secret the error is %v", err)
		}
		kube.set("other", "x")
		time.Sleep(missingEvery)
		if _, err := s.Token(); err == nil || !strings.Contains(err.Error(), `no key "jwt"`) {
			t.Errorf("without the key the error is %v", err)
		}
		kube.set("jwt", "two words")
		time.Sleep(missingEvery)
		if _, err := s.Token(); err == nil || strings.Contains(err.Error(), "words") {
			t.Errorf("with two words the error is %v", err)
		}
		kube.set("jwt", "good")
		time.Sleep(missingEvery)
		if got, err := s.Token(); got != "good" {
			t.Errorf("in the end it is %q, %v", got, err)
		}
	})
}

func TestTokensAreMintedWithTheKey(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		kube := &fakeKube{}
		kube.set("jwt", "a key")
		s := secretOf(t, kube, true)
		if _, err := s.Reload(); err != nil {
			t.Fatal(err)
		}
		token, err := s.Token()
		if err != nil {
			t.Fatal(err)
		}
		claims := jwt.MapClaims{}
		if _, err := jwt.ParseWithClaims(token, claims, func(*jwt.Token) (any, error) { return []byte("a key"), nil }); err != nil || claims["sun"] != "slurm" {
			t.Errorf("the token says %v, %v", claims, err)
		}
		time.Sleep(time.Hour)
		if again, err := s.Token(); err != nil || again == token || kube.reads.Load() != 1 {
			t.Errorf("an hour later it is new: %v, %v, after %d readings of the key", again != token, err, kube.reads.Load())
		}
		kube.set("jwt", "-----BEGIN RSA PRIVATE KEY-----\n")
		if _, err := s.Reload(); err == nil || !strings.Contains(err.Error(), "HS256") {
			t.Errorf("with another kind of key the error is %v", err)
		}
	})
}
