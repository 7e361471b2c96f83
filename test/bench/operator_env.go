package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"

	"github.com/slurmtide/slurmtide/slurmclient/slurmtest"
	"github.com/slurmtide/slurmtide/test/e2e/hpa/loop"
	"github.com/slurmtide/slurmtide/test/harness/realkube"
)

// The request rate to Kubernetes of the operator, the controller manager and the scheduler: more than each of them
// reaches here.
const benchQPS, benchBurst = "2000", "4000"

// operatorEnv is a Kubernetes cluster with fake kubelets, a simulated Slurm, and the operator.
type operatorEnv struct {
	control       *loop.ControlPlane
	dir           string
	objects       dynamic.Interface
	slurm         *slurmtest.Cluster
	slurmrestdURL string // where the simulated slurmrestd is
	kubelets      *kubelets
	audit         auditLog

	operator        *exec.Cmd
	operatorOutput  *lockedBuffer
	operatorMetrics string

	closers []func() error // stop the started programs, in order of their start
}

// lockedBuffer collects the output of a program and is safe for concurrent use.
type lockedBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (s *lockedBuffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.buf.Write(p)
}

func newOperatorEnv(ctx context.Context) (*operatorEnv, error) {
	s := &operatorEnv{operatorOutput: &lockedBuffer{}}
	return s, s.start(ctx, s.startSlurm, s.startKube, s.startPods, s.createObjects, s.startOperator, s.awaitRecords)
}

// start runs steps, and stops everything that they started if one fails.
func (s *operatorEnv) start(ctx context.Context, steps ...func(context.Context) error) error {
	ctx, cancel := context.WithCancel(ctx)
	for _, step := range steps {
		if err := step(ctx); err != nil {
			cancel()
			return errors.Join(fmt.Errorf("%w\nslurm-operator: %s", err, s.operatorLog()), s.close())
		}
	}
	s.closers = append(s.closers, func() error { cancel(); return nil })
	return nil
}

// close ends everything, the last first.
func (s *operatorEnv) close() error {
	var errs []error
	for i := len(s.closers) - 1; i >= 0; i-- {
		errs = append(errs, s.closers[i]())
	}
	return errors.Join(errs...)
}

// operatorLog is the end of what the operator has said.
func (s *operatorEnv) operatorLog() string {
	s.operatorOutput.mu.Lock()
	defer s.operatorOutput.mu.Unlock()
	text := s.operatorOutput.buf.String()
	return text[max(0, len(text)-4000):]
}

// startSlurm starts a simulated Slurm without nodes.
func (s *operatorEnv) startSlurm(ctx context.Context) error {
	s.slurm = slurmtest.New(slurmtest.Config{})
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	s.slurmrestdURL = "http://" + listener.Addr().String()
	server := &http.Server{Handler: s.slurm.Handler(), ReadHeaderTimeout: time.Minute}
	s.closers = append(s.closers, server.Close)
	go func() { _ = server.Serve(listener) }()
	go s.slurm.Run(ctx)
	return nil
}

func (s *operatorEnv) startKube(ctx context.Context) (err error) {
	if s.dir, err = os.MkdirTemp("", "bench"); err != nil {
		return err
	}
	s.closers = append(s.closers, func() error { return os.RemoveAll(s.dir) })
	policy := filepath.Join(s.dir, "audit.yaml")
	s.audit = auditLog{path: filepath.Join(s.dir, "audit.log"), agent: "slurm-operator/"}
	if err := os.WriteFile(policy, []byte(auditPolicy), 0o600); err != nil {
		return err
	}
	rate := []string{"--kube-api-qps=" + benchQPS, "--kube-api-burst=" + benchBurst}
	s.control, err = loop.NewControlPlane(ctx, realkube.Config{
		Name:                  "bench",
		APIServerArgs:         []string{"--audit-policy-file=" + policy, "--audit-log-path=" + s.audit.path},
		ControllerManagerArgs: append([]string{"--controllers=*,-node-lifecycle-controller"}, rate...),
		SchedulerArgs:         rate,
	})
	if err != nil {
		return err
	}
	s.closers = append(s.closers, s.control.Close)
	return nil
}

func (s *operatorEnv) startPods(ctx context.Context) error {
	config, err := s.control.Kube.RESTConfig()
	if err != nil {
		return err
	}
	if s.objects, err = dynamic.NewForConfig(config); err != nil {
		return err
	}
	config.ContentType = "application/vnd.kubernetes.protobuf"
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	pods, wait, err := startKubelets(ctx, client, s.register, s.unregister)
	if err != nil {
		cancel()
		return err
	}
	s.kubelets = pods
	s.closers = append(s.closers, func() error { cancel(); wait(); return nil })
	return nil
}

// register does what a worker's slurmd does when it starts.
func (s *operatorEnv) register(pod *corev1.Pod) {
	if name := slurmNodeOf(pod); name != "" {
		s.slurm.StartSlurmd(slurmtest.NodeConf{Names: name, CPUs: 4, MemoryMiB: 8192})
	}
}

// unregister is the end of a worker's slurmd.
func (s *operatorEnv) unregister(pod *corev1.Pod) {
	if name := slurmNodeOf(pod); name != "" {
		s.slurm.StopSlurmd(name)
	}
}

// slurmNodeOf returns the name by which a pod's slurmd registers, empty for other pods.
func slurmNodeOf(pod *corev1.Pod) string {
	if pod.Labels["app.kubernetes.io/name"] != "slurmd" {
		return ""
	}
	return pod.Spec.Hostname
}

// startOperator starts the operator with its default flags, except for its rate.
func (s *operatorEnv) startOperator(ctx context.Context) error {
	root, err := repositoryPath(".")
	if err != nil {
		return err
	}
	program := filepath.Join(s.dir, "slurm-operator")
	build := exec.CommandContext(ctx, "go", "build", "-o", program, "./cmd/slurm-operator")
	build.Dir = root
	if out, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("building the operator: %w\n%s", err, out)
	}
	kubeconfig, err := s.operatorKubeconfig(ctx)
	if err != nil {
		return err
	}
	address, err := freeAddress(ctx)
	if err != nil {
		return err
	}
	s.operatorMetrics = "http://" + address + "/metrics"
	s.operator = exec.Command(program, "--kube.config="+kubeconfig, "--kube.qps="+benchQPS,
		"--kube.burst="+benchBurst, //nolint:noctx,gosec // it ends at close
		"--controller.agent-image=none", "--no-leader-election", "--health.listen-address=0", "--no-webhook", "--no-metrics.secure",
		"--metrics.listen-address="+address)
	s.operator.Stdout, s.operator.Stderr = s.operatorOutput, s.operatorOutput
	if err := s.operator.Start(); err != nil {
		return err
	}
	s.closers = append(s.closers, func() error {
		_ = s.operator.Process.Signal(os.Interrupt)
		return s.operator.Wait()
	})
	return nil
}

// operatorKubeconfig returns the kubeconfig of a service account, as in a pod, because the API server gives
// administrators a higher priority. The benchmark does not measure authorization.
func (s *operatorEnv) operatorKubeconfig(ctx context.Context) (string, error) {
	const account = "bench:slurm-operator"
	for _, args := range [][]string{
		{"create", "serviceaccount", "slurm-operator", "--namespace", "bench"},
		{"create", "clusterrolebinding", "slurm-operator", "--clusterrole=cluster-admin",
			"--serviceaccount=" + account},
	} {
		if _, err := s.control.Kube.Kubectl(ctx, args...); err != nil {
			return "", err
		}
	}
	path := filepath.Join(s.dir, "operator.kubeconfig")
	return path, s.control.Kube.WriteKubeconfig(ctx, "bench", "slurm-operator", path)
}
