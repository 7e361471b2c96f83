package slurmclient

import (
	"context"
	"crypto/tls"
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
// MessageTimeout of 10 s, which gives slurmrestd time to report slurmctld's failure.
const defaultTimeout = 30 * time.Second

// Config sets the address of slurmrestd, the credentials and the timeouts.
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
	// time out before 15 minutes.
	Timeout time.Duration
	// Observer is called for every request and poll; nil disables it.
	Observer Observer
}

// Observer is called for every request to slurmrestd and for every poll, so that a program can
// record metrics while this package depends on no metrics library. Its methods are called from many
// goroutines and must not block.
type Observer interface {
	// Request reports one HTTP request: the operation (such as "nodes"), the HTTP status (0 without an answer), the time
	// until the body had been read, and the size of the body.
	Request(op string, status int, took time.Duration, bytes int64)
	// Polled reports one poll of a resource. err is nil if the poll succeeded, even if nothing had changed. If the poll
	// panicked, PanicOf returns the panic with its stack.
	Polled(r Resource, took time.Duration, err error)
}

type noObserver struct{}

func (noObserver) Request(string, int, time.Duration, int64) {}
func (noObserver) Polled(Resource, time.Duration, error)     {}

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
	// listDeadline limits a list with its whole answer.
	listDeadline time.Duration

	mu          sync.Mutex
	version     string
	binding     wire.Binding
	jobsBinding wire.Binding // see bindJobs; nil until it is needed
	release     string
	// cluster is the ClusterName in the last answer, and server the number of servers that have answered before this one.
	cluster string
	server  uint64
	// noAccounting is whether the last answer reported that the cluster has no accounting storage.
	noAccounting bool
	negotiation  *negotiation // nil if no negotiation is running
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
		listDeadline:  pollDeadline,
	}, nil
}

// noRedirect keeps the token from following a redirect to another host.
func noRedirect(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }

// Version returns the API version in use, or "" before the first request.
func (c *Client) Version() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.version
}

// Close closes idle connections. Requests in flight continue.
func (c *Client) Close() { c.http.CloseIdleConnections() }

type expectedClusterKey struct{}

// WithCluster returns a context whose requests fail with CodeConflict when a Slurm cluster of
// another name answers. A write may have been carried out by then, so callers that must not write to
// another cluster read first. An empty name accepts any cluster.
func WithCluster(ctx context.Context, name string) context.Context {
	return context.WithValue(ctx, expectedClusterKey{}, name)
}

// ExpectsCluster reports whether the context expects the answers of a particular cluster.
func ExpectsCluster(ctx context.Context) bool {
	name, _ := ctx.Value(expectedClusterKey{}).(string)
	return name != ""
}

// checkCluster returns an error if the answer comes from another cluster than the context expects.
func checkCluster(ctx context.Context, op string, from slurm.Server) error {
	want, _ := ctx.Value(expectedClusterKey{}).(string)
	if want == "" || from.Cluster == "" || want == from.Cluster {
		return nil
	}
	return &Error{Code: CodeConflict, Op: op,
		Message: fmt.Sprintf("the answer comes from Slurm cluster %s instead of %s", from.Cluster, want)}
}
