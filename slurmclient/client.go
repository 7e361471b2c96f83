package slurmclient

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/slurmtide/slurmtide/slurmclient/internal/transport"
	"github.com/slurmtide/slurmtide/slurmclient/internal/wire"
	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

// defaultTimeout is the deadline of one request. It lies above slurmctld's
// default MessageTimeout of 10 s, so that slurmrestd can say what is wrong.
const defaultTimeout = 30 * time.Second

// Config says which slurmrestd to talk to and how.
type Config struct {
	// URL is http://host:port, https://host:port or unix:///path/to.sock.
	URL string
	// Version pins the API version, such as "v0.0.42". Empty takes the newest that
	// both sides know, and finds it anew when the server changes.
	Version string
	// UserName is sent as X-SLURM-USER-NAME when not empty.
	UserName string
	// Token gives the token; nil sends none.
	Token TokenSource
	// TLS is used for https; nil means the system's roots.
	TLS *tls.Config
	// Timeout is the deadline of one request, answer included; 0 means 30 s. Lists
	// get it anew for every chunk that arrives, so a long list is no timeout.
	Timeout time.Duration
	// Observer is told of every request; nil tells nobody.
	Observer Observer
}

// Client makes requests to one slurmrestd. Its methods block until the answer
// is read or the deadline has passed, return *Error, and may be called from any
// number of goroutines.
type Client struct {
	cfg    Config
	base   string
	http   *http.Client
	intern *wire.Interner
	// room is how many bytes of query a request may have.
	room int

	mu      sync.Mutex
	version string
	binding wire.Binding
	jobs    wire.Binding // see bindJobs; nil until it is needed
	release string
	// noAccounting is whether the last answer said that the cluster has no accounting storage.
	noAccounting bool
}

// New returns a Client. It makes no request; the configuration alone decides
// whether it fails, with CodeInvalid.
func New(cfg Config) (*Client, error) {
	base, socket, err := transport.ParseURL(cfg.URL)
	if err != nil {
		return nil, &Error{Code: CodeInvalid, Op: "configuring the client", Err: err}
	}
	if cfg.Version != "" && !slices.Contains(wire.Versions(), cfg.Version) {
		return nil, &Error{Code: CodeInvalid, Op: "configuring the client", Message: fmt.Sprintf(
			"API version %q is not one of %s", cfg.Version, strings.Join(wire.Versions(), ", "))}
	}
	if cfg.Timeout <= 0 {
		cfg.Timeout = defaultTimeout
	}
	if cfg.Observer == nil {
		cfg.Observer = noObserver{}
	}
	tc := transport.Config{TLS: cfg.TLS, Socket: socket, UserName: cfg.UserName, Observe: cfg.Observer.Request}
	if cfg.Token != nil {
		tc.Token = cfg.Token
	}
	return &Client{
		cfg:    cfg,
		base:   base,
		http:   &http.Client{Transport: transport.New(tc), CheckRedirect: noRedirect},
		intern: wire.NewInterner(),
		room:   transport.Room(base, socket),
	}, nil
}

// noRedirect keeps the token from following a redirect to another host.
func noRedirect(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }

// Versions lists the API versions that this package speaks, newest first.
func Versions() []string { return wire.Versions() }

// Version returns the API version in use, "" before the first request.
func (c *Client) Version() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.version
}

// Close drops idle connections. Requests under way go on.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// bind returns the binding of the version in use, finding it first if need be.
func (c *Client) bind(ctx context.Context) (wire.Binding, error) {
	c.mu.Lock()
	b := c.binding
	c.mu.Unlock()
	if b != nil {
		return b, nil
	}
	version := c.cfg.Version
	if version == "" {
		var err error
		if version, err = c.negotiate(ctx); err != nil {
			return nil, err
		}
	}
	b, err := wire.New(version, c.base, c.http)
	if err != nil {
		return nil, &Error{Code: CodeInvalid, Op: "choosing an API version", Err: err}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.version, c.binding, c.jobs = version, b, nil
	return b, nil
}

// bindJobs returns the binding to read job records with: that of another version than
// the one in use where its records tell more and the server has it.
func (c *Client) bindJobs(ctx context.Context) (wire.Binding, error) {
	b, err := c.bind(ctx)
	if err != nil || c.cfg.Version != "" {
		return b, err
	}
	other := wire.JobsVersion(b.Version())
	if other == "" {
		return b, nil
	}
	c.mu.Lock()
	jobs := c.jobs
	c.mu.Unlock()
	if jobs != nil {
		return jobs, nil
	}
	jobs, found, err := c.tryVersion(ctx, other)
	if err != nil {
		return nil, err
	}
	if !found {
		jobs = b
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.binding == b {
		c.jobs = jobs
	}
	return jobs, nil
}

// negotiate asks for a ping in every version, newest first, until one is known.
// A version that the server lacks costs it one 404.
func (c *Client) negotiate(ctx context.Context) (string, error) {
	for _, version := range wire.Versions() {
		if _, found, err := c.tryVersion(ctx, version); found || err != nil {
			return version, err
		}
	}
	return "", &Error{Code: CodeUnsupported, Op: versionOp, Status: http.StatusNotFound, Message: fmt.Sprintf(
		"the server offers none of %s: is %s a slurmrestd of Slurm 23.11 or later?",
		strings.Join(wire.Versions(), ", "), c.cfg.URL)}
}

const versionOp = "finding a common API version"

// tryVersion asks for a ping in a version; found is whether the server has it.
func (c *Client) tryVersion(ctx context.Context, version string) (b wire.Binding, found bool, err error) {
	ctx = transport.WithOp(ctx, "ping")
	b, err = wire.New(version, c.base, c.http)
	if err != nil {
		return nil, false, &Error{Code: CodeInvalid, Op: versionOp, Err: err}
	}
	ans, err := c.exchange(ctx, versionOp, c.cfg.Timeout, func(ctx context.Context) (*http.Response, error) { return b.Ping(ctx) })
	if err != nil {
		return nil, false, err
	}
	if ans.status == http.StatusNotFound {
		return nil, false, nil
	}
	if err := ans.problem(versionOp); err != nil {
		return nil, false, err
	}
	return b, true, nil
}

// heard notes which release answered. Another one than before means that the
// server was changed under us, so the version is negotiated anew.
func (c *Client) heard(s slurm.Server) {
	if s.Release == "" {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.release != "" && c.release != s.Release {
		c.binding, c.jobs = nil, nil
	}
	c.release, c.noAccounting = s.Release, s.NoAccounting
}

// lacksAccounting reports whether a request for what slurmdbd keeps failed since the cluster
// has no slurmdbd. slurmrestd has no such path then, as for an API version that is gone; but
// it answers a ping of the version, in which it names no accounting storage.
func (c *Client) lacksAccounting(ctx context.Context, b wire.Binding, failure error) bool {
	var e *Error
	if !errors.As(failure, &e) || e.Status != http.StatusNotFound {
		return false
	}
	if _, found, err := c.tryVersion(ctx, b.Version()); err != nil || !found {
		return false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.noAccounting
}

// forget drops the negotiated version after the server said that it has no such
// path. It reports whether trying again makes sense.
func (c *Client) forget(b wire.Binding) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.cfg.Version != "" {
		return false
	}
	if c.binding == b || c.jobs == b {
		c.binding, c.jobs = nil, nil
	}
	return true
}
