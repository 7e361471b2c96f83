//go:build e2e

package adapter

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// process is a running adapter.
type process struct {
	cmd     *exec.Cmd
	log     string
	secure  int
	metrics string
	done    chan error
}

// run starts the adapter with the rights of its service account, and waits until it
// is ready.
func (s *site) run(t *testing.T, args ...string) *process {
	t.Helper()
	p := &process{secure: freePort(t), metrics: fmt.Sprintf("127.0.0.1:%d", freePort(t)), done: make(chan error, 1)}
	file, err := os.CreateTemp(s.dir, "log")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	p.log = file.Name()
	p.cmd = exec.Command(s.program, append([]string{
		"--kube.config=" + s.kubeconfig(t), "--bind-address=127.0.0.1", fmt.Sprint("--secure-port=", p.secure),
		"--certificate.namespace=slurm-metrics", "--metrics.listen-address=" + p.metrics, "--external-metrics",
		"--slurm.poll-interval=1s", "--metrics-max-age=" + maxAge.String(), "--shutdown-delay=1s",
	}, args...)...)
	p.cmd.Stdout, p.cmd.Stderr = file, file
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() { p.done <- p.cmd.Wait() }()
	t.Cleanup(func() {
		p.stop(t)
		if t.Failed() {
			t.Logf("the adapter said:\n%s", p.said(t))
		}
	})
	await(t, 30*time.Second, func() error { return ready("http://" + p.metrics + "/-/ready") })
	return p
}

// stop ends the adapter, which must end well.
func (p *process) stop(t *testing.T) {
	t.Helper()
	if p.done == nil {
		return
	}
	_ = p.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case err := <-p.done:
		if err != nil {
			t.Errorf("the adapter ended with %v", err)
		}
	case <-time.After(20 * time.Second):
		_ = p.cmd.Process.Kill()
		t.Error("the adapter does not end")
	}
	p.done = nil
}

func (p *process) said(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(p.log)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// register leads the API server to the adapter and waits until it goes there.
func (s *site) register(t *testing.T, p *process) {
	t.Helper()
	if err := s.kube.ExposeLocal(t.Context(), "slurm-metrics", "slurm-metrics-adapter", p.secure); err != nil {
		t.Fatal(err)
	}
	s.apply(t, "apiservices.yaml", "PORT", fmt.Sprint(p.secure))
}

// kubeconfig is one of the adapter's service account.
func (s *site) kubeconfig(t *testing.T) string {
	t.Helper()
	token := must(t)(s.kube.Kubectl(t.Context(), "-n", "slurm-metrics", "create", "token", "slurm-metrics-adapter", "--duration=1h"))
	file := filepath.Join(s.dir, "adapter.kubeconfig")
	server := must(t)(s.kube.Kubectl(t.Context(), "config", "view", "--minify", "-o", "jsonpath={.clusters[0].cluster.server}"))
	ca := must(t)(s.kube.Kubectl(t.Context(), "config", "view", "--minify", "--raw", "--flatten", "-o", "jsonpath={.clusters[0].cluster.certificate-authority-data}"))
	text := fmt.Sprintf(`apiVersion: v1
kind: Config
current-context: it
contexts: [{name: it, context: {cluster: it, user: it}}]
clusters: [{name: it, cluster: {server: %q, certificate-authority-data: %q}}]
users: [{name: it, user: {token: %q}}]
`, server, ca, strings.TrimSpace(token))
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}
