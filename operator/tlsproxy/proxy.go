package tlsproxy

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"sync"
	"time"
)

// Limits limit the resources that clients can hold.
type Limits struct {
	// Connections is the number of connections at the same time. More wait to be accepted.
	Connections int
	// Handshake is the time that a client gets to begin TLS.
	Handshake time.Duration
	// Idle is the time that a connection may be silent. It must exceed the time that the server takes to answer.
	Idle time.Duration
}

// DefaultLimits are the limits for slurmrestd. It is silent while it prepares a response: more than half a minute for
// a list of 100,000 jobs on a quiet machine.
func DefaultLimits() Limits {
	return Limits{Connections: 1024, Handshake: 10 * time.Second, Idle: 10 * time.Minute}
}

// Proxy ends TLS and passes requests to a server. All fields are required.
type Proxy struct {
	// Socket is the path of the server's Unix socket.
	Socket      string
	Certificate *Certificate
	Limits      Limits
	Log         *slog.Logger
}

// acceptPause is the pause after a connection could not be accepted, for example because no file descriptor was free.
const acceptPause = 100 * time.Millisecond

// Serve serves connections until ctx ends or the listener is closed. Then it accepts no more, and returns when those
// that are open have ended: the server ends them when it ends itself. It closes the listener.
func (p *Proxy) Serve(ctx context.Context, listener net.Listener) error {
	stop := context.AfterFunc(ctx, func() { _ = listener.Close() })
	defer stop()
	config := &tls.Config{MinVersion: tls.VersionTLS12, GetCertificate: p.Certificate.Get,
		NextProtos: []string{"http/1.1"}} // one for all connections, so that clients can resume sessions
	var open sync.WaitGroup
	defer open.Wait()
	slots := make(chan struct{}, p.Limits.Connections)
	for {
		select {
		case <-ctx.Done():
			return nil
		case slots <- struct{}{}:
		}
		conn, err := listener.Accept()
		if err == nil {
			open.Go(func() {
				defer func() { <-slots }()
				p.serveConnection(context.WithoutCancel(ctx), conn, config)
			})
			continue
		}
		<-slots
		switch {
		case ctx.Err() != nil:
			return nil
		case errors.Is(err, net.ErrClosed):
			return fmt.Errorf("accepting connections: %w", err)
		}
		p.Log.Error("a connection was not accepted", "error", err)
		pause(ctx, acceptPause)
	}
}

func pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}

// serveConnection serves one connection, and closes it.
func (p *Proxy) serveConnection(ctx context.Context, conn net.Conn, config *tls.Config) {
	defer func() { _ = conn.Close() }()
	client := tls.Server(conn, config)
	if err := p.handshake(ctx, client); err != nil {
		p.Log.Debug("no TLS", "client", conn.RemoteAddr(), "error", err)
		refusePlain(err)
		return
	}
	server, err := p.dial(ctx)
	if err != nil {
		p.Log.Error("the server does not accept a connection", "error", err)
		return
	}
	defer func() { _ = server.Close() }()
	exchange(client, server, p.Limits.Idle)
}

func (p *Proxy) handshake(ctx context.Context, client *tls.Conn) error {
	ctx, cancel := context.WithTimeout(ctx, p.Limits.Handshake)
	defer cancel()
	return client.HandshakeContext(ctx)
}

func (p *Proxy) dial(ctx context.Context) (*net.UnixConn, error) {
	conn, err := (&net.Dialer{Timeout: p.Limits.Handshake}).DialContext(ctx, "unix", p.Socket)
	if err != nil {
		return nil, err
	}
	server, ok := conn.(*net.UnixConn)
	if !ok {
		return nil, fmt.Errorf("dialling %s gives a %T", p.Socket, conn)
	}
	return server, nil
}

// refusePlain answers a request without TLS with an explanation.
func refusePlain(err error) {
	var record tls.RecordHeaderError
	if !errors.As(err, &record) || record.Conn == nil || !isRequest(record.RecordHeader[:]) {
		return
	}
	_ = record.Conn.SetDeadline(time.Now().Add(time.Second))
	_, _ = io.WriteString(record.Conn, "HTTP/1.0 400 Bad Request\r\nContent-Type: text/plain\r\n\r\n"+
		"This is an HTTPS port. Use https:// in the URL.\n")
}

// isRequest reports whether a connection begins as requests do.
func isRequest(begin []byte) bool {
	return slices.ContainsFunc([]string{http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut,
		http.MethodDelete, http.MethodOptions}, func(method string) bool {
		line := method + " /"
		return line[:min(len(line), len(begin))] == string(begin)
	})
}

// Handler serves /ready, which answers 200 if the proxy has a certificate and the server accepts connections.
func (p *Proxy) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /ready", func(w http.ResponseWriter, r *http.Request) {
		_, err := p.Certificate.Get(nil)
		if err == nil {
			var server *net.UnixConn
			if server, err = p.dial(r.Context()); err == nil {
				err = server.Close()
			}
		}
		if err != nil {
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
		}
	})
	return mux
}
