package loop

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/slurmtide/slurmtide/test/harness/process"
)

const (
	// MaxAge is the maximum age of the adapter's data when it polls every second.
	MaxAge = 5 * time.Second
	// MaxRecoveryTime is the longest time until the adapter reads a recovered Slurm: the pause
	// after failed polls plus the time of a poll that still fails.
	MaxRecoveryTime = 35 * time.Second

	metricsNamespace = "slurm-metrics"
	metricsName      = "slurm-metrics"
)

// Adapter is one replica of slurm-metrics-adapter.
type Adapter struct {
	*process.Process
	// Port is the loopback port on which it serves the metrics API.
	Port int
}

// StartAdapters installs the adapter's chart, replaces its pods with processes that have the
// chart's rights, and starts the given number of replicas.
func (c *ControlPlane) StartAdapters(ctx context.Context, replicas int, args ...string) error {
	var ports []int
	for range replicas {
		port, err := process.FindFreePort()
		if err != nil {
			return err
		}
		ports = append(ports, port)
	}
	var err error
	if c.LoadBalancer, err = NewLoadBalancer(ports...); err != nil {
		return err
	}
	c.onClose(c.LoadBalancer.Close)
	if err := c.installMetrics(ctx); err != nil {
		return err
	}
	for _, port := range ports {
		if _, err := c.StartAdapter(ctx, port, args...); err != nil {
			return err
		}
	}
	return nil
}

// installMetrics installs the chart and points its Service at the load balancer.
func (c *ControlPlane) installMetrics(ctx context.Context) error {
	chart, err := chartDir("slurm-metrics")
	if err != nil {
		return err
	}
	if _, err := c.Kube.Helm(ctx, "install", metricsName, chart, "--namespace", metricsNamespace, "--create-namespace",
		"--set", fmt.Sprintf("service.port=%d,rbac.secretNamespaces={*}", c.LoadBalancer.Port)); err != nil {
		return err
	}
	if _, err := c.Kube.Kubectl(ctx, "delete", "service", metricsName, "--namespace", metricsNamespace); err != nil {
		return err
	}
	return c.Kube.ExposeLocal(ctx, metricsNamespace, metricsName, c.LoadBalancer.Port)
}

// StartAdapter starts another replica on one of the load balancer's ports.
func (c *ControlPlane) StartAdapter(ctx context.Context, port int, args ...string) (*Adapter, error) {
	kubeconfig, err := c.writeKubeconfig(ctx, metricsNamespace, metricsName)
	if err != nil {
		return nil, err
	}
	fromChart, err := c.certificateFlags(ctx)
	if err != nil {
		return nil, err
	}
	p, err := c.startProgram(ctx, "slurm-metrics-adapter", slices.Concat([]string{
		"--kube.config=" + kubeconfig, "--bind-address=127.0.0.1", fmt.Sprintf("--secure-port=%d", port),
		"--certificate.namespace=" + metricsNamespace,
		"--metrics.listen-address=127.0.0.1:0",
	}, fromChart, args)...)
	if err != nil {
		return nil, err
	}
	a := &Adapter{p, port}
	c.Adapters = append(c.Adapters, a)
	return a, nil
}

// certificateFlags returns the certificate flags of the chart's pods.
func (c *ControlPlane) certificateFlags(ctx context.Context) ([]string, error) {
	out, err := c.Kube.Kubectl(ctx, "get", "deployment", metricsName, "--namespace", metricsNamespace,
		"--output=jsonpath={range .spec.template.spec.containers[0].args[*]}{@}{\"\\n\"}{end}")
	if err != nil {
		return nil, err
	}
	var flags []string
	for arg := range strings.FieldsSeq(out) {
		if strings.HasPrefix(arg, "--certificate.secret=") || strings.HasPrefix(arg, "--certificate.service=") {
			flags = append(flags, arg)
		}
	}
	if len(flags) != 2 {
		return nil, fmt.Errorf("the chart's pods have no certificate flags: %s", out)
	}
	return flags, nil
}

// AwaitReady waits until the given number of replicas is ready.
func (c *ControlPlane) AwaitReady(ctx context.Context, want int) error {
	for range 300 {
		if c.LoadBalancer.Ready() >= want {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(100 * time.Millisecond):
		}
	}
	return fmt.Errorf("%d adapters are ready, want %d", c.LoadBalancer.Ready(), want)
}
