package access

import (
	"crypto/tls"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/slurmtide/slurmtide/operator/refs"
	"github.com/slurmtide/slurmtide/test/harness/testcert"
)

// tlsEndpoint returns an endpoint whose CA is in a Secret.
func tlsEndpoint(optional bool) refs.Endpoint {
	return refs.Endpoint{URL: "https://restd.team.svc:6821", CAOptional: optional,
		CA: refs.KeyRef{Kind: "Secret", Namespace: "team", Name: "cert", Key: "ca.crt"}}
}

func TestCAOfAnEndpoint(t *testing.T) {
	ca := testcert.NewCA(t, "ca", time.Now().Add(-time.Hour))
	pair := ca.Issue(t, time.Now().Add(-time.Hour), time.Now().Add(time.Hour), "127.0.0.1")
	certificate, err := tls.X509KeyPair(pair.Cert, pair.Key)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewUnstartedServer(http.NotFoundHandler())
	server.TLS = &tls.Config{Certificates: []tls.Certificate{certificate}}
	server.StartTLS()
	defer server.Close()
	for _, tc := range []struct {
		name     string
		optional bool
		// key of the Secret, which has pem; empty without a Secret.
		key, pem string
		// want is in the first error, from reading or the handshake. Empty: the server is verified.
		want string
	}{
		{"a CA", false, "ca.crt", string(ca.PEM), ""},
		{"a CA that may be missing", true, "ca.crt", string(ca.PEM), ""},
		{"no key", false, "tls.crt", "x", `no key "ca.crt"`},
		{"no key, and it may be missing: the system's CAs verify", true, "tls.crt", "x", "unknown authority"},
		{"no Secret, although the key may be missing", true, "", "", "not found"},
		{"a CA that is no certificate", true, "ca.crt", "x", "no certificate in PEM"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			kube, endpoint := &fakeSecrets{}, tlsEndpoint(tc.optional)
			if tc.key != "" {
				kube.set(tc.key, tc.pem)
			}
			if err := connect(t, kube, endpoint, server.URL); tc.want == "" && err != nil ||
				tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)) {
				t.Errorf("the error is %v, not %q", err, tc.want)
			}
		})
	}
}

// connect sends a request with the certificates of an endpoint.
func connect(t *testing.T, kube SecretReader, endpoint refs.Endpoint, url string) error {
	t.Helper()
	files, err := readTLSFiles(t.Context(), kube, endpoint)
	if err != nil {
		return err
	}
	config, err := files.config(endpoint)
	if err != nil {
		return err
	}
	transport := &http.Transport{TLSClientConfig: config}
	defer transport.CloseIdleConnections()
	res, err := (&http.Client{Transport: transport}).Get(url)
	if err != nil {
		return err
	}
	return res.Body.Close()
}

func TestACAThatAppearsIsNoticed(t *testing.T) {
	kube, endpoint := &fakeSecrets{}, tlsEndpoint(true)
	kube.set("tls.crt", "x")
	session, err := Config{Secrets: kube, Timeout: time.Second}.Dial(t.Context(), endpoint, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer session.Client.Close()
	if session.certificatesChanged(t.Context()) {
		t.Error("unchanged certificates count as changed")
	}
	kube.set("ca.crt", "y")
	if !session.certificatesChanged(t.Context()) {
		t.Error("a new ca.crt is not noticed")
	}
}
