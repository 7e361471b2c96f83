package slurmclient

import (
	"cmp"
	"context"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/slurmtide/slurmtide/slurmclient/internal/transport"
	"github.com/slurmtide/slurmtide/slurmclient/internal/wire"
	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

// call is a request whose whole answer is read before it is decoded.
type call[T any] struct {
	op, name string
	// key is the member that the answer must have, empty if none is required.
	key    string
	send   func(context.Context, wire.Binding) (*http.Response, error)
	decode func(wire.Binding, []byte) (T, error)
	// slurmdbd is whether slurmrestd gets the answer from slurmdbd.
	slurmdbd bool
	// timeout is the deadline of the request; 0 means Config.Timeout.
	timeout time.Duration
}

func (k call[T]) run(ctx context.Context, c *Client) (v T, out wire.Outline, err error) {
	ctx = transport.WithOp(ctx, k.name)
	err = c.renegotiate(ctx, (*Client).bind, func(b wire.Binding) (err error) {
		v, out, err = k.attempt(ctx, c, b)
		if k.slurmdbd && c.lacksAccounting(ctx, b, err) {
			err = &Error{Code: CodeNoAccounting, Op: k.op, Message: "the cluster has no slurmdbd", Err: err}
		}
		return err
	})
	return v, out, err
}

func (k call[T]) attempt(ctx context.Context, c *Client, b wire.Binding) (T, wire.Outline, error) {
	var zero T
	timeout := cmp.Or(k.timeout, c.cfg.Timeout)
	ans, err := c.exchange(ctx, k.op, timeout, func(ctx context.Context) (*http.Response, error) {
		return k.send(ctx, b)
	})
	if err != nil {
		return zero, wire.Outline{}, err
	}
	if err := ans.problem(k.op); err != nil {
		return zero, ans.outline, err
	}
	if k.key != "" && !ans.outline.Keys[k.key] {
		return zero, ans.outline, &Error{Code: CodeUnavailable, Op: k.op, Status: ans.status,
			Message: "the answer has no " + k.key}
	}
	v, err := k.decode(b, ans.body)
	if err != nil {
		return zero, ans.outline, &Error{Code: CodeUnavailable, Op: k.op, Status: ans.status,
			Message: "the answer cannot be read", Err: err}
	}
	return v, ans.outline, nil
}

// requestList runs a call whose answer is a list.
func requestList[T any](ctx context.Context, c *Client, k call[[]T]) (List[T], error) {
	items, out, err := k.run(ctx, c)
	if err != nil {
		return List[T]{}, err
	}
	return List[T]{Items: items, ServerTime: out.LastUpdate, Server: out.Server}, nil
}

// Ping reports how slurmrestd reaches each slurmctld. It succeeds even if slurmctld is down or refuses
// the token; check Ping.Responding.
func (c *Client) Ping(ctx context.Context) ([]slurm.Ping, error) {
	v, _, err := call[[]slurm.Ping]{op: "pinging slurmctld", name: "ping", key: "pings",
		send:   func(ctx context.Context, b wire.Binding) (*http.Response, error) { return b.Ping(ctx) },
		decode: wire.Binding.DecodePings}.run(ctx, c)
	return v, err
}

// JobStates reads the states of the jobs with the given ids, or of all jobs without ids. The answer has one row for each task of an array
// and leaves out ids that do not exist.
func (c *Client) JobStates(ctx context.Context, ids ...uint32) ([]slurm.JobStatus, error) {
	texts := make([]string, len(ids))
	for i, id := range ids {
		texts[i] = strconv.FormatUint(uint64(id), 10)
	}
	return c.jobStatesOf(ctx, texts)
}

// jobStatesOf reads the states of the given ids, which may be single tasks ("7_3"), in as many
// requests as necessary. No ids mean all jobs. For a task that is not split off, the server returns
// all such tasks of its array.
func (c *Client) jobStatesOf(ctx context.Context, ids []string) ([]slurm.JobStatus, error) {
	var out []slurm.JobStatus
	for {
		n := transport.CountFittingIDs(ids, c.maxQueryBytes)
		rows, err := c.requestJobStates(ctx, ids[:n])
		if err != nil {
			return nil, err
		}
		out = append(out, rows...)
		if ids = ids[n:]; len(ids) == 0 {
			return out, nil
		}
	}
}

func (c *Client) requestJobStates(ctx context.Context, ids []string) ([]slurm.JobStatus, error) {
	return c.jobStatesWithin(ctx, c.cfg.Timeout, ids)
}

// allStatesTimeout is the least deadline of the request for the states of all jobs.
const allStatesTimeout = 5 * time.Minute

// allJobStates reads the states of all jobs, which may take long.
func (c *Client) allJobStates(ctx context.Context) ([]slurm.JobStatus, error) {
	return c.jobStatesWithin(ctx, max(c.cfg.Timeout, allStatesTimeout), nil)
}

func (c *Client) jobStatesWithin(ctx context.Context, timeout time.Duration, ids []string) ([]slurm.JobStatus, error) {
	v, _, err := call[[]slurm.JobStatus]{op: "reading job states", name: "job states", key: "jobs", timeout: timeout,
		send:   func(ctx context.Context, b wire.Binding) (*http.Response, error) { return b.JobStates(ctx, ids) },
		decode: wire.Binding.DecodeJobStates}.run(ctx, c)
	return v, err
}

// Partitions lists all partitions. since is as for Nodes.
func (c *Client) Partitions(ctx context.Context, since slurm.Time) (List[*slurm.Partition], error) {
	out, err := requestList(ctx, c, call[[]*slurm.Partition]{op: "listing partitions", name: "partitions", key: "partitions",
		send:   func(ctx context.Context, b wire.Binding) (*http.Response, error) { return b.Partitions(ctx, since) },
		decode: wire.Binding.DecodePartitions})
	for i, p := range out.Items {
		p.Position = uint32(i + 1)
	}
	return out, err
}

// Reservations lists all reservations. since is as for Nodes.
func (c *Client) Reservations(ctx context.Context, since slurm.Time) (List[*slurm.Reservation], error) {
	return requestList(ctx, c, call[[]*slurm.Reservation]{
		op: "listing reservations", name: "reservations", key: "reservations",
		send:   func(ctx context.Context, b wire.Binding) (*http.Response, error) { return b.Reservations(ctx, since) },
		decode: wire.Binding.DecodeReservations})
}

// Licenses lists all licences. It leaves out records with the same name and nodes: they are layers of a hierarchical resource, which
// servers before v0.0.44 send without nodes. Unknown is better than the numbers of one layer.
func (c *Client) Licenses(ctx context.Context) (List[slurm.License], error) {
	type layer struct{ name, nodes string }
	seen := map[layer]int{}
	out, err := requestList(ctx, c, call[[]slurm.License]{op: "listing licences", name: "licenses", key: "licenses",
		send:   func(ctx context.Context, b wire.Binding) (*http.Response, error) { return b.Licenses(ctx) },
		decode: wire.Binding.DecodeLicenses})
	for _, l := range out.Items {
		seen[layer{l.Name, l.Nodes}]++
	}
	out.Items = slices.DeleteFunc(out.Items, func(l slurm.License) bool { return seen[layer{l.Name, l.Nodes}] > 1 })
	return out, err
}

// Stats reads the statistics that sdiag(1) shows.
func (c *Client) Stats(ctx context.Context) (*slurm.Stats, error) {
	v, _, err := call[*slurm.Stats]{op: "reading scheduler statistics", name: "diag", key: "statistics",
		send:   func(ctx context.Context, b wire.Binding) (*http.Response, error) { return b.Stats(ctx) },
		decode: wire.Binding.DecodeStats}.run(ctx, c)
	return v, err
}

// Conf reads the running configuration of slurmctld. Before API v0.0.45 it returns CodeUnsupported
// without a request.
func (c *Client) Conf(ctx context.Context) (*slurm.Conf, error) {
	v, _, err := call[*slurm.Conf]{op: "reading the configuration", name: "conf", key: "slurm_conf",
		send:   func(ctx context.Context, b wire.Binding) (*http.Response, error) { return b.Conf(ctx) },
		decode: wire.Binding.DecodeConf}.run(ctx, c)
	return v, err
}

// Shares reads the fair-share tree, as sshare(1) shows it.
func (c *Client) Shares(ctx context.Context) (List[slurm.Share], error) {
	return requestList(ctx, c, call[[]slurm.Share]{op: "reading shares", name: "shares", key: "shares",
		send:   func(ctx context.Context, b wire.Binding) (*http.Response, error) { return b.Shares(ctx) },
		decode: wire.Binding.DecodeShares})
}

// Associations lists slurmdbd's associations. Associations, Accounts, Users and QOS return
// CodeNoAccounting for a cluster without slurmdbd, and CodeUnsupported if the cluster has a slurmdbd
// that slurmrestd does not serve.
func (c *Client) Associations(ctx context.Context) (List[slurm.Association], error) {
	return requestList(ctx, c, call[[]slurm.Association]{
		op: "listing associations", name: "associations", key: "associations", slurmdbd: true,
		send:   func(ctx context.Context, b wire.Binding) (*http.Response, error) { return b.Associations(ctx) },
		decode: wire.Binding.DecodeAssociations})
}

// Accounts lists slurmdbd's accounts.
func (c *Client) Accounts(ctx context.Context) (List[slurm.Account], error) {
	return requestList(ctx, c, call[[]slurm.Account]{
		op: "listing accounts", name: "accounts", key: "accounts", slurmdbd: true,
		send:   func(ctx context.Context, b wire.Binding) (*http.Response, error) { return b.Accounts(ctx) },
		decode: wire.Binding.DecodeAccounts})
}

// Users lists slurmdbd's users.
func (c *Client) Users(ctx context.Context) (List[slurm.User], error) {
	return requestList(ctx, c, call[[]slurm.User]{op: "listing users", name: "users", key: "users", slurmdbd: true,
		send:   func(ctx context.Context, b wire.Binding) (*http.Response, error) { return b.Users(ctx) },
		decode: wire.Binding.DecodeUsers})
}

// QOS lists slurmdbd's qualities of service.
func (c *Client) QOS(ctx context.Context) (List[slurm.QOS], error) {
	return requestList(ctx, c, call[[]slurm.QOS]{op: "listing QOS", name: "qos", key: "qos", slurmdbd: true,
		send:   func(ctx context.Context, b wire.Binding) (*http.Response, error) { return b.QOS(ctx) },
		decode: wire.Binding.DecodeQOS})
}
