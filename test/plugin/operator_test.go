//go:build e2e

package plugin

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"
)

const operatorNamespace = "slurm-system"

// program is slurm-operator as a process of this machine.
type program struct {
	cmd  *exec.Cmd
	log  string
	done chan struct{}
}

// startOperator installs the operator's chart, of which all but the pods is used, the
// first time, and starts the operator with the rights that the chart gives.
func (r *rig) startOperator(t *testing.T) {
	t.Helper()
	file := filepath.Join(r.dir, "slurm-operator")
	if _, err := os.Stat(file); err != nil {
		r.build(t, "slurm-operator")
		if _, err := r.Kube.Helm(t.Context(), "install", "slurm-operator", "../../charts/slurm-operator", "--namespace", operatorNamespace,
			"--create-namespace", "--set", "webhook.enabled=false"); err != nil {
			t.Fatal(err)
		}
	}
	log, err := os.CreateTemp(r.dir, "operator")
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	p := &program{log: log.Name(), done: make(chan struct{})}
	p.cmd = exec.Command(file, "--kube.config="+r.kubeconfigOf(t, operatorNamespace, "slurm-operator"), "--leader-election.namespace="+operatorNamespace,
		"--reconcilers=wakeup,nodeset,cluster", "--no-webhook", "--health.listen-address=0", "--metrics.listen-address=0",
		"--wakeup.look-interval=1s", "--slurm.poll-interval=1s", "--nodeset.image=slurmd")
	p.cmd.Stdout, p.cmd.Stderr = log, log
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() { _ = p.cmd.Wait(); close(p.done) }()
	r.operator = p
	r.whole.Cleanup(func() {
		p.stop(r.whole)
		if text, err := os.ReadFile(p.log); r.whole.Failed() && err == nil {
			r.whole.Logf("the operator said:\n%s", text[max(0, len(text)-8<<10):])
		}
	})
}

// stop ends the operator, which gives its lease back.
func (p *program) stop(t *testing.T) {
	t.Helper()
	_ = p.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case <-p.done:
	case <-time.After(30 * time.Second):
		_ = p.cmd.Process.Kill()
		t.Error("the operator does not end")
	}
}

// kubeconfigOf writes a kubeconfig with the rights of a service account.
func (r *rig) kubeconfigOf(t *testing.T, namespace, account string) string {
	t.Helper()
	token := strings.TrimSpace(r.kubectl(t, "-n", namespace, "create", "token", account, "--duration=2h"))
	config, err := clientcmd.LoadFromFile(r.Kube.Kubeconfig())
	if err != nil {
		t.Fatal(err)
	}
	for name := range config.AuthInfos {
		config.AuthInfos[name] = &api.AuthInfo{Token: token}
	}
	file := filepath.Join(r.dir, fmt.Sprintf("%s-%s.kubeconfig", namespace, account))
	if err := clientcmd.WriteToFile(*config, file); err != nil {
		t.Fatal(err)
	}
	return file
}
