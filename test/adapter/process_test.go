//go:build e2e

package adapter

import (
	"fmt"
	"path/filepath"
	"testing"

	"github.com/slurmtide/slurmtide/test/process"
)

// adapter is a running slurm-metrics-adapter.
type adapter struct {
	*process.Process
	secure  int
	metrics string
}

// startAdapter starts the adapter with the rights of its service account and waits until it is
// ready.
func (s *site) run(t *testing.T, args ...string) *adapter {
	t.Helper()
	a := &adapter{secure: process.FreePort(t), metrics: process.FreeAddress(t)}
	kubeconfig := filepath.Join(s.dir, "adapter.kubeconfig")
	if err := s.kube.KubeconfigOf(t.Context(), "slurm-metrics", "slurm-metrics-adapter", kubeconfig); err != nil {
		t.Fatal(err)
	}
	a.Process = process.Start(t, s.program, append([]string{
		"--kube.config=" + kubeconfig, "--bind-address=127.0.0.1", fmt.Sprint("--secure-port=", a.secure),
		"--certificate.namespace=slurm-metrics", "--metrics.listen-address=" + a.metrics, "--external-metrics",
		"--slurm.poll-interval=1s", "--metrics-max-age=" + maxAge.String(), "--shutdown-delay=1s",
	}, args...)...)
	process.Await(t, func() error { return process.Answers("http://" + a.metrics + "/-/ready") })
	return a
}

// registerAdapter points the Service and the APIServices at the adapter.
func (s *site) register(t *testing.T, a *adapter) {
	t.Helper()
	if err := s.kube.ExposeLocal(t.Context(), "slurm-metrics", "slurm-metrics-adapter", a.secure); err != nil {
		t.Fatal(err)
	}
	s.apply(t, "apiservices.yaml", "PORT", fmt.Sprint(a.secure))
}
