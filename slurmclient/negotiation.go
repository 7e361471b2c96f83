package slurmclient

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/slurmtide/slurmtide/slurmclient/internal/transport"
	"github.com/slurmtide/slurmtide/slurmclient/internal/wire"
	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

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
		if version, err = c.negotiateOnce(ctx); err != nil {
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

// bindJobs returns the binding to read job records with. If the records of another version contain more and the server offers it, it
// returns that version's binding.
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
	state, err := c.tryVersion(ctx, other)
	switch {
	case err != nil:
		return nil, err
	case state == versionDoubtful:
		return b, nil // the next request asks again
	case state == versionOffered:
		if jobs, err = wire.NewBinding(other, c.base, c.http); err != nil {
			return nil, &Error{Code: CodeInvalid, Op: versionOp, Err: err}
		}
	default:
		jobs = b
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.binding == b {
		c.jobsBinding = jobs
	}
	return jobs, nil
}

// negotiation is one call of negotiate; several requests wait for its result. It outlives the request that began it, and ends with the last
// waiting request.
type negotiation struct {
	waiting int // guarded by Client.mu
	cancel  context.CancelFunc
	done    chan struct{} // closed when version and err are set
	version string
	err     error
}

// negotiateOnce calls negotiate, unless it is running: then it waits for that result.
func (c *Client) negotiateOnce(ctx context.Context) (string, error) {
	n := c.joinNegotiation(ctx)
	select {
	case <-n.done:
		return n.version, n.err
	case <-ctx.Done():
		c.leaveNegotiation(n)
		return "", requestError(ctx, versionOp, context.Cause(ctx))
	}
}

// joinNegotiation returns the running negotiation, or starts one.
func (c *Client) joinNegotiation(ctx context.Context) *negotiation {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := c.negotiation
	if n == nil {
		n = &negotiation{done: make(chan struct{})}
		ctx, n.cancel = context.WithCancel(context.WithoutCancel(ctx))
		c.negotiation = n
		go func() {
			n.version, n.err = c.negotiate(ctx)
			c.endNegotiation(n)
			close(n.done)
		}()
	}
	n.waiting++
	return n
}

// leaveNegotiation stops waiting for a negotiation, and ends it if nobody else waits.
func (c *Client) leaveNegotiation(n *negotiation) {
	c.mu.Lock()
	n.waiting--
	isLast := n.waiting == 0
	c.mu.Unlock()
	if isLast {
		c.endNegotiation(n)
	}
}

// endNegotiation cancels a negotiation; the next request starts another one.
func (c *Client) endNegotiation(n *negotiation) {
	n.cancel()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.negotiation == n {
		c.negotiation = nil
	}
}

// negotiate sends a ping in every version, newest first, until the server accepts one. The server answers 404 for a version that it lacks.
// A proxy may answer instead at any time. If the server accepts an older version after such answers, negotiate tries the first doubtful
// version once more.
func (c *Client) negotiate(ctx context.Context) (string, error) {
	doubtful := ""
	for _, version := range wire.Versions() {
		state, err := c.tryVersion(ctx, version)
		switch {
		case err != nil:
			return "", err
		case state == versionDoubtful:
			doubtful = cmp.Or(doubtful, version)
		case state == versionOffered && doubtful != "":
			if state, err = c.tryVersion(ctx, doubtful); state == versionOffered {
				version = doubtful
			}
			return version, err
		case state == versionOffered:
			return version, nil
		}
	}
	return "", &Error{Code: CodeUnsupported, Op: versionOp, Status: http.StatusNotFound, Message: fmt.Sprintf(
		"the server offers none of %s: is %s a slurmrestd of Slurm 23.11 or later?",
		strings.Join(wire.Versions(), ", "), c.cfg.URL)}
}

const versionOp = "finding a common API version"

// versionState is the state of a version according to the answer to a ping.
type versionState int

const (
	versionMissing versionState = iota
	versionOffered
	// versionDoubtful: somebody else than slurmrestd answered 404.
	versionDoubtful
)

// tryVersion sends a ping in a version.
func (c *Client) tryVersion(ctx context.Context, version string) (versionState, error) {
	ctx = transport.WithOp(ctx, "ping")
	b, err := wire.NewBinding(version, c.base, c.http)
	if err != nil {
		return versionMissing, &Error{Code: CodeInvalid, Op: versionOp, Err: err}
	}
	ans, err := c.exchange(ctx, versionOp, c.cfg.Timeout, func(ctx context.Context) (*http.Response, error) {
		return b.Ping(ctx)
	})
	switch {
	case err != nil:
		return versionMissing, err
	case ans.isMissingPath():
		return versionMissing, nil
	case ans.status == http.StatusNotFound:
		return versionDoubtful, nil
	}
	if err := ans.problem(versionOp); err != nil {
		return versionMissing, err
	}
	return versionOffered, nil
}

// recordServer records which release and which cluster answered. If the release differs from the last one, the server
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
	cluster := cmp.Or(s.Cluster, c.cluster)
	if c.release != "" && (c.release != s.Release || c.cluster != "" && c.cluster != cluster) {
		c.server++
	}
	c.release, c.cluster, c.noAccounting = s.Release, cluster, s.NoAccounting
}

// clusterName returns the name of the cluster that answered last, empty if no answer has named one.
func (c *Client) clusterName() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.cluster
}

// serverNumber counts the servers that have answered. What one has sent tells nothing about the next one.
func (c *Client) serverNumber() uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.server
}

// countServer records that another server answers.
func (c *Client) countServer() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.server++
}

// lacksAccounting reports whether a request for accounting data failed because the cluster has no
// slurmdbd. slurmrestd then lacks the path, as it does for an API version that it no longer offers;
// but it answers a ping of the version, and that answer names no accounting storage.
func (c *Client) lacksAccounting(ctx context.Context, b wire.Binding, failure error) bool {
	if !isMissingPath(failure) {
		return false
	}
	if state, err := c.tryVersion(ctx, b.Version()); err != nil || state != versionOffered {
		return false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.noAccounting
}

// bindFunc chooses the binding of a request: bind, or bindJobs for job records.
type bindFunc = func(*Client, context.Context) (wire.Binding, error)

// renegotiate calls attempt with the binding in use. If the server answers that it has no such path,
// the version is negotiated again, and attempt is called once more if the version differs. A server
// that still offers the same version lacks only the path.
func (c *Client) renegotiate(ctx context.Context, bind bindFunc, attempt func(wire.Binding) error) error {
	b, err := bind(c, ctx)
	if err != nil {
		return err
	}
	failure := attempt(b)
	if !suggestsOtherVersion(failure) || !c.dropVersion(b) {
		return failure
	}
	again, err := bind(c, ctx)
	if err != nil {
		return err
	}
	if again.Version() == b.Version() {
		return failure
	}
	return attempt(again)
}

// suggestsOtherVersion reports whether the server answered that it has no such path, which it also
// does when it no longer offers the version. An operation that the version does not have fails
// without a request, so it says nothing about the server.
func suggestsOtherVersion(err error) bool {
	var e *Error
	return isMissingPath(err) || errors.As(err, &e) && e.Status == http.StatusNotFound && e.Number == 0
}

// isMissingPath reports whether slurmrestd answered that it has no such path.
func isMissingPath(err error) bool {
	var e *Error
	return errors.As(err, &e) && e.Code == CodeUnsupported && e.Op != versionOp && !errors.Is(err, wire.ErrUnsupported)
}

// dropVersion discards the negotiated version and reports whether another one may be negotiated,
// which a configured version rules out.
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
