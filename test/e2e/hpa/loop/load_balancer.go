package loop

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

// LoadBalancer is one address in front of several servers. Like the kubelet and kube-proxy for pods, it probes /readyz
// and sends new connections to ready servers.
type LoadBalancer struct {
	// Port is the loopback port on which it listens.
	Port int

	listener    net.Listener
	backends    []*backend
	nextBackend atomic.Uint64
	cancel      context.CancelFunc
	wg          sync.WaitGroup
}

type backend struct {
	address string
	ready   atomic.Bool
}

// probeInterval is the time between two readiness probes of a server.
const probeInterval = 200 * time.Millisecond

// NewLoadBalancer starts a load balancer in front of servers on these loopback ports.
func NewLoadBalancer(ports ...int) (*LoadBalancer, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // Close ends it
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(context.Background())
	f := &LoadBalancer{Port: listener.Addr().(*net.TCPAddr).Port, listener: listener, cancel: cancel}
	for _, port := range ports {
		b := &backend{address: fmt.Sprintf("127.0.0.1:%d", port)}
		f.backends = append(f.backends, b)
		f.wg.Go(func() { b.probe(ctx) })
	}
	f.wg.Go(func() { f.acceptConnections(ctx) })
	return f, nil
}

// Close ends the load balancer and its connections.
func (f *LoadBalancer) Close() error {
	f.cancel()
	err := f.listener.Close()
	f.wg.Wait()
	return err
}

// Ready returns the number of ready servers.
func (f *LoadBalancer) Ready() int {
	n := 0
	for _, b := range f.backends {
		if b.ready.Load() {
			n++
		}
	}
	return n
}

func (b *backend) probe(ctx context.Context) {
	client := &http.Client{Timeout: time.Second, Transport: &http.Transport{
		DisableKeepAlives: true,
		TLSClientConfig:   &tls.Config{InsecureSkipVerify: true}, //nolint:gosec // as the kubelet does
	}}
	tick := time.NewTicker(probeInterval)
	defer tick.Stop()
	for {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://"+b.address+"/readyz", nil)
		if err != nil {
			return
		}
		resp, err := client.Do(req)
		if err == nil {
			resp.Body.Close()
		}
		b.ready.Store(err == nil && resp.StatusCode == http.StatusOK)
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

func (f *LoadBalancer) acceptConnections(ctx context.Context) {
	for {
		conn, err := f.listener.Accept()
		if err != nil {
			return
		}
		f.wg.Go(func() { f.forward(ctx, conn) })
	}
}

// forward connects to the next ready server and copies data in both directions. Without a ready
// server it closes the connection.
func (f *LoadBalancer) forward(ctx context.Context, conn net.Conn) {
	defer conn.Close()
	var server net.Conn
	for range f.backends {
		b := f.backends[f.nextBackend.Add(1)%uint64(len(f.backends))]
		if !b.ready.Load() {
			continue
		}
		var err error
		if server, err = (&net.Dialer{Timeout: time.Second}).DialContext(ctx, "tcp", b.address); err == nil {
			break
		}
		server = nil
	}
	if server == nil {
		return
	}
	defer server.Close()
	stop := context.AfterFunc(ctx, func() { conn.Close(); server.Close() })
	defer stop()
	var both sync.WaitGroup
	both.Go(func() { _, _ = io.Copy(server, conn); server.Close() })
	both.Go(func() { _, _ = io.Copy(conn, server); conn.Close() })
	both.Wait()
}
