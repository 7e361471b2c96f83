//go:build e2e

package view

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/slurmtide/slurmtide/test/harness/process"
)

// adapter is a running slurm-metrics-adapter.
type adapter struct{ *process.Process }

// startAdapter installs the chart except for its pods, starts the adapter with the rights of its
// service account, and waits until it is ready and registered with the API server.
func (s *kubeEnv) startAdapter(t *testing.T, args ...string) adapter {
	t.Helper()
	return s.startAdapterAt(t, process.FreePort(t), args...)
}

// startAdapterAt starts an adapter that serves the API at a port. The API server uses the last started adapter.
func (s *kubeEnv) startAdapterAt(t *testing.T, secure int, args ...string) adapter {
	t.Helper()
	metrics := process.FreeAddress(t)
	s.installChart(t, secure)
	kubeconfig := filepath.Join(s.dir, "adapter.kubeconfig")
	if err := s.kube.WriteKubeconfig(t.Context(), "slurm-metrics", "slurm-metrics", kubeconfig); err != nil {
		t.Fatal(err)
	}
	a := adapter{process.Start(t, s.program, append([]string{
		"--kube.config=" + kubeconfig, "--bind-address=127.0.0.1", fmt.Sprint("--secure-port=", secure),
		"--certificate.namespace=slurm-metrics", "--certificate.service=slurm-metrics",
		"--certificate.secret=slurm-metrics-certificate",
		"--metrics.listen-address=" + metrics, "--shutdown-delay=1s",
	}, args...)...)}
	process.Await(t, func() error { return process.CheckOK("http://" + metrics + "/-/ready") })
	return a
}

// installChart applies the chart's roles and APIServices, and a Service that points at the port.
func (s *kubeEnv) installChart(t *testing.T, port int) {
	t.Helper()
	if err := s.kube.ExposeLocal(t.Context(), "slurm-metrics", "slurm-metrics", port); err != nil {
		t.Fatal(err)
	}
	args := []string{"template", "slurm-metrics", "../../../../charts/slurm-metrics", "--namespace", "slurm-metrics",
		"--set", fmt.Sprintf("service.port=%d,rbac.secretNamespaces={*}", port)}
	for _, part := range []string{"serviceaccount", "secret", "rbac", "view", "apiservices"} {
		args = append(args, "--show-only", "templates/"+part+".yaml")
	}
	s.applyManifest(t, s.mustRun(t, "helm", args...))
}

// stop stops the adapter and fails the test if it exits with an error.
func (a adapter) stop(t *testing.T) {
	t.Helper()
	if err := a.Stop(); err != nil {
		t.Error(err)
	}
}

// memoryMiB returns VmRSS or VmHWM of the adapter in MiB.
func (a adapter) memoryMiB(t *testing.T, key string) int {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", a.PID()))
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
	t.Fatalf("/proc has no %s", key)
	return 0
}

// resetPeak makes the kernel start measuring VmHWM again.
func (a adapter) resetPeak(t *testing.T) {
	t.Helper()
	if err := os.WriteFile(fmt.Sprintf("/proc/%d/clear_refs", a.PID()), []byte("5"), 0); err != nil {
		t.Fatal(err)
	}
}
