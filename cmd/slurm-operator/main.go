// Command slurm-operator runs Slurm on Kubernetes: it manages the workers of NodeSets without
// harming their jobs, wakes NodeSets that their HorizontalPodAutoscaler leaves at zero, and
// reconciles Tokens and Clusters.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/go-logr/logr"
	"github.com/prometheus/common/version"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/slurmtide/slurmtide/cmd/internal/answer"
	"github.com/slurmtide/slurmtide/cmd/internal/flags"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(ctx, os.Args[1:])
	stop()
	os.Exit(code)
}

// run returns the exit status: 0 after a signal, 1 when it cannot start or has lost its leadership,
// 2 for invalid flags.
func run(ctx context.Context, args []string) int {
	for _, command := range releaseCommands() {
		if len(args) > 0 && args[0] == command.name {
			return command.run(ctx, args[1:], os.Stdout)
		}
	}
	if len(args) > 0 && args[0] == answer.Name {
		return answer.Run(ctx, "slurm-operator", args[1:], os.Stdout)
	}
	o, err := parseFlags(args)
	if err != nil {
		return flags.ReportError(os.Stderr, "slurm-operator", err)
	}
	log := o.logger(os.Stderr)
	ctrl.SetLogger(log) // also for the libraries
	klog.SetLogger(log)
	log.Info("starting", "version", version.Info(), "build", version.BuildContext())
	if err := serve(ctx, o, log); err != nil {
		log.Error(err, "stopping")
		return 1
	}
	log.Info("stopped")
	return 0
}

// serve runs the reconcilers until ctx ends and waits for the running reconciliations.
func serve(ctx context.Context, o *options, log logr.Logger) error {
	cfg, err := o.kube.RESTConfig("slurm-operator")
	if err != nil {
		return err
	}
	mgr, err := newManager(cfg, o, log)
	if err != nil {
		return err
	}
	if err := addReconcilers(ctx, mgr, o); err != nil {
		return err
	}
	if err := mgr.Start(ctx); err != nil {
		return fmt.Errorf("running: %w", err)
	}
	return nil
}
