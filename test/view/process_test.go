//go:build e2e

package view

import (
	"fmt"
	"net"
	"net/http"
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
	cmd    *exec.Cmd
	log    string
	secure int
	done   chan error
}

// run installs what the chart makes beside the pods, starts the adapter with the rights
// of its service account, and waits until it is ready and the API server knows it.
func (s *site) run(t *testing.T, args ...string) *process {
	t.Helper()
	p := &process{secure: freePort(t), done: make(chan error, 1)}
	s.install(t, p.secure)
	metrics := fmt.Sprintf("127.0.0.1:%d", freePort(t))
	file, err := os.CreateTemp(s.dir, "log")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	p.log = file.Name()
	p.cmd = exec.Command(s.program, append([]string{
		"--kube.config=" + s.kubeconfig(t), "--bind-address=127.0.0.1", fmt.Sprint("--secure-port=", p.secure),
		"--certificate.namespace=slurm-metrics", "--certificate.service=slurm-metrics", "--certificate.secret=slurm-metrics-certificate",
		"--metrics.listen-address=" + metrics, "--shutdown-delay=1s",
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
			text, _ := os.ReadFile(p.log)
			t.Logf("the adapter said:\n%s", text)
		}
	})
	await(t, 2*soon, func() error { return ready("http://" + metrics + "/-/ready") })
	return p
}

// install applies the chart's roles and APIServices, and a Service that leads to the port.
func (s *site) install(t *testing.T, port int) {
	t.Helper()
	if err := s.kube.ExposeLocal(t.Context(), "slurm-metrics", "slurm-metrics", port); err != nil {
		t.Fatal(err)
	}
	args := []string{"template", "slurm-metrics", "../../charts/slurm-metrics", "--namespace", "slurm-metrics", "--set", fmt.Sprint("service.port=", port)}
	for _, part := range []string{"serviceaccount", "secret", "rbac", "view", "apiservices"} {
		args = append(args, "--show-only", "templates/"+part+".yaml")
	}
	s.applyText(t, s.must(t, "helm", args...))
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
	case <-time.After(30 * time.Second):
		_ = p.cmd.Process.Kill()
		t.Error("the adapter does not end")
	}
	p.done = nil
}

// memory is VmRSS or VmHWM of the adapter in MiB.
func (p *process) memory(t *testing.T, key string) int {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.cmd.Process.Pid))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if rest, ok := strings.CutPrefix(line, key+":"); ok {
			var kib int
			if _, err := fmt.Sscan(rest, &kib); err != nil {
				t.Fatal(err)
			}
			return kib / 1024
		}
	}
	t.Fatalf("there is no %s", key)
	return 0
}

// forgetPeak has the kernel measure VmHWM anew.
func (p *process) forgetPeak(t *testing.T) {
	t.Helper()
	if err := os.WriteFile(fmt.Sprintf("/proc/%d/clear_refs", p.cmd.Process.Pid), []byte("5"), 0); err != nil {
		t.Fatal(err)
	}
}

// kubeconfig is one of the adapter's service account.
func (s *site) kubeconfig(t *testing.T) string {
	t.Helper()
	token := s.must(t, "kubectl", "-n", "slurm-metrics", "create", "token", "slurm-metrics", "--duration=1h")
	file := filepath.Join(s.dir, "adapter.kubeconfig")
	server := s.must(t, "kubectl", "config", "view", "--minify", "-o", "jsonpath={.clusters[0].cluster.server}")
	ca := s.must(t, "kubectl", "config", "view", "--minify", "--raw", "--flatten", "-o", "jsonpath={.clusters[0].cluster.certificate-authority-data}")
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

func freePort(t *testing.T) int {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port
}

func ready(url string) error {
	r, err := http.Get(url)
	if err != nil {
		return err
	}
	defer r.Body.Close()
	if r.StatusCode != http.StatusOK {
		return fmt.Errorf("%s answers %s", url, r.Status)
	}
	return nil
}
