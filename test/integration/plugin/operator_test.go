//go:build e2e

package plugin

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/slurmtide/slurmtide/test/harness/process"
)

const operatorNamespace = "slurm-system"

// startOperator starts the operator with the rights that its chart grants. The first call
// installs the chart, except for its pods.
func (r *env) startOperator(t *testing.T) {
	t.Helper()
	file := filepath.Join(r.dir, "slurm-operator")
	if _, err := os.Stat(file); err != nil {
		r.buildProgram(t, "slurm-operator")
		if _, err := r.Kube.Helm(t.Context(), "install", "slurm-operator", "../../../charts/slurm-operator",
			"--namespace", operatorNamespace,
			"--create-namespace", "--set", "webhook.enabled=false,rbac.secretNamespaces={*}"); err != nil {
			t.Fatal(err)
		}
	}
	kubeconfig := filepath.Join(r.dir, "slurm-operator.kubeconfig")
	if err := r.Kube.WriteKubeconfig(t.Context(), operatorNamespace, "slurm-operator", kubeconfig); err != nil {
		t.Fatal(err)
	}
	r.operator = process.Start(r.rootTest, file, "--kube.config="+kubeconfig,
		"--leader-election.namespace="+operatorNamespace,
		"--reconcilers=wakeup,nodeset,cluster", "--no-webhook", "--health.listen-address=0",
		"--metrics.listen-address=0",
		"--wakeup.look-interval=1s", "--slurm.poll-interval=1s", "--nodeset.image=slurmd")
}

// stopOperator stops the operator, which releases its lease.
func (r *env) stopOperator(t *testing.T) {
	t.Helper()
	if err := r.operator.Stop(); err != nil {
		t.Error(err)
	}
}
