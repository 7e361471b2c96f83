//go:build e2e

package adapter

import (
	"fmt"
	"path/filepath"
	"testing"

	"github.com/slurmtide/slurmtide/test/harness/process"
)

// adapter is a running slurm-metrics-adapter.
type adapter struct {
	*process.Process
	securePort     int
	metricsAddress string
}

// startAdapter starts the adapter with the rights of its service account and waits until it is
// ready.
func (s *env) startAdapter(t *testing.T, args ...string) *adapter {
	t.Helper()
	a := &adapter{securePort: process.FreePort(t), metricsAddress: process.FreeAddress(t)}
	kubeconfig := filepath.Join(s.dir, "adapter.kubeconfig")
	if err := s.kube.WriteKubeconfig(t.Context(), "slurm-metrics", "slurm-metrics-adapter", kubeconfig); err != nil {
		t.Fatal(err)
	}
	a.Process = process.Start(t, s.program, append([]string{
		"--kube.config=" + kubeconfig, "--bind-address=127.0.0.1", fmt.Sprint("--secure-port=", a.securePort),
		"--certificate.namespace=slurm-metrics", "--metrics.listen-address=" + a.metricsAddress, "--external-metrics",
		"--slurm.poll-interval=1s", "--metrics-max-age=" + maxAge.String(), "--shutdown-delay=1s",
	}, args...)...)
	process.Await(t, func() error { return process.CheckOK("http://" + a.metricsAddress + "/-/ready") })
	return a
}

// registerAdapter points the Service and the APIServices at the adapter.
func (s *env) registerAdapter(t *testing.T, a *adapter) {
	t.Helper()
	if err := s.kube.ExposeLocal(t.Context(), "slurm-metrics", "slurm-metrics-adapter", a.securePort); err != nil {
		t.Fatal(err)
	}
	s.applyFile(t, "apiservices.yaml", "PORT", fmt.Sprint(a.securePort))
}
