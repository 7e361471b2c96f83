package main

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"net"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// newTestPKI writes all files into a temporary folder.
func newTestPKI(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "pki")
	if err := writePKI(controlPlane{dir: dir, server: "https://127.0.0.1:6443", node: "node"},
		"127.0.0.1,10.9.8.7"); err != nil {
		t.Fatal(err)
	}
	return dir
}

func loadCertificate(t *testing.T, base string) *x509.Certificate {
	t.Helper()
	pair, err := tls.LoadX509KeyPair(base+".crt", base+".key")
	if err != nil {
		t.Fatal(err)
	}
	return pair.Leaf
}

func TestCertificatesAreValidForTheirPurpose(t *testing.T) {
	dir := newTestPKI(t)
	both := []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth, x509.ExtKeyUsageServerAuth}
	tests := []struct {
		name, authority, host string
		usage                 x509.ExtKeyUsage
	}{
		{"apiserver", "ca", "10.96.0.1", x509.ExtKeyUsageServerAuth},
		{"apiserver", "ca", "10.9.8.7", x509.ExtKeyUsageServerAuth},
		{"apiserver", "ca", "kubernetes.default.svc", x509.ExtKeyUsageServerAuth},
		{"kubelet", "ca", "10.9.8.7", both[1]},
		{"kubelet", "ca", "", both[0]},
		{"etcd", "etcd-ca", "127.0.0.1", both[1]},
		{"front-proxy-client", "front-proxy-ca", "", x509.ExtKeyUsageClientAuth},
		{"admin", "ca", "", x509.ExtKeyUsageClientAuth},
	}
	for _, test := range tests {
		t.Run(test.name+" "+test.host, func(t *testing.T) {
			roots := x509.NewCertPool()
			roots.AddCert(loadCertificate(t, filepath.Join(dir, test.authority)))
			_, err := loadCertificate(t, filepath.Join(dir, test.name)).Verify(x509.VerifyOptions{
				Roots: roots, DNSName: test.host, KeyUsages: []x509.ExtKeyUsage{test.usage},
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
}

func TestEtcdAndFrontProxyClientsAreNoClusterUsers(t *testing.T) {
	dir := newTestPKI(t)
	roots := x509.NewCertPool()
	roots.AddCert(loadCertificate(t, filepath.Join(dir, "ca")))
	usage := []x509.ExtKeyUsage{x509.ExtKeyUsageAny}
	for _, name := range []string{"apiserver-etcd-client", "front-proxy-client"} {
		if _, err := loadCertificate(t, filepath.Join(dir, name)).Verify(
			x509.VerifyOptions{Roots: roots, KeyUsages: usage}); err == nil {
			t.Errorf("the cluster's authority has signed %s", name)
		}
	}
}

func TestOnlyTheOwnerCanReadTheFiles(t *testing.T) {
	dir := newTestPKI(t)
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	if len(entries) < 30 {
		t.Errorf("%d files made, want 13 pairs, 5 kubeconfigs and the keys of service accounts", len(entries))
	}
	for _, entry := range entries {
		info, err := entry.Info()
		if err != nil {
			t.Fatal(err)
		}
		if info.Mode().Perm() != 0o600 {
			t.Errorf("%s has mode %v", entry.Name(), info.Mode())
		}
	}
}

func TestKubeconfigNamesItsUser(t *testing.T) {
	content, err := os.ReadFile(filepath.Join(newTestPKI(t), "kube-scheduler.kubeconfig"))
	if err != nil {
		t.Fatal(err)
	}
	var config struct {
		Context string `json:"current-context"`
		Users   []struct {
			Name string
			User struct {
				Certificate []byte `json:"client-certificate-data"`
				Key         []byte `json:"client-key-data"`
			}
		}
		Clusters []struct {
			Name    string
			Cluster struct{ Server string }
		}
	}
	if err := json.Unmarshal(content, &config); err != nil {
		t.Fatal(err)
	}
	pair, err := tls.X509KeyPair(config.Users[0].User.Certificate, config.Users[0].User.Key)
	if err != nil {
		t.Fatal(err)
	}
	got := []string{config.Clusters[0].Cluster.Server, config.Users[0].Name, pair.Leaf.Subject.CommonName}
	want := []string{"https://127.0.0.1:6443", "system:kube-scheduler", "system:kube-scheduler"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("server, user, certificate (-want +got):\n%s", diff)
	}
}

func TestInvalidFlagsAreRefused(t *testing.T) {
	dir := t.TempDir()
	tests := []struct {
		name string
		plan controlPlane
		ips  string
	}{
		{"no folder", controlPlane{server: "https://x"}, "127.0.0.1"},
		{"no server", controlPlane{dir: dir}, "127.0.0.1"},
		{"a name for an address", controlPlane{dir: dir, server: "https://x"},
			net.IPv4(127, 0, 0, 1).String() + ",localhost"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if err := writePKI(test.plan, test.ips); err == nil {
				t.Error("it made certificates")
			}
		})
	}
}
