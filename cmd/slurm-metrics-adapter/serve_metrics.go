package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/prometheus/exporter-toolkit/web"
)

// serveMetrics serves until ctx ends, then finishes the running scrapes.
func serveMetrics(ctx context.Context, o *options, handler http.Handler, log logger) error {
	systemd := false
	config := web.FlagConfig{WebListenAddresses: &o.metricsAddresses, WebSystemdSocket: &systemd,
		WebConfigFile: &o.metricsConfig}
	server := &http.Server{Handler: handler, ReadHeaderTimeout: 10 * time.Second}
	done := make(chan error, 1)
	go func() { done <- web.ListenAndServe(server, &config, log.Slog()) }()
	select {
	case err := <-done:
		return fmt.Errorf("serving metrics to Prometheus: %w", err)
	case <-ctx.Done():
	}
	grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	err := server.Shutdown(grace)
	if served := <-done; !errors.Is(served, http.ErrServerClosed) {
		err = errors.Join(err, served)
	}
	return err
}
