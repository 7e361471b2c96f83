package nodeset

import (
	"context"
	"os/exec"
	"strconv"
	"strings"
	"syscall"

	"github.com/slurmtide/slurmtide/test/harness/instance"
	"github.com/slurmtide/slurmtide/test/harness/process"
)

// suspended are the daemons that WithoutKubelet suspends. kube-proxy would take slurmctld's address away from slurmd,
// although another machine could still reach it.
var suspended = []string{"kubelet", "kube-proxy"}

// WithoutKubelet suspends the daemons of the Kubernetes node, except for its containers. In the environment that it
// returns, Slurm's commands work although no kubelet runs commands, even after slurmctld's pod was deleted.
func (s *Env) WithoutKubelet(ctx context.Context) (*Env, error) {
	uid, err := s.kubectl(ctx, "get", "pods", "--selector=app=slurmctld", "--output", "jsonpath={.items[0].metadata.uid}")
	if err != nil {
		return nil, err
	}
	away := *s
	if away.slurmctldPID, err = process.FindInPod(uid, "slurmctld"); err != nil {
		return nil, err
	}
	return &away, s.signalKubeNode(ctx, syscall.SIGSTOP)
}

// ResumeKubelet resumes what WithoutKubelet suspended.
func (s *Env) ResumeKubelet(ctx context.Context) error { return s.signalKubeNode(ctx, syscall.SIGCONT) }

func (s *Env) signalKubeNode(ctx context.Context, signal syscall.Signal) error {
	for _, daemon := range suspended {
		if err := s.Kube.Signal(ctx, daemon, signal); err != nil {
			return err
		}
	}
	return nil
}

// enterSlurmctld runs a command in the namespaces of slurmctld, as kubectl exec does.
func (s *Env) enterSlurmctld(ctx context.Context, args []string) (string, error) {
	all := append([]string{"--target", strconv.Itoa(s.slurmctldPID), "--all", "--"}, args...)
	out, err := instance.RunCommand(ctx, exec.CommandContext(ctx, "nsenter", all...))
	return strings.TrimSpace(out), err
}
