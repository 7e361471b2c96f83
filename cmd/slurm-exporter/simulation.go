package main

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/slurmtide/slurmtide/slurmclient/slurmtest"
)

// startSimulation starts a simulated cluster on the loopback interface and sets the URL of the
// options. The cluster runs until ctx ends.
func startSimulation(ctx context.Context, o *options, wg *sync.WaitGroup) error {
	cluster := slurmtest.NewDemo(time.Now)
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return fmt.Errorf("starting the simulated cluster: %w", err)
	}
	server := &http.Server{Handler: cluster.Handler(), ReadHeaderTimeout: 10 * time.Second}
	wg.Go(func() { cluster.Run(ctx) })
	wg.Go(func() { _ = server.Serve(listener) })
	wg.Go(func() {
		<-ctx.Done()
		_ = server.Close()
	})
	o.server.URL = "http://" + listener.Addr().String()
	return nil
}
