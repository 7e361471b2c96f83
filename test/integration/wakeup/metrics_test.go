//go:build e2e

package wakeup

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/slurmtide/slurmtide/test/harness/realkube"
)

const (
	metricName  = "slurm_nodeset_required_nodes"
	metricsPath = "/apis/custom.metrics.k8s.io/v1beta2"
)

// fakeAdapter serves the number of required nodes that a test has set.
type fakeAdapter struct {
	mu     sync.Mutex
	values map[string]metricValue
}

// metricValue is the adapter's response for one NodeSet.
type metricValue struct {
	n   int
	age time.Duration
	// status is the HTTP status of an error; 0 means no error.
	status int
}

func (a *fakeAdapter) set(nodeSet string, v metricValue) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.values[nodeSet] = v
}

// serveMetrics serves custom.metrics.k8s.io of a cluster from this process.
func serveMetrics(t *testing.T, c *realkube.Cluster) *fakeAdapter {
	t.Helper()
	a := &fakeAdapter{values: map[string]metricValue{}}
	mux := http.NewServeMux()
	mux.HandleFunc("GET "+metricsPath, a.discover)
	mux.HandleFunc("GET "+metricsPath+"/namespaces/{namespace}/nodesets.slinky.slurm.net/{name}/"+metricName, a.serve)
	server := httptest.NewUnstartedServer(mux)
	certificate := selfSigned(t, "adapter.slurm-system.svc")
	server.TLS = &tls.Config{Certificates: []tls.Certificate{certificate}}
	server.StartTLS()
	t.Cleanup(server.Close)
	port := server.Listener.Addr().(*net.TCPAddr).Port
	if err := c.ExposeLocal(t.Context(), "slurm-system", "adapter", port); err != nil {
		t.Fatal(err)
	}
	bundle := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: certificate.Certificate[0]})
	err := c.Apply(t.Context(), fmt.Sprintf(`
apiVersion: apiregistration.k8s.io/v1
kind: APIService
metadata: {name: v1beta2.custom.metrics.k8s.io}
spec: {group: custom.metrics.k8s.io, version: v1beta2, groupPriorityMinimum: 100, versionPriority: 100,
  caBundle: %s, service: {name: adapter, namespace: slurm-system, port: %d}}
`, base64.StdEncoding.EncodeToString(bundle), port))
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func (a *fakeAdapter) discover(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	fmt.Fprintf(w, `{"kind":"APIResourceList","apiVersion":"v1","groupVersion":"custom.metrics.k8s.io/v1beta2","resources":[
{"name":"nodesets.slinky.slurm.net/%s","namespaced":true,"kind":"MetricValueList","verbs":["get"]}]}`, metricName)
}

func (a *fakeAdapter) serve(w http.ResponseWriter, r *http.Request) {
	a.mu.Lock()
	v, ok := a.values[r.PathValue("name")]
	a.mu.Unlock()
	if !ok {
		v.status = http.StatusNotFound
	}
	w.Header().Set("Content-Type", "application/json")
	if v.status != 0 {
		reason := map[int]string{http.StatusNotFound: "NotFound",
			http.StatusServiceUnavailable: "ServiceUnavailable"}[v.status]
		w.WriteHeader(v.status)
		fmt.Fprintf(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":%q,"message":"no value","code":%d}`, reason, v.status)
		return
	}
	_ = json.NewEncoder(w).Encode(map[string]any{
		"kind": "MetricValueList", "apiVersion": "custom.metrics.k8s.io/v1beta2",
		"items": []map[string]any{{
			"describedObject": map[string]string{
				"kind": "NodeSet", "apiVersion": "slinky.slurm.net/v1beta1", "namespace": r.PathValue("namespace"),
				"name": r.PathValue("name"),
			},
			"metric":    map[string]string{"name": metricName},
			"timestamp": time.Now().Add(-v.age).UTC().Format(time.RFC3339),
			"value":     fmt.Sprint(v.n),
		}},
	})
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
