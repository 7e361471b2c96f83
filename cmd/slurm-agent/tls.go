package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"sync"
	"time"

	"github.com/prometheus/common/version"

	"github.com/slurmtide/slurmtide/operator/tlsproxy"
)

// serveTLS terminates TLS in front of slurmrestd until the context ends and its connections have ended.
func (o *options) serveTLS(ctx context.Context) error {
	log := o.log.Logger(os.Stderr).Slog()
	log.Info("starting", "version", version.Info(), "build", version.BuildContext())
	proxy := &tlsproxy.Proxy{Socket: o.socket, Certificate: tlsproxy.NewCertificate(o.wantedDir),
		Limits: tlsproxy.DefaultLimits(), Log: log}
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", o.tlsAddress)
	if err != nil {
		return fmt.Errorf("listening: %w", err)
	}
	health, err := new(net.ListenConfig).Listen(ctx, "tcp", o.address)
	if err != nil {
		return errors.Join(fmt.Errorf("listening: %w", err), listener.Close())
	}
	server := &http.Server{Handler: proxy.Handler(), ReadHeaderTimeout: 5 * time.Second}
	served := make(chan error, 1)
	go func() { served <- server.Serve(health) }()
	var watch sync.WaitGroup
	watch.Go(func() { proxy.Certificate.Watch(ctx, o.interval, log) })
	err = errors.Join(proxy.Serve(ctx, listener), server.Close())
	watch.Wait()
	if stopped := <-served; !errors.Is(stopped, http.ErrServerClosed) {
		err = errors.Join(err, stopped)
	}
	log.Info("stopped")
	return err
}
