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
	"github.com/slurmtide/slurmtide/operator/refs"
)

func signToken(t *testing.T, claims jwt.MapClaims) string {
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
	ofSlurm := "SLURM_JWT=" + signToken(t, jwt.MapClaims{"sun": "slurm", "exp": time.Now().Add(time.Hour).Unix()}) +
		"\n"
	ofKubernetes := signToken(t, jwt.MapClaims{"sub": "system:serviceaccount:team:default"})
	annotated := func(value string) func(*corev1.Secret) {
		return func(s *corev1.Secret) { s.Annotations = map[string]string{v1beta1.AnnotationSlurmToken: value} }
	}
	labelled := func(s *corev1.Secret) { s.Labels = map[string]string{v1beta1.AnnotationSlurmToken: "true"} }
	ownedBy := func(apiVersion, kind string) func(*corev1.Secret) {
		return func(s *corev1.Secret) {
			s.OwnerReferences = []metav1.OwnerReference{{APIVersion: apiVersion, Kind: kind, Name: "t",
				Controller: new(true)}}
		}
	}
	for _, tc := range []struct {
		name    string
		content string
		change  func(*corev1.Secret)
		sent    bool
	}{
		{"a password", password, nil, false},
		{"a Kubernetes token", ofKubernetes, nil, false},
		{"a token that names a Slurm user", ofSlurm, nil, true},
		{"a Secret annotated as a token", password, annotated("true"), true},
		{"a Secret labelled as a token", password, labelled, true},
		{"a Secret for this server", password, annotated("https://other:6820, " + server + "/"), true},
		{"a Secret for another server", password, annotated("https://other:6820"), false},
		{"a Slurm token for another server", ofSlurm, annotated("https://other:6820"), false},
		{"a Secret annotated as no token", ofSlurm, annotated("false"), false},
		{"the Secret of a Token", ofSlurm, ownedBy("slinky.slurm.net/v1beta1", "Token"), false},
		{"the Secret of an older Token", ofSlurm, ownedBy("slinky.slurm.net/v1alpha1", "Token"), false},
		{"the Secret of another kind", password, ownedBy("slinky.slurm.net/v1beta1", "LoginSet"), false},
		{"the Secret of another group's Token", password, ownedBy("example.com/v1", "Token"), false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "s"},
				Data: map[string][]byte{"k": []byte(tc.content)}}
			if tc.change != nil {
				tc.change(secret)
			}
			target := refs.Endpoint{URL: server, Token: refs.KeyRef{Kind: "Secret", Namespace: "team", Name: "s",
				Key: "k"}}
			token := newTokenSource(t.Context(), NewSecretReader(fake.NewClientset(secret)), target, "", 0, time.Now)
			_, err := token.refresh(t.Context(), 0)
			text, _ := token.Token()
			if sent := text != ""; sent != tc.sent || (err == nil) != tc.sent {
				t.Fatalf("got token %q, error %v; want sent: %v", text, err, tc.sent)
			}
			var refused *NotSendableError
			if !tc.sent && (!errors.As(err, &refused) || strings.Contains(err.Error(), tc.content)) {
				t.Errorf("got error %v, want a NotSendableError without the content", err)
			}
		})
	}
}

// TestWhereTheSecretOfATokenIsSent: a Cluster cannot send a token out of its namespace by itself.
func TestWhereTheSecretOfATokenIsSent(t *testing.T) {
	for server, sent := range map[string]bool{
		"http://restapi.slurm:6820":                          true,
		"https://restapi.slurm.svc:6821":                     true,
		"http://restapi.slurm.svc.cluster.local:6820":        true,
		"http://RESTAPI.Slurm.svc.cluster.local.:6820":       true,
		"http://restapi:6820":                                false, // a Service of the operator's namespace
		"http://restapi.other:6820":                          false,
		"http://restapi.slurm.svc.example.com:6820":          false,
		"http://restapi.slurm.example.com:6820":              false,
		"http://slurm.svc:6820":                              false,
		"http://.slurm.svc:6820":                             false,
		"http://restapi.slurm.svc@thief.example.com:6820":    false,
		"http://thief.example.com/restapi.slurm.svc":         false,
		"http://10.0.0.1:6820":                               false,
		"http://[fd00::1]:6820":                              false,
		"http://thief.example.com:6820?http://restapi.slurm": false,
	} {
		t.Run(server, func(t *testing.T) {
			if got := isServiceOf("slurm", server); got != sent {
				t.Errorf("the token is sent: %v, want %v", got, sent)
			}
		})
	}
	for _, host := range []string{"restapi.dev", "pages.dev", "github.io", "web.app", "blogspot.com", "co.uk", "www.ck"} {
		_, namespace, _ := strings.Cut(host, ".")
		if isServiceOf(namespace, "http://"+host) || !isServiceOf(namespace, "http://"+host+".svc") {
			t.Errorf("%[1]s may be a host of the Internet, %[1]s.svc is none", host)
		}
	}
}

// TestHowToSendATokenElsewhere: the error names the Token, whose annotation the operator copies.
func TestHowToSendATokenElsewhere(t *testing.T) {
	err := &NotSendableError{Ref: refs.KeyRef{Kind: "Secret", Namespace: "team", Name: "s", Key: "k"}, IsOfToken: true}
	if !strings.Contains(err.Error(), "Annotate the Token") || !strings.Contains(err.Error(), v1beta1.AnnotationSlurmToken) {
		t.Error(err)
	}
}

// FuzzTokens checks that only a text with the three parts of a JSON Web Token, and the claim sun, names
// a Slurm user.
func FuzzTokens(f *testing.F) {
	f.Add([]byte("SLURM_JWT=eyJhbGciOiJIUzI1NiJ9.eyJzdW4iOiJzbHVybSJ9.AAAA\n"))
	f.Add([]byte("eyJhbGciOiJIUzI1NiJ9.eyJzdW4iOjV9.AAAA"))
	f.Add([]byte("hunter2"))
	f.Add([]byte("a.b.c"))
	f.Fuzz(func(t *testing.T, raw []byte) {
		if !namesSlurmUser(raw) {
			return
		}
		parts := strings.Split(trimToken(raw), ".")
		if len(parts) != 3 {
			t.Fatalf("%q names a user but does not have three parts", raw)
		}
		claims, err := base64.RawURLEncoding.DecodeString(parts[1])
		if err != nil || !bytes.Contains(bytes.ToLower(claims), []byte("su")) && !bytes.Contains(claims, []byte(`\u`)) {
			t.Errorf("%q names a user but its claims are %s, %v", raw, claims, err)
		}
	})
}

// FuzzServers checks that a server is found in a list exactly if the list contains its URL.
func FuzzServers(f *testing.F) {
	f.Add("https://other:6820, https://slurm:6820/", "https://slurm:6820")
	f.Add(",,/", "")
	f.Fuzz(func(t *testing.T, servers, url string) {
		if listsServer(servers, url) && !strings.Contains(servers, url) {
			t.Errorf("%q lists %q", servers, url)
		}
		plain := !strings.ContainsAny(url, ", /\t\n\v\f\r\u0085\u00a0") && strings.TrimSpace(url) == url
		if plain && !listsServer(servers+","+url+"/", url) {
			t.Errorf("%q with %q appended does not list it", servers, url)
		}
	})
}
