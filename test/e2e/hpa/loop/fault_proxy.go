package loop

import (
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"sync/atomic"
	"time"
)

// Fault is a Proxy's treatment of requests.
type Fault int32

// The faults.
const (
	// NoFault forwards requests.
	NoFault Fault = iota
	// Refused closes the connection without an answer.
	Refused
	// Slow forwards requests after a minute.
	Slow
	// Failing answers HTTP 500.
	Failing
	// Garbage answers HTTP 200 with something that is not JSON.
	Garbage
	// Empty answers HTTP 200 with an empty object.
	Empty
)

// String returns the fault's name.
func (f Fault) String() string {
	return [...]string{"none", "refused", "slow", "failing", "garbage", "empty"}[f]
}

// Proxy is a proxy in front of slurmrestd that injects faults.
type Proxy struct {
	URL string

	fault  atomic.Int32
	server *http.Server
}

// NewProxy starts a proxy on loopback.
func NewProxy(target string) (*Proxy, error) {
	to, err := url.Parse(target)
	if err != nil {
		return nil, err
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // it is closed with the server
	if err != nil {
		return nil, err
	}
	p := &Proxy{URL: fmt.Sprintf("http://%s", listener.Addr())}
	pass := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(to) },
		ErrorLog: log.New(io.Discard, "", 0)}
	p.server = &http.Server{ReadHeaderTimeout: time.Minute,
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			p.serve(w, r, pass)
		})}
	go func() { _ = p.server.Serve(listener) }()
	return p, nil
}

// Set sets the fault for all following requests.
func (p *Proxy) Set(f Fault) { p.fault.Store(int32(f)) }

// Close ends the proxy.
func (p *Proxy) Close() error { return p.server.Close() }

func (p *Proxy) serve(w http.ResponseWriter, r *http.Request, pass http.Handler) {
	switch Fault(p.fault.Load()) {
	case Refused:
		panic(http.ErrAbortHandler)
	case Slow:
		select {
		case <-time.After(time.Minute):
		case <-r.Context().Done():
			return
		}
	case Failing:
		http.Error(w, "broken", http.StatusInternalServerError)
		return
	case Garbage, Empty:
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(map[Fault]string{Garbage: `{"nodes": [{"na`, Empty: `{}`}[Fault(p.fault.Load())]))
		return
	case NoFault:
	}
	pass.ServeHTTP(w, r)
}
