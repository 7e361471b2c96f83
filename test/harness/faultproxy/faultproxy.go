// Package faultproxy provides an HTTP proxy that forwards requests to a real server and injects
// faults: refused requests, lost answers, and lists that lack a node.
package faultproxy

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
)

// Proxy forwards requests to a server, and may inject faults.
type Proxy struct {
	URL string

	fault      atomic.Pointer[func(*http.Request) Fault]
	hiddenNode atomic.Pointer[string]
	backend    http.Handler
	server     *http.Server
}

// Fault is the treatment of a request. The zero value forwards it.
type Fault struct {
	// Refused requests are answered with HTTP 500 and not forwarded.
	Refused bool
	// AnswerLost requests are forwarded, but the connection is closed before the answer.
	AnswerLost bool
	// After is called after the request was forwarded or refused; it may be nil.
	After func()
}

// New starts a proxy at an address without port. It forwards to the server at target, by transport.
func New(address, target string, transport http.RoundTripper) (*Proxy, error) {
	to, err := url.Parse(target)
	if err != nil {
		return nil, err
	}
	listener, err := net.Listen("tcp", net.JoinHostPort(address, "0")) //nolint:noctx // the server closes it
	if err != nil {
		return nil, err
	}
	g := &Proxy{URL: fmt.Sprintf("http://%s", listener.Addr())}
	g.backend = &httputil.ReverseProxy{
		Rewrite:   func(r *httputil.ProxyRequest) { r.SetURL(to); r.Out.Header.Del("Accept-Encoding") },
		Transport: transport, ModifyResponse: g.removeHidden,
		FlushInterval: -1, // watches
		ErrorLog:      log.New(io.Discard, "", 0),
	}
	g.server = &http.Server{Handler: g, ReadHeaderTimeout: time.Minute, ErrorLog: log.New(io.Discard, "", 0)}
	go func() { _ = g.server.Serve(listener) }()
	return g, nil
}

// HideNode removes a node from lists of Slurm nodes; an empty name removes none.
func (g *Proxy) HideNode(name string) { g.hiddenNode.Store(&name) }

// removeHidden removes the hidden node from an answer that lists nodes.
func (g *Proxy) removeHidden(r *http.Response) error {
	name := g.hiddenNode.Load()
	if name == nil || *name == "" || !strings.HasSuffix(strings.TrimSuffix(r.Request.URL.Path, "/"), "/nodes") {
		return nil
	}
	var list map[string]any
	if err := errors.Join(json.NewDecoder(r.Body).Decode(&list), r.Body.Close()); err != nil {
		return err
	}
	nodes, _ := list["nodes"].([]any)
	list["nodes"] = slices.DeleteFunc(nodes, func(node any) bool {
		record, _ := node.(map[string]any)
		return record["name"] == *name
	})
	body, err := json.Marshal(list)
	r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	r.Header.Set("Content-Length", strconv.Itoa(len(body)))
	return err
}

// InjectFaults sets the function that chooses the fault of each request; nil forwards all. Several
// goroutines call the function.
func (g *Proxy) InjectFaults(fate func(*http.Request) Fault) {
	if fate == nil {
		fate = func(*http.Request) Fault { return Fault{} }
	}
	g.fault.Store(&fate)
}

// Close stops the proxy and closes its connections.
func (g *Proxy) Close() error { return g.server.Close() }

// ServeHTTP forwards a request or injects a fault.
func (g *Proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var fate Fault
	if decide := g.fault.Load(); decide != nil {
		fate = (*decide)(r)
	}
	switch {
	case fate.Refused:
		http.Error(w, "broken", http.StatusInternalServerError)
	case fate.AnswerLost:
		g.backend.ServeHTTP(httptest.NewRecorder(), r)
	default:
		g.backend.ServeHTTP(w, r)
	}
	if fate.After != nil {
		fate.After()
	}
	if fate.AnswerLost {
		panic(http.ErrAbortHandler)
	}
}

// IsWrite reports whether a request changes lasting data, which excludes events, leases and reviews.
func IsWrite(r *http.Request) bool {
	passing := []string{"/events", "/leases", "reviews"}
	return r.Method != http.MethodGet &&
		!slices.ContainsFunc(passing, func(s string) bool { return strings.Contains(r.URL.Path, s) })
}
