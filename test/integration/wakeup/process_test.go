//go:build e2e

package wakeup

import (
	"context"
	"crypto/tls"
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/slurmtide/slurmtide/test/harness/process"
	"github.com/slurmtide/slurmtide/test/harness/realkube"
)

// operator is a running slurm-operator.
type operator struct {
	*process.Process
	t               *testing.T
	health, metrics string // HOST:PORT
}

// startOperator starts the operator with only the rights of its service account, and returns
// when it is ready.
func startOperator(t *testing.T, c *realkube.Cluster, flags ...string) *operator {
	t.Helper()
	kubeconfig := filepath.Join(t.TempDir(), "kubeconfig")
	if err := c.WriteKubeconfig(t.Context(), "slurm-system", "slurm-operator", kubeconfig); err != nil {
		t.Fatal(err)
	}
	o := &operator{t: t, health: process.FreeAddress(t), metrics: process.FreeAddress(t)}
	o.Process = process.Start(t, binary, append([]string{
		"--kube.config=" + kubeconfig, "--reconcilers=wakeup", "--no-webhook",
		"--leader-election.namespace=slurm-system", "--wakeup.look-interval=1s",
		"--health.listen-address=" + o.health, "--metrics.listen-address=" + o.metrics, "--log.level=debug",
	}, flags...)...)
	process.Await(t, func() error { return process.CheckOK("http://" + o.health + "/readyz") })
	return o
}

// stop stops the operator as Kubernetes does and fails the test if it exits with an error.
func (o *operator) stop() {
	o.t.Helper()
	if err := o.Stop(); err != nil {
		o.t.Error(err)
	}
}

// get returns the HTTP status of a GET. It does not verify the metrics certificate, which the
// operator signs itself at startup.
func (o *operator) get(ctx context.Context, url, token string) (string, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return "", err
	}
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true},
		DisableKeepAlives: true}}
	resp, err := client.Do(req)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	return fmt.Sprint(resp.StatusCode), nil
}

// newToken returns a token of a service account in slurm-system.
func newToken(t *testing.T, c *realkube.Cluster, account string) string {
	t.Helper()
	out, err := c.Kubectl(t.Context(), "create", "token", account, "--namespace=slurm-system")
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(out)
}
