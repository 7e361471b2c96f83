package nodeset

import (
	"context"
	"fmt"
	"syscall"

	"github.com/slurmtide/slurmtide/test/harness/process"
)

// KillOperator kills the operator in its pod with SIGKILL. The kubelet starts it again.
func (s *Env) KillOperator(ctx context.Context) error {
	return s.signalProgram(ctx, "app.kubernetes.io/name=slurm-operator", "slurm-operator", syscall.SIGKILL)
}

// SignalSlurmctld sends slurmctld a signal, such as SIGSTOP. The kubelet starts it again after SIGKILL.
func (s *Env) SignalSlurmctld(ctx context.Context, signal syscall.Signal) error {
	return s.signalProgram(ctx, "app=slurmctld", "slurmctld", signal)
}

// signalProgram sends a signal to a program in the first pod of a selector.
func (s *Env) signalProgram(ctx context.Context, selector, program string, signal syscall.Signal) error {
	uid, err := s.kubectl(ctx, "get", "pods", "--selector="+selector, "--output", "jsonpath={.items[0].metadata.uid}")
	if err != nil {
		return err
	}
	pid, err := process.FindInPod(uid, program)
	if err != nil {
		return err
	}
	return syscall.Kill(pid, signal)
}

// SignalSlurmd sends a signal to the slurmd of a worker.
func (w Worker) SignalSlurmd(signal syscall.Signal) error {
	pid, err := process.FindInPod(w.UID, "slurmd")
	if err != nil {
		return err
	}
	return syscall.Kill(pid, signal)
}

// ScaleSlurmrestd sets the number of slurmrestd pods, and waits for the rollout.
func (s *Env) ScaleSlurmrestd(ctx context.Context, replicas int) error {
	if _, err := s.kubectl(ctx, "scale", "deployment", "slurmrestd",
		fmt.Sprintf("--replicas=%d", replicas)); err != nil {
		return err
	}
	_, err := s.kubectl(ctx, "rollout", "status", "deployment/slurmrestd", "--timeout=60s")
	return err
}
