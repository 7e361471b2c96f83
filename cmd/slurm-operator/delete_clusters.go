package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/slurmtide/slurmtide/cmd/internal/flags"
	"github.com/slurmtide/slurmtide/cmd/internal/kube"
	"github.com/slurmtide/slurmtide/operator/removal"
)

// deleteClustersCommand is the first argument with which the program deletes clusters in the place of running.
const deleteClustersCommand = "delete-clusters"

// removalOptions are the flags of delete-clusters.
type removalOptions struct {
	kube       kube.Flags
	namespaces []string
	// release and namespace are those of the Helm release.
	release, namespace string
}

const removalDescription = `Deletes the NodeSets and Controllers of a Helm release that contains this operator too, and waits until they
are gone. NodeSets go first, when their jobs have ended. It is a hook of the chart slurm-stack: Helm would remove the
operator with them, and they would remain.

  slurm-operator delete-clusters --release=slurm --release-namespace=slurm`

// newRemovalProgram returns the flags of delete-clusters and the options that they set.
func newRemovalProgram() (*flags.Program, *removalOptions) {
	o := &removalOptions{}
	p := flags.New("slurm-operator "+deleteClustersCommand, removalDescription)
	set := p.Group("Kubernetes")
	o.kube.AddFlags(set)
	flags.ListVar(set, &o.namespaces, "namespaces", "namespace",
		"Namespaces that the operator manages, separated by commas. Default: all.")
	set = p.Group("Helm")
	set.StringVar(&o.release, "release", "", "Name of the release. Required.")
	set.StringVar(&o.namespace, "release-namespace", "", "Namespace of the release. Required.")
	return p, o
}

// deleteClusters runs delete-clusters and returns the exit status: 0 when all is gone, 1 if it is not, 2 for invalid
// flags.
func deleteClusters(ctx context.Context, args []string, out io.Writer) int {
	program, o := newRemovalProgram()
	err := program.Parse(args, os.Stdout)
	if err == nil {
		err = o.check()
	}
	if err != nil {
		return flags.ReportError(os.Stderr, program.Name, err)
	}
	if err := o.run(ctx, out); err != nil {
		fmt.Fprintln(os.Stderr, program.Name+":", err)
		return 1
	}
	return 0
}

func (o *removalOptions) check() error {
	if o.release == "" || o.namespace == "" {
		return errors.New("--release and --release-namespace are required")
	}
	return o.kube.Check()
}

func (o *removalOptions) run(ctx context.Context, out io.Writer) error {
	cfg, err := o.kube.RESTConfig("slurm-operator")
	if err != nil {
		return err
	}
	scheme, err := newScheme()
	if err != nil {
		return err
	}
	store, err := client.New(cfg, client.Options{Scheme: scheme})
	if err != nil {
		return fmt.Errorf("creating a Kubernetes client: %w", err)
	}
	remover := removal.Remover{Client: store, Namespaces: o.namespaces, Release: o.release, ReleaseNamespace: o.namespace,
		Interval: time.Second, Logf: func(format string, args ...any) { fmt.Fprintf(out, format+"\n", args...) }}
	return remover.DeleteClusters(ctx)
}
