package nodeset

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

// Gate stands before a server, and may break requests.
type Gate struct {
	URL string

	fate   atomic.Pointer[func(*http.Request) Fate]
	hidden atomic.Pointer[string]
	pass   http.Handler
	server *http.Server
}

// Fate is what becomes of a request. Its zero value is that it passes.
type Fate struct {
	// Refused: it is answered with HTTP 500 and not passed on.
	Refused bool
	// Lost: it is passed on, but its answer is not; the connection ends.
	Lost bool
	// Then is called before it ends, nil for nothing.
	Then func()
}

// newGate starts a gate at an address without port, before what transport reaches at
// a URL.
func newGate(address, target string, transport http.RoundTripper) (*Gate, error) {
	to, err := url.Parse(target)
	if err != nil {
		return nil, err
	}
	listener, err := net.Listen("tcp", net.JoinHostPort(address, "0")) //nolint:noctx // it is closed with the server
	if err != nil {
		return nil, err
	}
	g := &Gate{URL: fmt.Sprintf("http://%s", listener.Addr())}
	g.pass = &httputil.ReverseProxy{
		Rewrite:   func(r *httputil.ProxyRequest) { r.SetURL(to); r.Out.Header.Del("Accept-Encoding") },
		Transport: transport, ModifyResponse: g.removeHidden,
		FlushInterval: -1, // watches
		ErrorLog:      log.New(io.Discard, "", 0),
	}
	g.server = &http.Server{Handler: g, ReadHeaderTimeout: time.Minute, ErrorLog: log.New(io.Discard, "", 0)}
	go func() { _ = g.server.Serve(listener) }()
	return g, nil
}

// HideNode has lists of Slurm nodes lack one; empty for none.
func (g *Gate) HideNode(name string) { g.hidden.Store(&name) }

// removeHidden removes the hidden node from an answer that lists nodes.
func (g *Gate) removeHidden(r *http.Response) error {
	name := g.hidden.Load()
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

// Decide has requests meet what is decided of each; nil lets all pass. The function is
// called by several goroutines.
func (g *Gate) Decide(fate func(*http.Request) Fate) {
	if fate == nil {
		fate = func(*http.Request) Fate { return Fate{} }
	}
	g.fate.Store(&fate)
}

// Close ends the gate and its connections.
func (g *Gate) Close() error { return g.server.Close() }

// ServeHTTP passes a request on, or not.
func (g *Gate) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var fate Fate
	if decide := g.fate.Load(); decide != nil {
		fate = (*decide)(r)
	}
	switch {
	case fate.Refused:
		http.Error(w, "broken", http.StatusInternalServerError)
	case fate.Lost:
		g.pass.ServeHTTP(httptest.NewRecorder(), r)
	default:
		g.pass.ServeHTTP(w, r)
	}
	if fate.Then != nil {
		fate.Then()
	}
	if fate.Lost {
		panic(http.ErrAbortHandler)
	}
}

// Writes reports whether a request changes something that lasts: events and reviews
// do not.
func Writes(r *http.Request) bool {
	passing := []string{"/events", "/leases", "reviews"}
	return r.Method != http.MethodGet && !slices.ContainsFunc(passing, func(s string) bool { return strings.Contains(r.URL.Path, s) })
}
