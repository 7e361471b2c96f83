package access

import (
	"bytes"
	"encoding/base64"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
)

func signed(t *testing.T, claims jwt.MapClaims) string {
	t.Helper()
	text, err := jwt.NewWithClaims(jwt.SigningMethodHS256, claims).SignedString([]byte("k"))
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func TestWhichSecretsAreSentToAServer(t *testing.T) {
	const password = "hunter2"
	const server = "https://slurm.example.com:6820"
	ofSlurm := "SLURM_JWT=" + signed(t, jwt.MapClaims{"sun": "slurm", "exp": time.Now().Add(time.Hour).Unix()}) + "\n"
	ofKubernetes := signed(t, jwt.MapClaims{"sub": "system:serviceaccount:team:default"})
	annotated := func(value string) func(*corev1.Secret) {
		return func(s *corev1.Secret) { s.Annotations = map[string]string{v1beta1.MarkSlurmToken: value} }
	}
	labelled := func(s *corev1.Secret) { s.Labels = map[string]string{v1beta1.MarkSlurmToken: "true"} }
	ownedBy := func(apiVersion, kind string) func(*corev1.Secret) {
		return func(s *corev1.Secret) {
			s.OwnerReferences = []metav1.OwnerReference{{APIVersion: apiVersion, Kind: kind, Name: "t", Controller: new(true)}}
		}
	}
	for _, tc := range []struct {
		name    string
		content string
		change  func(*corev1.Secret)
		sent    bool
	}{
		{"a password", password, nil, false},
		{"a token of Kubernetes", ofKubernetes, nil, false},
		{"a token that names a Slurm user", ofSlurm, nil, true},
		{"what an annotation calls a token", password, annotated("true"), true},
		{"what a label calls a token", password, labelled, true},
		{"one for this server", password, annotated("https://other:6820, " + server + "/"), true},
		{"one for another server", password, annotated("https://other:6820"), false},
		{"a Slurm token for another server", ofSlurm, annotated("https://other:6820"), false},
		{"what says that it is no token", ofSlurm, annotated("false"), false},
		{"the Secret of a Token", password, ownedBy("slinky.slurm.net/v1beta1", "Token"), true},
		{"the Secret of an older Token", password, ownedBy("slinky.slurm.net/v1alpha1", "Token"), true},
		{"the Secret of another kind", password, ownedBy("slinky.slurm.net/v1beta1", "LoginSet"), false},
		{"the Secret of another group's Token", password, ownedBy("example.com/v1", "Token"), false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			secret := &corev1.Secret{ObjectMeta: meta("team", "s"), Data: map[string][]byte{"k": []byte(tc.content)}}
			if tc.change != nil {
				tc.change(secret)
			}
			target := Target{URL: server, Token: Ref{"Secret", "team", "s", "k"}}
			token := tokenOf(t.Context(), FromClientset(fake.NewClientset(secret)), target, "", 0, time.Now)
			_, err := token.refresh(t.Context(), 0)
			text, _ := token.Token()
			if sent := text != ""; sent != tc.sent || (err == nil) != tc.sent {
				t.Fatalf("the token is %q, %v", text, err)
			}
			var refused *NotSendableError
			if !tc.sent && (!errors.As(err, &refused) || strings.Contains(err.Error(), tc.content)) {
				t.Errorf("the error is %v", err)
			}
		})
	}
}

// FuzzTokens gives any text to the reader of tokens: only what has the three parts of a JSON
// Web Token, and the claim, names a Slurm user.
func FuzzTokens(f *testing.F) {
	f.Add([]byte("SLURM_JWT=eyJhbGciOiJIUzI1NiJ9.eyJzdW4iOiJzbHVybSJ9.AAAA\n"))
	f.Add([]byte("eyJhbGciOiJIUzI1NiJ9.eyJzdW4iOjV9.AAAA"))
	f.Add([]byte("hunter2"))
	f.Add([]byte("a.b.c"))
	f.Fuzz(func(t *testing.T, raw []byte) {
		if !namesSlurmUser(raw) {
			return
		}
		parts := strings.Split(tokenText(raw), ".")
		if len(parts) != 3 {
			t.Fatalf("%q names a user", raw)
		}
		claims, err := base64.RawURLEncoding.DecodeString(parts[1])
		if err != nil || !bytes.Contains(bytes.ToLower(claims), []byte("su")) && !bytes.Contains(claims, []byte(`\u`)) {
			t.Errorf("%q names a user: %s, %v", raw, claims, err)
		}
	})
}

// FuzzServers looks for a server in any list: it is in no list that does not have its text.
func FuzzServers(f *testing.F) {
	f.Add("https://other:6820, https://slurm:6820/", "https://slurm:6820")
	f.Add(",,/", "")
	f.Fuzz(func(t *testing.T, servers, url string) {
		if lists(servers, url) && !strings.Contains(servers, url) || !strings.ContainsAny(url, ", /\t\n\v\f\r\u0085\u00a0") && strings.TrimSpace(url) == url && !lists(servers+","+url+"/", url) {
			t.Errorf("%q has %q: %v", servers, url, lists(servers, url))
		}
	})
}
