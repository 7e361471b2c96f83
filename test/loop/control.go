package loop

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"k8s.io/client-go/dynamic"

	"github.com/slurmtide/slurmtide/test/process"
	"github.com/slurmtide/slurmtide/test/realkube"
)

// ControlPlane is a Kubernetes control plane with our custom resources and programs. The programs
// run as processes with the rights of the service accounts that the charts create.
type Control struct {
	Kube *realkube.Cluster
	// Adapters are the adapter's replicas. LoadBalancer is the address at which the API server
	// reaches them.
	Adapters []*Adapter
	Front    *Front

	operator *process.Process
	// programs contains the paths of our programs that were built, by name.
	programs map[string]string

	dir     string
	objects dynamic.Interface
	ended   []func() error // end what was started, in order of the starts
}

// NewControlPlane starts a control plane with the CRDs of the chart.
func NewControl(ctx context.Context, config realkube.Config) (*Control, error) {
	c := &Control{programs: map[string]string{}}
	for _, step := range []func(context.Context) error{
		c.makeDir, func(ctx context.Context) error { return c.startKube(ctx, config) }, c.installCRDs,
	} {
		if err := step(ctx); err != nil {
			return nil, errors.Join(err, c.Close())
		}
	}
	return c, nil
}

// Close ends everything in reverse order.
func (c *Control) Close() error {
	var errs []error
	for i := len(c.ended) - 1; i >= 0; i-- {
		errs = append(errs, c.ended[i]())
	}
	c.ended = nil
	return errors.Join(errs...)
}

// onClose registers a function for Close.
func (c *Control) atClose(end func() error) { c.ended = append(c.ended, end) }

func (c *Control) makeDir(context.Context) (err error) {
	c.dir, err = os.MkdirTemp("", "loop")
	if err != nil {
		return fmt.Errorf("creating the loop's folder: %w", err)
	}
	c.atClose(func() error { return os.RemoveAll(c.dir) })
	return nil
}

func (c *Control) startKube(ctx context.Context, config realkube.Config) (err error) {
	if c.Kube, err = realkube.Start(ctx, config); err != nil {
		return err
	}
	c.atClose(c.Kube.Close)
	rest, err := c.Kube.RESTConfig()
	if err != nil {
		return err
	}
	c.objects, err = dynamic.NewForConfig(rest)
	return err
}

func (c *Control) installCRDs(ctx context.Context) error {
	chart, err := chartDir("slurm-operator-crds")
	if err != nil {
		return err
	}
	if _, err := c.Kube.Helm(ctx, "install", "slurm-operator-crds", chart); err != nil {
		return err
	}
	return c.Kube.Established(ctx, "nodesets.slinky.slurm.net", "clusters.slinky.slurm.net", "controllers.slinky.slurm.net",
		"restapis.slinky.slurm.net")
}

// writeKubeconfig writes a kubeconfig with the rights of a service account and returns its path.
func (c *Control) kubeconfigOf(ctx context.Context, namespace, account string) (string, error) {
	path := filepath.Join(c.dir, account+".kubeconfig")
	return path, c.Kube.KubeconfigOf(ctx, namespace, account, path)
}

// chartDir returns the folder of one of our charts.
func chartDir(name string) (string, error) {
	dir, err := root()
	return filepath.Join(dir, "charts", name), err
}

// repositoryRoot returns the folder of the repository.
func root() (string, error) {
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
func (c *Control) launch(ctx context.Context, name string, args ...string) (_ *process.Process, err error) {
	if c.programs[name] == "" {
		if c.programs[name], err = process.Build(ctx, c.dir, name); err != nil {
			return nil, err
		}
	}
	p, err := process.Launch(c.programs[name], args...)
	if err != nil {
		return nil, err
	}
	c.atClose(p.Stop)
	return p, nil
}
