package slurmclient

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strconv"
	"time"

	"github.com/slurmtide/slurmtide/slurmclient/internal/records"
	"github.com/slurmtide/slurmtide/slurmclient/internal/transport"
	"github.com/slurmtide/slurmtide/slurmclient/internal/wire"
	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

// List is the answer to a request for all objects of one kind.
type List[T any] struct {
	Items []T
	// ServerTime is the server's last_update. A request with it as since returns the list only
	// if something changed from then on. 0 if the server sends none.
	ServerTime slurm.Time
	Server     slurm.Server
}

// listCall is a request for a list that is decoded as a stream.
type listCall[T any] struct {
	op, name string
	key      string
	since    slurm.Time
	bind     bindFunc
	send     func(context.Context, wire.Binding) (*http.Response, error)
	decode   func(io.Reader, *wire.Interner, func(*T) error) (wire.Envelope, error)
}

// run sends the request and calls yield for each record. A record is only valid during the call. If
// run returns an error, the caller must discard all records.
func (l listCall[T]) run(ctx context.Context, c *Client, yield func(*T) error) (out wire.Outline, err error) {
	ctx, cancel := context.WithTimeoutCause(transport.WithOp(ctx, l.name), c.listDeadline, errDeadline)
	defer cancel()
	err = c.renegotiate(ctx, l.bind, func(b wire.Binding) (err error) {
		out, err = l.attempt(ctx, c, b, yield)
		return err
	})
	return out, err
}

func (l listCall[T]) attempt(
	ctx context.Context, c *Client, b wire.Binding, yield func(*T) error,
) (wire.Outline, error) {
	ctx, idle := newIdleDeadline(ctx, c.cfg.Timeout)
	defer idle.stop()
	resp, err := l.send(ctx, b)
	if err != nil {
		return wire.Outline{}, requestError(ctx, l.op, err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK || !isJSON(resp) {
		return wire.Outline{}, l.readRefusal(ctx, c, resp)
	}
	count := 0
	env, err := l.decode(idle.reader(resp.Body), c.intern, func(t *T) error { count++; return yield(t) })
	if err != nil {
		var syntax *wire.SyntaxError
		if errors.As(err, &syntax) || errors.Is(err, io.ErrUnexpectedEOF) {
			return wire.Outline{}, &Error{Code: CodeUnavailable, Op: l.op, Status: resp.StatusCode,
				Message: "the answer cannot be read", Err: err}
		}
		return wire.Outline{}, requestError(ctx, l.op, err)
	}
	out := env.Outline()
	c.recordServer(out.Server)
	if err := checkCluster(ctx, l.op, out.Server); err != nil {
		return wire.Outline{}, err
	}
	return out, l.checkOutline(out, env.Found, count)
}

// checkOutline finds the failures that an answer with HTTP 200 may contain: errors, a missing list,
// and the empty list of jobs that means "unchanged".
func (l listCall[T]) checkOutline(out wire.Outline, found bool, count int) error {
	if err := outlineProblem(l.op, http.StatusOK, out); err != nil {
		return err
	}
	if !found {
		return &Error{Code: CodeUnavailable, Op: l.op, Status: http.StatusOK,
			Message: "the answer has no list of " + l.key}
	}
	if l.since != 0 && count == 0 && out.LastUpdate == 0 {
		return &Error{Code: CodeUnchanged, Op: l.op, Status: http.StatusOK}
	}
	return nil
}

// readRefusal reads an answer that is not a list and returns its error.
func (l listCall[T]) readRefusal(ctx context.Context, c *Client, resp *http.Response) error {
	body, err := io.ReadAll(io.LimitReader(resp.Body, 1<<20))
	if err != nil {
		return requestError(ctx, l.op, err)
	}
	ans := newAnswer(resp, body)
	if isJSON(resp) && len(body) > 0 {
		ans.outline, ans.json = wire.ReadOutline(body)
		c.recordServer(ans.outline.Server)
		if err := checkCluster(ctx, l.op, ans.outline.Server); err != nil {
			return err
		}
	}
	return ans.problem(l.op)
}

// idleDeadline is a deadline that restarts with every chunk that arrives.
type idleDeadline struct {
	timer  *time.Timer
	after  time.Duration
	cancel context.CancelCauseFunc
}

func newIdleDeadline(ctx context.Context, after time.Duration) (context.Context, *idleDeadline) {
	ctx, cancel := context.WithCancelCause(ctx)
	return ctx, &idleDeadline{after: after, cancel: cancel,
		timer: time.AfterFunc(after, func() { cancel(errDeadline) })}
}

func (d *idleDeadline) stop() {
	d.timer.Stop()
	d.cancel(context.Canceled)
}

func (d *idleDeadline) reader(r io.Reader) io.Reader { return &idleDeadlineReader{r, d} }

type idleDeadlineReader struct {
	io.Reader
	*idleDeadline
}

func (r *idleDeadlineReader) Read(p []byte) (int, error) {
	n, err := r.Reader.Read(p)
	r.timer.Reset(r.after)
	return n, err
}

func nodesCall(since slurm.Time) listCall[slurm.Node] {
	return listCall[slurm.Node]{op: "listing nodes", name: "nodes", key: "nodes", since: since,
		bind: (*Client).bind, decode: wire.DecodeNodes,
		send: func(ctx context.Context, b wire.Binding) (*http.Response, error) { return b.Nodes(ctx, since) }}
}

func jobsCall(since slurm.Time) listCall[slurm.Job] {
	return listCall[slurm.Job]{op: "listing jobs", name: "jobs", key: "jobs", since: since,
		bind: (*Client).bindJobs, decode: wire.DecodeJobs,
		send: func(ctx context.Context, b wire.Binding) (*http.Response, error) { return b.Jobs(ctx, since) }}
}

// Nodes lists all nodes, including FUTURE nodes. If since is not 0 and nothing changed from then on,
// it returns an error with CodeUnchanged. Otherwise it returns the whole list, not only the nodes
// that changed.
func (c *Client) Nodes(ctx context.Context, since slurm.Time) (List[*slurm.Node], error) {
	var items []*slurm.Node
	out, err := c.eachNode(ctx, since, func(n *slurm.Node) error { items = append(items, records.Copy(n)); return nil })
	if err != nil {
		return List[*slurm.Node]{}, err
	}
	return List[*slurm.Node]{Items: items, ServerTime: out.LastUpdate, Server: out.Server}, nil
}

// eachNode calls yield for each node that Nodes would return. slurmctld 24.11 answers a request with
// update_time with HTTP 500 and error -1 if nodes changed and partitions did not; eachNode then
// requests the list without update_time.
func (c *Client) eachNode(ctx context.Context, since slurm.Time, yield func(*slurm.Node) error) (wire.Outline, error) {
	out, err := nodesCall(since).run(ctx, c, yield)
	var e *Error
	if since != 0 && errors.As(err, &e) && e.Status == http.StatusInternalServerError && e.Number == -1 {
		return nodesCall(0).run(ctx, c, yield)
	}
	return out, err
}

// Jobs lists all job records of slurmctld. Finished jobs are listed until they are purged
// (slurm.conf(5), MinJobAge). since is as for Nodes.
func (c *Client) Jobs(ctx context.Context, since slurm.Time) (List[*slurm.Job], error) {
	var items []*slurm.Job
	out, err := jobsCall(since).run(
		ctx, c, func(j *slurm.Job) error { items = append(items, records.Copy(j)); return nil })
	if err != nil {
		return List[*slurm.Job]{}, err
	}
	return List[*slurm.Job]{Items: items, ServerTime: out.LastUpdate, Server: out.Server}, nil
}

// Node reads one node, which may be FUTURE. slurmctld updates the allocated resources of nodes only when it answers a
// request for the list of nodes. Until then, a node where a job has started is ALLOCATED without allocated CPUs. A node
// whose job has ended may remain MIXED.
func (c *Client) Node(ctx context.Context, name string) (*slurm.Node, error) {
	call := listCall[slurm.Node]{op: "reading node " + strconv.Quote(name), name: "node", key: "nodes",
		bind: (*Client).bind, decode: wire.DecodeNodes,
		send: func(ctx context.Context, b wire.Binding) (*http.Response, error) { return b.Node(ctx, name) }}
	var found *slurm.Node
	_, err := call.run(ctx, c, func(n *slurm.Node) error {
		if n.Name == name {
			found = records.Copy(n)
		}
		return nil
	})
	var e *Error
	if errors.As(err, &e) && e.Status == http.StatusOK && e.Code == CodeInvalid && e.Number == 0 {
		// slurmrestd answers a request for an unknown node with HTTP 200, an error with number
		// 0, and no list.
		e.Code = CodeNotFound
	}
	if err == nil && found == nil {
		err = &Error{Code: CodeNotFound, Op: call.op}
	}
	if err != nil {
		return nil, err
	}
	return found, nil
}

// Job reads the records of a job id:
//
//   - one record for a plain job or an array task;
//   - all records of the array for the id of an array;
//   - all components for the leader of a heterogeneous job.
//
// It returns CodeNotFound for a finished job whose record was purged.
func (c *Client) Job(ctx context.Context, id uint32) ([]*slurm.Job, error) {
	text := strconv.FormatUint(uint64(id), 10)
	call := listCall[slurm.Job]{op: "reading job " + text, name: "job", key: "jobs",
		bind: (*Client).bindJobs, decode: wire.DecodeJobs,
		send: func(ctx context.Context, b wire.Binding) (*http.Response, error) { return b.Job(ctx, text) }}
	var items []*slurm.Job
	_, err := call.run(ctx, c, func(j *slurm.Job) error { items = append(items, records.Copy(j)); return nil })
	if err == nil && len(items) == 0 {
		err = &Error{Code: CodeNotFound, Op: call.op}
	}
	if err != nil {
		return nil, err
	}
	return items, nil
}
