package loop

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"k8s.io/client-go/dynamic"

	"github.com/slurmtide/slurmtide/test/harness/process"
	"github.com/slurmtide/slurmtide/test/harness/realkube"
)

// ControlPlane is a Kubernetes control plane with our custom resources and programs. The programs
// run as processes with the rights of the service accounts that the charts create.
type ControlPlane struct {
	Kube *realkube.Cluster
	// Adapters are the adapter's replicas. LoadBalancer is the address at which the API server
	// reaches them.
	Adapters     []*Adapter
	LoadBalancer *LoadBalancer

	operator *process.Process
	// programs contains the paths of our programs that were built, by name.
	programs map[string]string

	dir     string
	objects dynamic.Interface
	closers []func() error // stop the started programs, in order of their start
}

// NewControlPlane starts a control plane with the CRDs of the chart.
func NewControlPlane(ctx context.Context, config realkube.Config) (*ControlPlane, error) {
	c := &ControlPlane{programs: map[string]string{}}
	for _, step := range []func(context.Context) error{
		c.createDir, func(ctx context.Context) error { return c.startKube(ctx, config) }, c.installCRDs,
	} {
		if err := step(ctx); err != nil {
			return nil, errors.Join(err, c.Close())
		}
	}
	return c, nil
}

// Close ends everything in reverse order.
func (c *ControlPlane) Close() error {
	var errs []error
	for i := len(c.closers) - 1; i >= 0; i-- {
		errs = append(errs, c.closers[i]())
	}
	c.closers = nil
	return errors.Join(errs...)
}

// onClose registers a function for Close.
func (c *ControlPlane) onClose(end func() error) { c.closers = append(c.closers, end) }

func (c *ControlPlane) createDir(context.Context) (err error) {
	c.dir, err = os.MkdirTemp("", "loop")
	if err != nil {
		return fmt.Errorf("creating the loop's folder: %w", err)
	}
	c.onClose(func() error { return os.RemoveAll(c.dir) })
	return nil
}

func (c *ControlPlane) startKube(ctx context.Context, config realkube.Config) (err error) {
	if c.Kube, err = realkube.Start(ctx, config); err != nil {
		return err
	}
	c.onClose(c.Kube.Close)
	rest, err := c.Kube.RESTConfig()
	if err != nil {
		return err
	}
	c.objects, err = dynamic.NewForConfig(rest)
	return err
}

func (c *ControlPlane) installCRDs(ctx context.Context) error {
	chart, err := chartDir("slurm-operator-crds")
	if err != nil {
		return err
	}
	if _, err := c.Kube.Helm(ctx, "install", "slurm-operator-crds", chart); err != nil {
		return err
	}
	return c.Kube.AwaitEstablished(ctx, "nodesets.slinky.slurm.net", "clusters.slinky.slurm.net",
		"controllers.slinky.slurm.net",
		"restapis.slinky.slurm.net")
}

// writeKubeconfig writes a kubeconfig with the rights of a service account and returns its path.
func (c *ControlPlane) writeKubeconfig(ctx context.Context, namespace, account string) (string, error) {
	path := filepath.Join(c.dir, account+".kubeconfig")
	return path, c.Kube.WriteKubeconfig(ctx, namespace, account, path)
}

// chartDir returns the folder of one of our charts.
func chartDir(name string) (string, error) {
	dir, err := repositoryRoot()
	return filepath.Join(dir, "charts", name), err
}

// repositoryRoot returns the folder of the repository.
func repositoryRoot() (string, error) {
	dir, err := os.Getwd()
	for err == nil {
		if _, statErr := os.Stat(filepath.Join(dir, "charts", "slurm-operator-crds")); statErr == nil {
			return dir, nil
		}
		if dir == filepath.Dir(dir) {
			return "", errors.New("the repository's folder is not above the working directory")
		}
		dir = filepath.Dir(dir)
	}
	return "", err
}

// startProgram starts one of our programs. Close ends it.
func (c *ControlPlane) startProgram(ctx context.Context, name string, args ...string) (_ *process.Process, err error) {
	if c.programs[name] == "" {
		if c.programs[name], err = process.Build(ctx, c.dir, name); err != nil {
			return nil, err
		}
	}
	p, err := process.Launch(c.programs[name], args...)
	if err != nil {
		return nil, err
	}
	c.onClose(p.Stop)
	return p, nil
}
