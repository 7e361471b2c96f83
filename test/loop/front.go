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

// Front is one address before several servers. It stands for what Kubernetes does
// where pods run: the kubelet asks /readyz, and kube-proxy sends new connections to
// the servers that are ready.
type Front struct {
	// Port is where it listens, on loopback.
	Port int

	listener net.Listener
	backends []*backend
	next     atomic.Uint64
	cancel   context.CancelFunc
	wg       sync.WaitGroup
}

type backend struct {
	address string
	ready   atomic.Bool
}

// probeEvery is how often a server is asked whether it is ready.
const probeEvery = 200 * time.Millisecond

// NewFront starts a Front before servers of these ports.
func NewFront(ports ...int) (*Front, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // Close ends it
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(context.Background())
	f := &Front{Port: listener.Addr().(*net.TCPAddr).Port, listener: listener, cancel: cancel}
	for _, port := range ports {
		b := &backend{address: fmt.Sprintf("127.0.0.1:%d", port)}
		f.backends = append(f.backends, b)
		f.wg.Go(func() { b.probe(ctx) })
	}
	f.wg.Go(func() { f.accept(ctx) })
	return f, nil
}

// Close ends it and its connections.
func (f *Front) Close() error {
	f.cancel()
	err := f.listener.Close()
	f.wg.Wait()
	return err
}

// Ready is how many of the servers are ready.
func (f *Front) Ready() int {
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
	tick := time.NewTicker(probeEvery)
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

func (f *Front) accept(ctx context.Context) {
	for {
		conn, err := f.listener.Accept()
		if err != nil {
			return
		}
		f.wg.Go(func() { f.forward(ctx, conn) })
	}
}

// forward connects to the next server that is ready.
func (f *Front) forward(ctx context.Context, conn net.Conn) {
	defer conn.Close()
	var to net.Conn
	for range f.backends {
		b := f.backends[f.next.Add(1)%uint64(len(f.backends))]
		if !b.ready.Load() {
			continue
		}
		var err error
		if to, err = (&net.Dialer{Timeout: time.Second}).DialContext(ctx, "tcp", b.address); err == nil {
			break
		}
		to = nil
	}
	if to == nil {
		return
	}
	defer to.Close()
	stop := context.AfterFunc(ctx, func() { conn.Close(); to.Close() })
	defer stop()
	var both sync.WaitGroup
	both.Go(func() { _, _ = io.Copy(to, conn); to.Close() })
	both.Go(func() { _, _ = io.Copy(conn, to); conn.Close() })
	both.Wait()
}
