package telemetry

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/prometheus/exporter-toolkit/web"

	"github.com/slurmtide/slurmtide/cmd/internal/lines"
)

// scrapeGrace is how long running scrapes may take after the end.
const scrapeGrace = 5 * time.Second

// Serve serves until ctx ends, then finishes the running scrapes.
func Serve(ctx context.Context, handler http.Handler, config *web.FlagConfig, log lines.Logger) error {
	server := &http.Server{Handler: handler, ReadHeaderTimeout: 10 * time.Second}
	done := make(chan error, 1)
	go func() { done <- web.ListenAndServe(server, config, log.Slog()) }()
	select {
	case err := <-done:
		return fmt.Errorf("serving metrics to Prometheus: %w", err)
	case <-ctx.Done():
	}
	log.Info("finishing scrapes")
	grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), scrapeGrace)
	defer cancel()
	err := server.Shutdown(grace)
	if served := <-done; !errors.Is(served, http.ErrServerClosed) {
		err = errors.Join(err, served)
	}
	return err
}
