package nodeset

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"

	"k8s.io/client-go/rest"

	"github.com/slurmtide/slurmtide/test/harness/faultproxy"
	"github.com/slurmtide/slurmtide/test/harness/process"
)

// LocalOperator is the operator as a process of this machine, instead of the one in a pod. All of
// its requests go through proxies.
type LocalOperator struct {
	// Kube is the proxy in front of the API server, and Slurm the proxy in front of slurmrestd.
	Kube, Slurm *faultproxy.Proxy

	program, kubeconfig string
	mu                  sync.Mutex
	process             *exec.Cmd
	log                 bytes.Buffer
}

// RunOperatorLocally stops the operator's pod, starts the proxies, and applies a Cluster "gate"
// behind one of them. Start starts the operator.
func (s *Env) RunOperatorLocally(ctx context.Context) (*LocalOperator, error) {
	if _, err := s.kubectl(ctx, "scale", "deployment", "slurm-operator", "--replicas=0"); err != nil {
		return nil, err
	}
	if _, err := s.kubectl(ctx, "wait", "pods", "--selector=app.kubernetes.io/name=slurm-operator", "--for=delete",
		"--timeout=60s"); err != nil {
		return nil, err
	}
	program, err := process.Build(ctx, s.Kube.Dir, "slurm-operator")
	if err != nil {
		return nil, err
	}
	o := &LocalOperator{program: program, kubeconfig: filepath.Join(s.Kube.Dir, "gate.kubeconfig")}
	if err := o.startProxies(ctx, s); err != nil {
		return nil, errors.Join(err, o.Close())
	}
	config := fmt.Sprintf(`{apiVersion: v1, kind: Config, current-context: gate,
clusters: [{name: gate, cluster: {server: %q}}], users: [{name: gate, user: {}}],
contexts: [{name: gate, context: {cluster: gate, user: gate}}]}`, o.Kube.URL)
	if err := os.WriteFile(o.kubeconfig, []byte(config), 0o600); err != nil {
		return nil, errors.Join(err, o.Close())
	}
	return o, s.apply(ctx, "gate.yaml", clusterManifest{"gate", o.Slurm.URL})
}

func (o *LocalOperator) startProxies(ctx context.Context, s *Env) error {
	config, err := s.Kube.RESTConfig()
	if err != nil {
		return err
	}
	transport, err := rest.TransportFor(config)
	if err != nil {
		return err
	}
	if o.Kube, err = faultproxy.New("127.0.0.1", config.Host, transport); err != nil {
		return err
	}
	o.Slurm, err = s.proxySlurm(ctx)
	return err
}

// Start starts the operator.
func (o *LocalOperator) Start() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.process = exec.Command(o.program, //nolint:noctx // Kill stops it
		"--kube.config="+o.kubeconfig, "--reconcilers=nodeset", "--no-webhook",
		"--no-leader-election", "--health.listen-address=0", "--metrics.listen-address=0",
		"--slurm.user=root", "--slurm.poll-interval=300ms", "--slurm.timeout=5s")
	o.process.Stdout, o.process.Stderr = &o.log, &o.log
	o.process.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	return o.process.Start()
}

// Kill kills the operator with SIGKILL, and returns when it is gone.
func (o *LocalOperator) Kill() {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.process == nil {
		return
	}
	_ = o.process.Process.Kill()
	_ = o.process.Wait()
	o.process = nil
}

// Log returns the operator's output. Call it only after Kill.
func (o *LocalOperator) Log() string { return o.log.String() }

// Close stops the operator and the proxies.
func (o *LocalOperator) Close() error {
	o.Kill()
	var errs []error
	for _, g := range []*faultproxy.Proxy{o.Kube, o.Slurm} {
		if g != nil {
			errs = append(errs, g.Close())
		}
	}
	return errors.Join(errs...)
}
