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

// defaultTimeout is the deadline of one request. It is longer than slurmctld's default
// MessageTimeout of 10 s, so that slurmrestd can report what is wrong.
const defaultTimeout = 30 * time.Second

// Config says which slurmrestd to talk to and how.
type Config struct {
	// URL is http://host:port, https://host:port or unix:///path/to.sock.
	URL string
	// Version pins the API version, such as "v0.0.42". Empty means the newest version that
	// both sides support; it is negotiated again when the server changes.
	Version string
	// UserName is sent as X-SLURM-USER-NAME when not empty.
	UserName string
	// Token returns the token to send; nil sends none.
	Token TokenSource
	// TLS is the configuration for https; nil means the system's roots.
	TLS *tls.Config
	// Timeout is the deadline of one request including its answer; 0 means 30 s. For lists of
	// nodes and jobs it restarts with every chunk that arrives, so that a long list does not
	// time out.
	Timeout time.Duration
	// Observer is called for every request and poll; nil means none.
	Observer Observer
}

// Client makes requests to one slurmrestd. Its methods block until the answer has been read or the
// deadline has passed. Their errors are of type *Error. Any number of goroutines may call them
// concurrently.
type Client struct {
	cfg    Config
	base   string
	http   *http.Client
	intern *wire.Interner
	// maxQueryBytes is the longest query that a request may have.
	maxQueryBytes int

	mu          sync.Mutex
	version     string
	binding     wire.Binding
	jobsBinding wire.Binding // see bindJobs; nil until it is needed
	release     string
	// noAccounting is whether the last answer reported that the cluster has no accounting storage.
	noAccounting bool
}

// New returns a Client. It makes no request, and fails with CodeInvalid only if the configuration is
// invalid.
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
		cfg:           cfg,
		base:          base,
		http:          &http.Client{Transport: transport.New(tc), CheckRedirect: noRedirect},
		intern:        wire.NewInterner(),
		maxQueryBytes: transport.MaxQueryBytes(base, socket),
	}, nil
}

// noRedirect keeps the token from following a redirect to another host.
func noRedirect(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }

// Versions lists the API versions that this package supports, newest first.
func Versions() []string { return wire.Versions() }

// Version returns the API version in use, or "" before the first request.
func (c *Client) Version() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.version
}

// Close closes idle connections. Requests in flight continue.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// bind returns the binding of the version in use and negotiates the version first if necessary.
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
	b, err := wire.NewBinding(version, c.base, c.http)
	if err != nil {
		return nil, &Error{Code: CodeInvalid, Op: "choosing an API version", Err: err}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.version, c.binding, c.jobsBinding = version, b, nil
	return b, nil
}

// bindJobs returns the binding to read job records with. It is that of another version than the one
// in use if the records of that version contain more and the server offers it.
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
	jobs := c.jobsBinding
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
		c.jobsBinding = jobs
	}
	return jobs, nil
}

// negotiate sends a ping in every version, newest first, until the server accepts one. The server
// answers 404 for a version that it lacks.
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

// tryVersion sends a ping in a version; found is whether the server offers the version.
func (c *Client) tryVersion(ctx context.Context, version string) (b wire.Binding, found bool, err error) {
	ctx = transport.WithOp(ctx, "ping")
	b, err = wire.NewBinding(version, c.base, c.http)
	if err != nil {
		return nil, false, &Error{Code: CodeInvalid, Op: versionOp, Err: err}
	}
	ans, err := c.exchange(ctx, versionOp, c.cfg.Timeout, func(ctx context.Context) (*http.Response, error) {
		return b.Ping(ctx)
	})
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

// recordServer records which release answered. If the release differs from the last one, the server
// was replaced, and the next request negotiates the version again.
func (c *Client) recordServer(s slurm.Server) {
	if s.Release == "" {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.release != "" && c.release != s.Release {
		c.binding, c.jobsBinding = nil, nil
	}
	c.release, c.noAccounting = s.Release, s.NoAccounting
}

// lacksAccounting reports whether a request for accounting data failed because the cluster has no
// slurmdbd. slurmrestd then lacks the path, as it does for an API version that it no longer offers;
// but it answers a ping of the version, and that answer names no accounting storage.
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

// dropVersion discards the negotiated version after the server answered that it has no such path.
// It reports whether it makes sense to try again.
func (c *Client) dropVersion(b wire.Binding) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.cfg.Version != "" {
		return false
	}
	if c.binding == b || c.jobsBinding == b {
		c.binding, c.jobsBinding = nil, nil
	}
	return true
}
