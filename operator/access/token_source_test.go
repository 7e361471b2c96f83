package access

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/golang-jwt/jwt/v5"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/slurmtide/slurmtide/operator/refs"
	"github.com/slurmtide/slurmtide/slurmclient/signing"
)

// fakeSecrets has one Secret and counts its reads.
type fakeSecrets struct {
	data  atomic.Pointer[map[string][]byte]
	reads atomic.Int64
}

func (k *fakeSecrets) set(key, value string) { k.data.Store(&map[string][]byte{key: []byte(value)}) }

func (k *fakeSecrets) Read(_ context.Context, r refs.KeyRef) (SecretContent, error) {
	if r.Key == SigningKeyName {
		return SecretContent{}, apierrors.NewNotFound(corev1.Resource("secrets"), r.Name)
	}
	k.reads.Add(1)
	if d := k.data.Load(); d != nil {
		return SecretContent{Data: *d, TokenAnnotation: "true"}, nil
	}
	return SecretContent{}, errors.New("not found")
}

func newTokenUntil(t *testing.T, end time.Time) string {
	t.Helper()
	token, err := jwt.NewWithClaims(jwt.SigningMethodHS256, jwt.MapClaims{"exp": end.Unix()}).SignedString([]byte("k"))
	if err != nil {
		t.Fatal(err)
	}
	return token
}

func newTestSource(t *testing.T, kube SecretReader, mint bool) *secretTokenSource {
	t.Helper()
	target := refs.Endpoint{Token: refs.KeyRef{Kind: "Secret", Namespace: "team", Name: "token", Key: "jwt"},
		MintsTokens: mint}
	return newTokenSource(t.Context(), kube, target, "slurm", time.Hour, time.Now)
}

func TestATokenIsReadBeforeItEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		kube := &fakeSecrets{}
		begin := time.Now()
		kube.set("jwt", "SLURM_JWT="+newTokenUntil(t, begin.Add(time.Hour))+"\n")
		s := newTestSource(t, kube, false)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		go s.keepCurrent(ctx)
		time.Sleep(retryReadInterval + time.Second)
		if got, err := s.Token(); err != nil || got != newTokenUntil(t, begin.Add(time.Hour)) {
			t.Fatalf("got token %q, %v", got, err)
		}
		time.Sleep(50 * time.Minute)
		if n := kube.reads.Load(); n != 1 {
			t.Errorf("the Secret was read %d times while the token was valid, want once", n)
		}
		kube.set("jwt", newTokenUntil(t, begin.Add(3*time.Hour)))
		time.Sleep(8 * time.Minute)
		if end := s.Expiry(); !end.Equal(begin.Add(3 * time.Hour).Truncate(time.Second)) {
			t.Errorf("the token in use expires at %v, want the renewed one", end)
		}
	})
}

func TestARefusedTokenDoesNotMakeTheSecretBeReadOften(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		kube := &fakeSecrets{}
		kube.set("jwt", "one")
		s := newTestSource(t, kube, false)
		if changed, err := s.Reload(); !changed || err != nil {
			t.Fatalf("first read: changed %v, error %v", changed, err)
		}
		kube.set("jwt", "two")
		for range refusedReadInterval / time.Second {
			if changed, _ := s.Reload(); changed {
				t.Fatal("the Secret was read again too early")
			}
			time.Sleep(time.Second)
		}
		if changed, err := s.Reload(); !changed || err != nil {
			t.Errorf("after the interval: changed %v, error %v", changed, err)
		}
		if got, _ := s.Token(); got != "two" || kube.reads.Load() != 2 {
			t.Errorf("got token %s after %d reads, want two after 2", got, kube.reads.Load())
		}
	})
}

func TestATokenThatCannotBeReadIsAnErrorUntilItCan(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		kube := &fakeSecrets{}
		s := newTestSource(t, kube, false)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		go s.keepCurrent(ctx)
		if _, err := s.Token(); !errors.Is(err, errTokenNotRead) {
			t.Errorf("before the first read: got error %v", err)
		}
		time.Sleep(retryReadInterval + time.Second)
		if _, err := s.Token(); err == nil || !strings.Contains(err.Error(), "not found") {
			t.Errorf("without a Secret: got error %v", err)
		}
		kube.set("other", "x")
		time.Sleep(retryReadInterval)
		if _, err := s.Token(); err == nil || !strings.Contains(err.Error(), `no key "jwt"`) {
			t.Errorf("without the key: got error %v", err)
		}
		kube.set("jwt", "two words")
		time.Sleep(retryReadInterval)
		if _, err := s.Token(); err == nil || strings.Contains(err.Error(), "words") {
			t.Errorf("with two words: got error %v, want one without the content", err)
		}
		kube.set("jwt", "good")
		time.Sleep(retryReadInterval)
		if got, err := s.Token(); got != "good" {
			t.Errorf("with a good token: got %q, %v", got, err)
		}
	})
}

func TestTokensAreMintedWithTheKey(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		kube := &fakeSecrets{}
		kube.set("jwt", "a key")
		s := newTestSource(t, kube, true)
		if _, err := s.Reload(); err != nil {
			t.Fatal(err)
		}
		token, err := s.Token()
		if err != nil {
			t.Fatal(err)
		}
		claims := jwt.MapClaims{}
		key := func(*jwt.Token) (any, error) { return []byte("a key"), nil }
		if _, err := jwt.ParseWithClaims(token, claims, key); err != nil || claims["sun"] != "slurm" {
			t.Errorf("got claims %v, error %v", claims, err)
		}
		time.Sleep(time.Hour)
		if again, err := s.Token(); err != nil || again == token || kube.reads.Load() != 1 {
			t.Errorf("an hour later: new token %v, error %v, after %d reads of the key", again != token, err,
				kube.reads.Load())
		}
		kube.set("jwt", "-----BEGIN RSA PRIVATE KEY-----\n")
		if _, err := s.Reload(); err == nil || !strings.Contains(err.Error(), "HS256") {
			t.Errorf("with a key in PEM: got error %v", err)
		}
	})
}

// slowSecrets is fakeSecrets whose reads take a second.
type slowSecrets struct{ *fakeSecrets }

func (s slowSecrets) Read(ctx context.Context, r refs.KeyRef) (SecretContent, error) {
	time.Sleep(time.Second)
	return s.fakeSecrets.Read(ctx, r)
}

// TestRequestsThatAreRefusedAtTheSameTime: all of them are sent again with a token of the changed key.
func TestRequestsThatAreRefusedAtTheSameTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		kube := slowSecrets{&fakeSecrets{}}
		kube.set("jwt", "old")
		s := newTestSource(t, kube, true)
		if _, err := s.Reload(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		kube.set("jwt", "new")
		key, err := signing.ParseKey([]byte("new"))
		if err != nil {
			t.Fatal(err)
		}
		var wg sync.WaitGroup
		for range 3 {
			wg.Go(func() {
				changed, err := s.Reload()
				token, failed := s.Token()
				if !changed || err != nil || failed != nil || key.Read(token, jwt.MapClaims{}) != nil {
					t.Errorf("changed %t, errors %v, %v; the token is of another key", changed, err, failed)
				}
			})
		}
		wg.Wait()
	})
}
