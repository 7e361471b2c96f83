package loop

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
)

const operatorNamespace = "slurm-system"

// StartOperator starts slurm-operator with the minimal rights for the wake-up from zero.
func (c *ControlPlane) StartOperator(ctx context.Context) error {
	dir, err := repositoryRoot()
	if err != nil {
		return err
	}
	rights, err := os.ReadFile(filepath.Join(dir, "cmd", "slurm-operator", "testdata", "rbac.yaml"))
	if err != nil {
		return err
	}
	if err := c.Kube.Apply(ctx, string(rights)); err != nil {
		return err
	}
	if _, err := c.Kube.Kubectl(ctx, "create", "clusterrolebinding", "slurm-operator", "--clusterrole=slurm-operator",
		"--serviceaccount="+operatorNamespace+":slurm-operator"); err != nil {
		return err
	}
	kubeconfig, err := c.writeKubeconfig(ctx, operatorNamespace, "slurm-operator")
	if err != nil {
		return err
	}
	c.operator, err = c.startProgram(ctx, "slurm-operator", "--kube.config="+kubeconfig,
		"--leader-election.namespace="+operatorNamespace,
		"--reconcilers=wakeup", "--no-webhook", "--health.listen-address=0", "--metrics.listen-address=0",
		"--wakeup.look-interval=1s")
	if err != nil {
		return fmt.Errorf("starting the operator: %w", err)
	}
	return nil
}
