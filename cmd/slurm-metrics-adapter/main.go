// Command slurm-metrics-adapter serves custom.metrics.k8s.io from Slurm's queue, so that a stock
// HorizontalPodAutoscaler can scale NodeSets. It also serves the metrics of the same snapshots to
// Prometheus.
package main

import (
	"context"
	"net/http"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"github.com/prometheus/common/version"
	"github.com/prometheus/exporter-toolkit/web"
	"golang.org/x/sync/errgroup"

	"github.com/slurmtide/slurmtide/cmd/internal/answer"
	"github.com/slurmtide/slurmtide/cmd/internal/flags"
	"github.com/slurmtide/slurmtide/cmd/internal/lines"
	"github.com/slurmtide/slurmtide/cmd/internal/telemetry"
	"github.com/slurmtide/slurmtide/metricsapi"
	"github.com/slurmtide/slurmtide/metricsapi/clusters"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(ctx, os.Args[1:])
	stop()
	os.Exit(code)
}

// run returns the exit status: 0 after a signal, 1 when it cannot start or serve, 2 for invalid
// flags.
func run(ctx context.Context, args []string) int {
	if len(args) > 0 && args[0] == answer.Name {
		return answer.Run(ctx, "slurm-metrics-adapter", args[1:], os.Stdout)
	}
	o, err := parseFlags(args)
	if err != nil {
		return flags.ReportError(os.Stderr, "slurm-metrics-adapter", err)
	}
	log := o.log.Logger(os.Stderr)
	redirectLibraryLogs(log)
	log.Info("starting", "version", version.Info(), "build", version.BuildContext())
	if err := serve(ctx, o, log); err != nil {
		log.Error("stopping", "err", err)
		return 1
	}
	log.Info("stopped")
	return 0
}

// serve watches, polls and serves until ctx ends. Polling continues until the last response is
// sent.
func serve(ctx context.Context, o *options, log lines.Logger) error {
	if err := o.slurm.checkConnection(); err != nil {
		return err
	}
	kube, err := o.connectKube()
	if err != nil {
		return err
	}
	work, end := context.WithCancel(context.WithoutCancel(ctx))
	var wg sync.WaitGroup
	defer wg.Wait()
	defer end()

	expo := newExposition(o, log)
	registry := clusters.New(o.registryConfig(kube, expo, log))
	expo.showNodeSets(registry, o.maxAge)
	expo.showClusters(registry)
	watch := clusters.NewWatch(kube.dynamic, newWatchErrorLogger(log))
	wg.Go(func() { watch.Run(work) })
	wg.Go(func() { registry.Run(work, watch.Changed(), watch.Objects) })

	keeper, err := o.newCertificateKeeper(ctx, kube, log)
	if err != nil {
		return err
	}
	if keeper != nil {
		wg.Go(func() { keeper.Run(work) })
	}
	provider := metricsapi.New(registry, metricsapi.Config{MaxAge: o.maxAge})
	shown := o.view.newView(registry, o.maxAge, expo, o.newPeers(kube.config, keeper), log)
	if shown != nil {
		wg.Go(func() { shown.Run(work) })
	}
	server, err := o.newServer(provider, shown, keeper, registry.Settled)
	if err != nil {
		return err
	}
	log.Info("serving metrics to Kubernetes", "address", server.SecureServingInfo.Listener.Addr())
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return server.PrepareRun().RunWithContext(ctx) })
	if shown != nil {
		// Watches would keep the server for a minute. When they end, their clients no longer find it.
		group.Go(func() error {
			<-ctx.Done()
			time.Sleep(o.shutdownDelay)
			shown.EndWatches()
			return nil
		})
	}
	group.Go(func() error { return o.serveMetrics(ctx, expo.routes(registry.Settled), log) })
	return group.Wait()
}

// serveMetrics serves metrics to Prometheus until ctx ends.
func (o *options) serveMetrics(ctx context.Context, handler http.Handler, log lines.Logger) error {
	return telemetry.Serve(ctx, handler, &web.FlagConfig{WebListenAddresses: &o.metricsAddresses,
		WebSystemdSocket: new(bool), WebConfigFile: &o.metricsConfig}, log)
}
