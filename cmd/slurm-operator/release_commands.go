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
	"github.com/slurmtide/slurmtide/operator/helmrelease"
)

// releaseCommand is a command for a Helm release. The program runs it instead of the operator if its first argument is the name.
type releaseCommand struct {
	name, description string
	do                func(*helmrelease.Release, context.Context) error
}

func releaseCommands() []releaseCommand {
	return []releaseCommand{
		{"delete-clusters", `Deletes the NodeSets and Controllers of a Helm release that contains this operator too, and waits until they
are gone. NodeSets go first, when their jobs have ended. It is a hook of the chart slurm-stack: Helm would remove the
operator with them, and they would remain.

  slurm-operator delete-clusters --release=slurm --release-namespace=slurm`, (*helmrelease.Release).DeleteClusters},
		{"await-ready", `Waits until all custom resources of a Helm release are Ready, and says what they wait for. It is the test of the
chart slurm-stack.

  slurm-operator await-ready --release=slurm --release-namespace=slurm --timeout=5m`, (*helmrelease.Release).AwaitReady},
	}
}

// releaseOptions are the flags of these commands.
type releaseOptions struct {
	kube       kube.Flags
	namespaces []string
	// release and namespace identify the Helm release.
	release, namespace string
	revision           int
	// job is the Job of the hook, in the namespace of the operator.
	job, operatorNamespace string
	timeout                time.Duration
}

// newReleaseProgram returns the flags of a command and the options that they set.
func newReleaseProgram(c releaseCommand) (*flags.Program, *releaseOptions) {
	o := &releaseOptions{}
	p := flags.New("slurm-operator "+c.name, c.description)
	set := p.Group("Kubernetes")
	o.kube.AddFlags(set)
	flags.ListVar(set, &o.namespaces, "namespaces", "namespace",
		"Namespaces that the operator manages, separated by commas. Default: all.")
	set = p.Group("Helm")
	set.StringVar(&o.release, "release", "", "Name of the release. Required.")
	set.StringVar(&o.namespace, "release-namespace", "", "Namespace of the release. Required.")
	set.IntVar(&o.revision, "release-revision", 0, "Revision of the release. The deletion ends if Helm has another one.")
	set.StringVar(&o.job, "job", "", "Job in which this runs. What was created after it is not deleted.")
	set.StringVar(&o.operatorNamespace, "operator-namespace", "", "Namespace of the operator, and of the Job.")
	set.DurationVar(&o.timeout, "timeout", 0, "How long to wait. Default: until it is done.")
	return p, o
}

// run runs the command and returns the exit status: 0 when it is done, 1 if it is not, 2 for invalid flags, 3 if it does not help to try
// again.
func (c releaseCommand) run(ctx context.Context, args []string, out io.Writer) int {
	program, o := newReleaseProgram(c)
	err := program.Parse(args, os.Stdout)
	if err == nil {
		err = o.check()
	}
	if err != nil {
		return flags.ReportError(os.Stderr, program.Name, err)
	}
	if o.timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, o.timeout, fmt.Errorf("not done within %v", o.timeout))
		defer cancel()
	}
	release, err := o.openRelease(out)
	if err == nil {
		err = c.do(release, ctx)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, program.Name+":", err)
		if refused := (*helmrelease.RefusedError)(nil); errors.As(err, &refused) {
			return 3
		}
		return 1
	}
	return 0
}

func (o *releaseOptions) check() error {
	switch {
	case o.release == "" || o.namespace == "":
		return errors.New("--release and --release-namespace are required")
	case o.timeout < 0:
		return errors.New("--timeout must not be negative")
	}
	return o.kube.Check()
}

// openRelease returns the release. Its progress is written to out.
func (o *releaseOptions) openRelease(out io.Writer) (*helmrelease.Release, error) {
	cfg, err := o.kube.RESTConfig("slurm-operator")
	if err != nil {
		return nil, err
	}
	store, err := client.New(cfg, client.Options{})
	if err != nil {
		return nil, fmt.Errorf("creating a Kubernetes client: %w", err)
	}
	return &helmrelease.Release{Client: store, Name: o.release, Namespace: o.namespace, Revision: o.revision,
		Job: o.job, OperatorNamespace: o.operatorNamespace, Namespaces: o.namespaces,
		Interval: time.Second, Logf: func(format string, args ...any) { _, _ = fmt.Fprintf(out, format+"\n", args...) }}, nil
}
