// Package distance delays traffic as a distant network does: each byte arrives later, and bytes do not wait for each other. It replaces
// netem(8), which needs a kernel module. Connect delays packets between two network namespaces. Listen is a TCP proxy that delays the data
// it forwards.
package distance

import (
	"context"
	"io"
	"net"
	"sync"
	"time"
)

// maxChunks is how many chunks may be under way in one direction.
const maxChunks = 1024

// Listen starts a proxy in front of the TCP server at target, on a free loopback port, until the context ends. delay applies to one
// direction, so a round trip takes twice as long. It returns the address of the proxy.
func Listen(ctx context.Context, target string, delay time.Duration) (address string, err error) {
	var config net.ListenConfig
	listener, err := config.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	context.AfterFunc(ctx, func() { _ = listener.Close() })
	go acceptConnections(ctx, listener, "tcp", target, delay)
	return listener.Addr().String(), nil
}

// acceptConnections connects each connection to the target until the listener is closed.
func acceptConnections(ctx context.Context, listener net.Listener, network, target string, delay time.Duration) {
	for {
		near, err := listener.Accept()
		if err != nil {
			return
		}
		go forwardConnection(ctx, near, network, target, delay)
	}
}

// forwardConnection connects a connection to the target until one of them or the context ends.
func forwardConnection(ctx context.Context, near net.Conn, network, target string, delay time.Duration) {
	var dialer net.Dialer
	far, err := dialer.DialContext(ctx, network, target)
	if err != nil {
		_ = near.Close()
		return
	}
	closeBoth := sync.OnceFunc(func() { _, _ = near.Close(), far.Close() })
	stop := context.AfterFunc(ctx, closeBoth)
	var directions sync.WaitGroup
	for _, way := range [][2]net.Conn{{near, far}, {far, near}} {
		directions.Go(func() {
			copyDelayed(way[1], way[0], delay)
			closeBoth()
		})
	}
	directions.Wait()
	stop()
}

// chunk is the result of one read, and the time when it arrives.
type chunk struct {
	bytes []byte
	due   time.Time
}

// copyDelayed copies until an end or an error of either.
func copyDelayed(to io.Writer, from io.Reader, delay time.Duration) {
	chunks, done := make(chan chunk, maxChunks), make(chan struct{})
	go func() {
		defer close(chunks)
		buf := make([]byte, 32<<10)
		for {
			n, err := from.Read(buf)
			select {
			case chunks <- chunk{append([]byte(nil), buf[:n]...), time.Now().Add(delay)}:
			case <-done:
				return
			}
			if err != nil {
				return
			}
		}
	}()
	defer close(done)
	for c := range chunks {
		time.Sleep(time.Until(c.due))
		if _, err := to.Write(c.bytes); err != nil {
			return
		}
	}
}
