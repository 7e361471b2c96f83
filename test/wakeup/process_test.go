//go:build e2e

package wakeup

import (
	"bytes"
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/slurmtide/slurmtide/test/realkube"
)

// operator is a running slurm-operator.
type operator struct {
	t               *testing.T
	health, metrics string // HOST:PORT
	cmd             *exec.Cmd
	logs            *lockedBuffer
	ended           chan error
}

type lockedBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}

// startOperator starts the program with the rights of its service account alone, and
// returns when it is ready.
func startOperator(t *testing.T, c *realkube.Cluster, flags ...string) *operator {
	t.Helper()
	o := &operator{t: t, health: freeAddress(t), metrics: freeAddress(t), logs: &lockedBuffer{}, ended: make(chan error, 1)}
	o.cmd = exec.Command(binary, append([]string{
		"--kube.config=" + serviceAccount(t, c), "--reconcilers=wakeup", "--no-webhook", "--leader-election.namespace=slurm-system", "--wakeup.look-interval=1s",
		"--health.listen-address=" + o.health, "--metrics.listen-address=" + o.metrics, "--log.level=debug",
	}, flags...)...)
	o.cmd.Stderr = o.logs
	if err := o.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() { o.ended <- o.cmd.Wait() }()
	t.Cleanup(func() {
		o.stop()
		if t.Failed() {
			t.Logf("slurm-operator logged:\n%s", o.logs)
		}
	})
	await(t, 30*time.Second, "readiness", "200", func(ctx context.Context) (string, error) {
		return o.get(ctx, "http://"+o.health+"/readyz", "")
	})
	return o
}

// stop ends the program as Kubernetes does and fails if it does not end well. It may
// be called again.
func (o *operator) stop() {
	o.t.Helper()
	if o.cmd.ProcessState != nil {
		return
	}
	_ = o.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case err := <-o.ended:
		if err != nil {
			o.t.Errorf("slurm-operator ended with %v", err)
		}
	case <-time.After(20 * time.Second):
		_ = o.cmd.Process.Kill()
		<-o.ended
		o.t.Error("slurm-operator did not end")
	}
}

// get returns the status of an answer. The certificate of metrics is made at the start
// and known to nobody.
func (o *operator) get(ctx context.Context, url, token string) (string, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return "", err
	}
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, DisableKeepAlives: true}}
	resp, err := client.Do(req)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	return fmt.Sprint(resp.StatusCode), nil
}

// serviceAccount writes a kubeconfig of the operator's service account.
func serviceAccount(t *testing.T, c *realkube.Cluster) string {
	t.Helper()
	config, err := c.RESTConfig()
	if err != nil {
		t.Fatal(err)
	}
	kubeconfig := clientcmdapi.NewConfig()
	kubeconfig.Clusters["c"] = &clientcmdapi.Cluster{
		Server: config.Host, CertificateAuthority: config.CAFile, CertificateAuthorityData: config.CAData,
	}
	kubeconfig.AuthInfos["u"] = &clientcmdapi.AuthInfo{Token: token(t, c, "slurm-operator")}
	kubeconfig.Contexts["x"] = &clientcmdapi.Context{Cluster: "c", AuthInfo: "u"}
	kubeconfig.CurrentContext = "x"
	path := filepath.Join(t.TempDir(), "kubeconfig")
	if err := clientcmd.WriteToFile(*kubeconfig, path); err != nil {
		t.Fatal(err)
	}
	return path
}

// token returns a token of a service account in slurm-system.
func token(t *testing.T, c *realkube.Cluster, account string) string {
	t.Helper()
	out, err := c.Kubectl(t.Context(), "create", "token", account, "--namespace=slurm-system")
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(out)
}

func freeAddress(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	return listener.Addr().String()
}
