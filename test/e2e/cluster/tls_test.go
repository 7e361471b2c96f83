//go:build e2e

package cluster

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/slurmtide/slurmtide/operator/names"
	"github.com/slurmtide/slurmtide/test/harness/process"
	"github.com/slurmtide/slurmtide/test/harness/testcert"
)

// restdCertificate issues the certificates of slurmrestd in a Secret.
type restdCertificate struct {
	*env
	ca *testcert.CA
}

const certificateSecret = "restapi-tls"

// host is the name of slurmrestd's Service that the certificate must have.
func (c restdCertificate) host() string {
	return names.RestAPIService("slurm") + "." + c.namespace + ".svc"
}

// issue writes a certificate for a name to the Secret and returns its serial number.
func (c restdCertificate) issue(name string) string {
	c.Helper()
	pair := c.ca.Issue(c, time.Now().Add(-time.Hour), time.Now().Add(24*time.Hour), name)
	text, err := json.Marshal(map[string]any{"apiVersion": "v1", "kind": "Secret", "type": "kubernetes.io/tls",
		"metadata": map[string]any{"name": certificateSecret, "namespace": c.namespace},
		"data":     map[string][]byte{"tls.crt": pair.Cert, "tls.key": pair.Key, "ca.crt": c.ca.PEM}})
	must(c.T, err)
	must(c.T, c.kube.Apply(c.Context(), string(text)))
	parsed, err := tls.X509KeyPair(pair.Cert, pair.Key)
	must(c.T, err)
	return parsed.Leaf.SerialNumber.String()
}

// testTLS turns TLS on for slurmrestd; the adapter, the HPA and the operator continue to scale a NodeSet. It renews the
// certificate, and replaces slurmrestd's pods while a client sends requests all the time. It then uses a wrong
// certificate, and turns TLS off again.
func (e *env) testTLS() {
	c := restdCertificate{e, testcert.NewCA(e, "e2e", time.Now().Add(-time.Hour))}
	first := c.issue(c.host())
	begin := time.Now()
	e.kubectl("patch", "restapi", "slurm", "--type=merge", "-p", `{"spec":{"tls":{"secretName":"`+certificateSecret+`"}}}`)
	e.awaitRestAPI(`{.status.url}`, fmt.Sprintf("https://%s:%d", c.host(), names.SlurmrestdTLSPort))
	e.kubectl("rollout", "status", "deployment/"+names.RestAPIDeployment("slurm"), "--timeout=180s")
	e.Logf("TLS is on after %.1f s", time.Since(begin).Seconds())
	c.checkPlainPortIsClosed()
	serial, err := c.serial()
	must(e.T, err)
	if serial != first {
		e.Errorf("slurmrestd answers with the certificate %s, not %s", serial, first)
	}
	e.testScaleToZero(e.testScaleFromZero())
	e.replaceRestAPI("tls", e.restdClientAt(fmt.Sprintf("https:%s:%d", names.RestAPIService("slurm"),
		names.SlurmrestdTLSPort), e.newToken()))
	c.testRenewal()

	e.kubectl("patch", "restapi", "slurm", "--type=json", "-p", `[{"op":"remove","path":"/spec/tls"}]`)
	e.awaitRestAPI(`{.status.url}`, fmt.Sprintf("http://%s:%d", c.host(), names.SlurmrestdPort))
	e.kubectl("rollout", "status", "deployment/"+names.RestAPIDeployment("slurm"), "--timeout=180s")
}

// testRenewal replaces the certificate, first by a valid one, and then by one that no client accepts.
func (c restdCertificate) testRenewal() {
	c.Helper()
	before := c.replicaSets()
	renewed, begin := c.issue(c.host()), time.Now()
	process.Await(c.T, func() error {
		serial, err := c.serial()
		if err == nil && serial != renewed {
			err = errors.New("the renewed certificate is not in use")
		}
		return err
	})
	c.Logf("a renewed certificate is in use after %.1f s", time.Since(begin).Seconds())
	if now := c.replicaSets(); now != before || now == "" {
		c.Errorf("the ReplicaSets with pods were %q and are %q: the pods were replaced", before, now)
	}
	c.issue("other.example.com")
	c.awaitRestAPI(`{.status.conditions[?(@.type=="Ready")].reason}`, "InvalidCertificate")
	c.issue(c.host())
	c.awaitRestAPI(`{.status.conditions[?(@.type=="Ready")].status}`, "True")
}

// replicaSets returns the names of slurmrestd's ReplicaSets that want pods. Pods of others may still be ending.
func (c restdCertificate) replicaSets() string {
	c.Helper()
	return c.kubectl("get", "replicasets", "-l", "app.kubernetes.io/name=slurmrestd", "-o",
		`jsonpath={.items[?(@.spec.replicas>0)].metadata.name}`)
}

// awaitRestAPI waits until a field of the RestApi has a value.
func (e *env) awaitRestAPI(path, want string) {
	e.Helper()
	process.Await(e.T, func() error {
		if got := e.kubectl("get", "restapi", "slurm", "-o", "jsonpath="+path); got != want {
			return fmt.Errorf("%s of the RestApi is %q, not %q", path, got, want)
		}
		return nil
	})
}

// checkPlainPortIsClosed checks that no port of slurmrestd's pods or its Service answers without TLS.
func (c restdCertificate) checkPlainPortIsClosed() {
	c.Helper()
	service := c.kubectl("get", "service", names.RestAPIService("slurm"), "-o", "jsonpath={.spec.ports[*].port}")
	if want := strconv.Itoa(names.SlurmrestdTLSPort); service != want {
		c.Errorf("the ports of the Service are %s, not %s", service, want)
	}
	address := net.JoinHostPort(c.podAddress(), strconv.Itoa(names.SlurmrestdPort))
	if conn, err := net.DialTimeout("tcp", address, 5*time.Second); err == nil {
		_ = conn.Close()
		c.Errorf("slurmrestd listens at %s", address)
	}
	res, err := http.Get(fmt.Sprintf("http://%s:%d/slurm/v0.0.42/ping/", c.podAddress(), names.SlurmrestdTLSPort))
	must(c.T, err)
	if _ = res.Body.Close(); res.StatusCode != http.StatusBadRequest {
		c.Errorf("a request without TLS is answered with %s", res.Status)
	}
}

// podAddress returns the address of a pod of slurmrestd that is ready. The host of the test is on the network of pods.
func (c restdCertificate) podAddress() string {
	c.Helper()
	for _, line := range strings.Split(c.kubectl("get", "endpointslices", "-l",
		"kubernetes.io/service-name="+names.RestAPIService("slurm"), "-o",
		`jsonpath={range .items[*].endpoints[?(@.conditions.ready==true)]}{.addresses[0]}{"\n"}{end}`), "\n") {
		if line != "" {
			return line
		}
	}
	c.Fatal("no pod of slurmrestd is ready")
	return ""
}

// serial returns the serial number of the certificate with which a pod of slurmrestd answers a client that verifies it
// for the Service.
func (c restdCertificate) serial() (string, error) {
	c.Helper()
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(c.ca.PEM)
	address := net.JoinHostPort(c.podAddress(), strconv.Itoa(names.SlurmrestdTLSPort))
	conn, err := tls.DialWithDialer(&net.Dialer{Timeout: 5 * time.Second}, "tcp", address,
		&tls.Config{RootCAs: roots, ServerName: c.host()})
	if err != nil {
		return "", err
	}
	defer conn.Close() //nolint:errcheck // nothing depends on it
	return conn.ConnectionState().PeerCertificates[0].SerialNumber.String(), nil
}
