//go:build e2e

package realkube

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/slurmtide/slurmtide/test/harness/process"
)

// testAggregation serves an API group from this process.
func testAggregation(t *testing.T, c *Cluster) {
	handler := http.NewServeMux()
	handler.HandleFunc("/apis/tide.example.com/v1", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, `{"kind":"APIResourceList","apiVersion":"v1","groupVersion":"tide.example.com/v1","resources":[]}`)
	})
	// Only kubectl asks for this path: the aggregator and controllers discover the group as users of
	// their own.
	handler.HandleFunc("/apis/tide.example.com/v1/user", func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, r.Header.Get("X-Remote-User"))
	})
	server := httptest.NewUnstartedServer(handler)
	listener, err := net.Listen("tcp", net.JoinHostPort(c.HostAddress, "0"))
	if err != nil {
		t.Fatal(err)
	}
	server.Listener.Close()
	server.Listener = listener
	certificate := selfSigned(t, "tide.default.svc")
	server.TLS = &tls.Config{Certificates: []tls.Certificate{certificate}}
	server.StartTLS()
	defer server.Close()
	port := server.Listener.Addr().(*net.TCPAddr).Port
	if err := c.ExposeLocal(t.Context(), "default", "tide", port); err != nil {
		t.Fatal(err)
	}
	bundle := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: certificate.Certificate[0]})
	applyManifest(t, c, fmt.Sprintf(`
apiVersion: apiregistration.k8s.io/v1
kind: APIService
metadata: {name: v1.tide.example.com}
spec: {group: tide.example.com, version: v1, groupPriorityMinimum: 100, versionPriority: 100,
  caBundle: %s, service: {name: tide, namespace: default, port: %d}}
`, base64.StdEncoding.EncodeToString(bundle), port))
	process.AwaitValue(t, "the output", "True", c.kubectlFunc("get", "apiservice", "v1.tide.example.com",
		"-o", `jsonpath={.status.conditions[?(@.type=="Available")].status}`))
	if got := runKubectl(t, c, "get", "--raw", "/apis/tide.example.com/v1/user"); got != "admin" {
		t.Errorf("the server received user %q, want admin", got)
	}
	runKubectl(t, c, "delete", "apiservice", "v1.tide.example.com")
}

// selfSigned returns a self-signed serving certificate.
func selfSigned(t *testing.T, host string) tls.Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), DNSNames: []string{host},
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}

func testGoClient(t *testing.T, c *Cluster) {
	config, err := c.RESTConfig()
	if err != nil {
		t.Fatal(err)
	}
	clients, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	list, err := clients.CoreV1().Namespaces().List(ctx, metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	names := map[string]bool{}
	for _, namespace := range list.Items {
		names[namespace.Name] = true
	}
	for _, want := range []string{"default", "kube-system"} {
		if !names[want] {
			t.Errorf("namespace %s is missing in %v", want, names)
		}
	}
}
