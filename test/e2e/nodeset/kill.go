package nodeset

import (
	"context"
	"fmt"
	"syscall"

	"github.com/slurmtide/slurmtide/test/harness/process"
)

// KillOperator kills the operator in its pod with SIGKILL. The kubelet starts it again.
func (s *Env) KillOperator(ctx context.Context) error {
	return s.kill(ctx, "app.kubernetes.io/name=slurm-operator", "slurm-operator")
}

// KillSlurmctld kills slurmctld in its pod with SIGKILL. The kubelet starts it again.
func (s *Env) KillSlurmctld(ctx context.Context) error {
	return s.kill(ctx, "app=slurmctld", "slurmctld")
}

func (s *Env) kill(ctx context.Context, selector, program string) error {
	uid, err := s.kubectl(ctx, "get", "pods", "--selector="+selector, "--output", "jsonpath={.items[0].metadata.uid}")
	if err != nil {
		return err
	}
	pid, err := process.FindInPod(uid, program)
	if err != nil {
		return err
	}
	return syscall.Kill(pid, syscall.SIGKILL)
}

// SignalSlurmctld sends slurmctld a signal, such as STOP or CONT.
func (s *Env) SignalSlurmctld(ctx context.Context, signal string) error {
	_, err := s.Slurm(ctx, "sh", "-c", "kill -"+signal+" $(grep -lx slurmctld /proc/[0-9]*/comm | cut -d/ -f3)")
	return err
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
