// Package transport is the HTTP transport to slurmrestd: one RoundTripper for each concern, each in its own file,
// assembled by New.
package transport

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"time"
)

// Config configures how to reach slurmrestd.
type Config struct {
	// TLS is the configuration for https URLs; nil means the system's roots.
	TLS *tls.Config
	// Socket is the path of a unix socket to dial instead of the URL's host.
	Socket string
	// Token returns the token; nil sends none.
	Token TokenSource
	// UserName is sent as X-SLURM-USER-NAME when not empty.
	UserName string
	// Observe is called for every request once the body of its answer has been read or closed.
	Observe func(op string, status int, took time.Duration, bytes int64)
}

// New returns the whole chain, outermost first:
//
//	observe  reports what callers see: one request, regardless of retries
//	retry    repeats reads whose connection broke; inside observe, so that a request counts once,
//	         and outside auth, so that every attempt carries the newest token
//	auth     adds the token; if the server refuses it, reloads it and tries again once
//	base     net/http with TLS or a unix socket
//
// New sets no request timeout: deadlines come from the context of the request.
func New(cfg Config) http.RoundTripper {
	var rt http.RoundTripper = newBaseTransport(cfg)
	rt = &authTransport{next: rt, token: cfg.Token, userName: cfg.UserName}
	rt = &retryTransport{next: rt}
	if cfg.Observe != nil {
		rt = &observeTransport{next: rt, report: cfg.Observe}
	}
	return rt
}

func newBaseTransport(cfg Config) *http.Transport {
	dialer := &net.Dialer{Timeout: 10 * time.Second, KeepAlive: 30 * time.Second}
	t := &http.Transport{
		DialContext:         dialer.DialContext,
		TLSClientConfig:     cfg.TLS,
		TLSHandshakeTimeout: 10 * time.Second,
		IdleConnTimeout:     90 * time.Second,
		MaxIdleConnsPerHost: 28, // as many as the delta reader has requests in flight
		// slurmrestd speaks HTTP/1.1 and does not compress.
		ForceAttemptHTTP2:  false,
		DisableCompression: true,
		// A request must be sent in one write; see MaxQueryBytes.
		WriteBufferSize: 64 << 10,
		ReadBufferSize:  64 << 10,
	}
	if cfg.Socket == "" {
		t.Proxy = http.ProxyFromEnvironment // HTTPS_PROXY, HTTP_PROXY and NO_PROXY, as for the API server of Kubernetes
	} else {
		t.DialContext = func(ctx context.Context, _, _ string) (net.Conn, error) {
			return dialer.DialContext(ctx, "unix", cfg.Socket)
		}
	}
	return t
}

// MaxQueryBytes returns the maximum length of a query. slurmrestd's parser treats a request line or
// header that arrives in two reads as two (seen in 24.11 and 26.05; the answers are HTTP 500 "Invalid
// format for URL", 400 and 404). A request must therefore arrive in one piece. On loopback and on a
// socket that is one write. Over a network it is one segment, which also contains the token, and with
// TLS at most one record.
func MaxQueryBytes(base, socket string) int {
	const local, segment = 24 << 10, 800
	if socket != "" {
		return local
	}
	u, err := url.Parse(base)
	if err != nil || u.Scheme == "https" {
		return segment
	}
	if ip, err := netip.ParseAddr(u.Hostname()); err == nil && ip.IsLoopback() || u.Hostname() == "localhost" {
		return local
	}
	return segment
}

// ParseURL splits slurmrestd's address into the base URL for requests and the unix socket to dial, if
// any. It accepts http://host:port and https://host:port, both with an optional path prefix, and
// unix:///path.
func ParseURL(raw string) (base, socket string, err error) {
	u, err := url.Parse(raw)
	if err != nil {
		return "", "", fmt.Errorf("reading the slurmrestd URL: %w", err)
	}
	switch u.Scheme {
	case "unix":
		if u.Path == "" || u.Host != "" {
			return "", "", fmt.Errorf(
				"the slurmrestd URL %q needs an absolute socket path, as in unix:///run/slurmrestd.sock", raw)
		}
		return "http://slurmrestd", u.Path, nil
	case "http", "https":
		if u.Host == "" {
			return "", "", fmt.Errorf("the slurmrestd URL %q has no host", raw)
		}
		if u.User != nil {
			return "", "", fmt.Errorf("the slurmrestd URL must not contain a user or password; use a token")
		}
		if u.RawQuery != "" || u.Fragment != "" {
			return "", "", fmt.Errorf("the slurmrestd URL %q must not have a query or fragment", raw)
		}
		return strings.TrimRight(u.String(), "/"), "", nil
	}
	return "", "", fmt.Errorf("the slurmrestd URL %q must begin with http://, https:// or unix://", raw)
}

// CountFittingIDs returns how many of the job ids fit into a query of room bytes, but at least one.
func CountFittingIDs(ids []string, room int) int {
	for i, id := range ids {
		if room -= len("job_id=&") + len(id); room < 0 {
			return max(i, 1)
		}
	}
	return len(ids)
}
