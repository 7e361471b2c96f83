// Command slurm-exporter serves the metrics of a Slurm cluster to Prometheus. It polls slurmrestd;
// scrapes make no requests to Slurm.
package main

import (
	"context"
	"net/http"
	"os"
	"os/signal"
	"runtime/debug"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/prometheus/common/version"

	"github.com/slurmtide/slurmtide/cmd/internal/answer"
	"github.com/slurmtide/slurmtide/cmd/internal/flags"
	"github.com/slurmtide/slurmtide/cmd/internal/lines"
	"github.com/slurmtide/slurmtide/cmd/internal/polls"
	"github.com/slurmtide/slurmtide/cmd/internal/telemetry"
	"github.com/slurmtide/slurmtide/exporter"
	"github.com/slurmtide/slurmtide/exporter/exposition"
	"github.com/slurmtide/slurmtide/slurmclient"
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
		return answer.Run(ctx, "slurm-exporter", args[1:], os.Stdout)
	}
	o, err := parseFlags(args)
	if err != nil {
		return flags.ReportError(os.Stderr, "slurm-exporter", err)
	}
	if os.Getenv("GOGC") == "" {
		// Each poll of a large cluster leaves much garbage at once. Collecting more often saves memory
		// for little CPU time.
		debug.SetGCPercent(35)
	}
	log := o.log.Logger(os.Stderr)
	log.Info("starting", "version", version.Info(), "build", version.BuildContext())
	if err := serve(ctx, o, log); err != nil {
		log.Error("stopping", "err", err)
		return 1
	}
	log.Info("stopped")
	return 0
}

// serve polls and serves until ctx ends, then finishes the running scrapes.
func serve(ctx context.Context, o *options, log lines.Logger) error {
	ctx, cancel := context.WithCancel(ctx)
	var wg sync.WaitGroup
	defer wg.Wait()
	defer cancel()
	if o.simulate {
		if err := startSimulation(ctx, o, &wg); err != nil {
			return err
		}
	}
	requests := exporter.NewClientMetrics()
	token, err := o.token()
	if err != nil {
		return err
	}
	client, err := o.server.NewClient(o.polling, token, requests)
	if err != nil {
		return err
	}
	cfg := o.exporterConfig(requests, token)
	stacks := polls.NewPanicLog(log)
	cfg.OnPanic = func(err error) { stacks.Log(err) }
	resources, err := cfg.Resources()
	if err != nil {
		return err
	}
	cache := slurmclient.NewCache(client, o.cacheConfig(resources, newProgress(log, time.Now).update))
	exp, err := exporter.New(cache, cfg)
	if err != nil {
		return err
	}
	handler, err := newRoutes(exp, o)
	if err != nil {
		return err
	}
	wg.Go(func() { cache.Run(ctx) })
	wg.Go(func() { exp.Run(ctx) })
	wg.Go(func() { polls.Watch(ctx, cache, log) })
	log.Info("polling slurmrestd", "url", o.server.URL, "period", o.polling.Period)
	if o.simulate {
		log.Info("serving a simulated cluster", "page", "http://"+localAddress((*o.web.WebListenAddresses)[0])+"/")
	}
	return telemetry.Serve(ctx, handler, o.web, log)
}

// localAddress turns a listen address into an address to connect to.
func localAddress(address string) string {
	if strings.HasPrefix(address, ":") {
		return "localhost" + address
	}
	return address
}

func newRoutes(exp *exporter.Exporter, o *options) (http.Handler, error) {
	mux := http.NewServeMux()
	path := "/" + strings.Trim(o.metrics.Path, "/")
	mux.Handle("GET "+path, exp.Metrics(exposition.Native))
	for _, set := range o.metrics.Compat {
		mux.Handle("GET "+path+"/"+string(set), exp.Metrics(set))
	}
	mux.Handle("GET /-/healthy", exporter.Healthy())
	mux.Handle("GET /-/ready", exp.ReadyHandler())
	if path == "/" {
		return mux, nil
	}
	landing, err := exp.Landing(path)
	if err != nil {
		return nil, err
	}
	mux.Handle("GET /{$}", landing)
	return mux, nil
}
