package slurmclient

import (
	"context"
	"errors"
	"reflect"

	"github.com/slurmtide/slurmtide/slurmclient/internal/pacing"
	"github.com/slurmtide/slurmtide/slurmclient/internal/records"
	"github.com/slurmtide/slurmtide/slurmclient/internal/wire"
	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

// readerOf returns a function that reads a resource. The function keeps state between polls and must
// only be called from one goroutine.
func (c *Cache) readerOf(r Resource) func(context.Context) (reading, error) {
	switch r {
	case Nodes:
		return c.nodesReader()
	case Jobs:
		return c.jobsReader()
	case Partitions:
		return gatedReader(c, c.client.Partitions,
			func(s *Snapshot) *Reading[[]*slurm.Partition] { return &s.Partitions })
	case Reservations:
		return gatedReader(c, c.client.Reservations,
			func(s *Snapshot) *Reading[[]*slurm.Reservation] { return &s.Reservations })
	case Licenses:
		return ungatedReader(c, c.client.Licenses, func(s *Snapshot) *Reading[[]slurm.License] { return &s.Licenses })
	case Shares:
		return ungatedReader(c, c.client.Shares, func(s *Snapshot) *Reading[[]slurm.Share] { return &s.Shares })
	case Associations:
		return ungatedReader(c, c.client.Associations,
			func(s *Snapshot) *Reading[[]slurm.Association] { return &s.Associations })
	case Accounts:
		return ungatedReader(c, c.client.Accounts, func(s *Snapshot) *Reading[[]slurm.Account] { return &s.Accounts })
	case Users:
		return ungatedReader(c, c.client.Users, func(s *Snapshot) *Reading[[]slurm.User] { return &s.Users })
	case QOS:
		return ungatedReader(c, c.client.QOS, func(s *Snapshot) *Reading[[]slurm.QOS] { return &s.QOS })
	case Pings:
		return valueReader(c, c.client.Ping, func(s *Snapshot) *Reading[[]slurm.Ping] { return &s.Pings })
	case Stats:
		return valueReader(c, c.readStats, func(s *Snapshot) *Reading[*slurm.Stats] { return &s.Stats })
	case EndedJobs:
		return c.endedJobsReader()
	case Conf:
		return valueReader(c, c.client.confIfSupported, func(s *Snapshot) *Reading[*slurm.Conf] { return &s.Conf })
	}
	return func(context.Context) (reading, error) {
		return reading{}, &Error{Code: CodeInvalid, Op: "polling " + string(r), Message: "unknown resource"}
	}
}

// gatedReader returns a function that reads a list with update_time.
func gatedReader[T any](
	c *Cache, list func(context.Context, slurm.Time) (List[T], error), at func(*Snapshot) *Reading[[]T],
) func(context.Context) (reading, error) {
	var g pacing.Gate
	return func(ctx context.Context) (reading, error) {
		now, server := c.cfg.Now(), c.client.serverNumber()
		since := g.UpdateTime(now, server)
		l, err := list(ctx, since)
		if IsUnchanged(err) {
			return reading{}, nil
		}
		if err != nil {
			return reading{}, err
		}
		g.RecordAnswer(now, server, since, l.ServerTime)
		return changedReading(c, l.Items, at, l.ServerTime, l.Server), nil
	}
}

// ungatedReader returns a function that reads a list whose request has no update_time.
func ungatedReader[T any](
	c *Cache, list func(context.Context) (List[T], error), at func(*Snapshot) *Reading[[]T],
) func(context.Context) (reading, error) {
	return func(ctx context.Context) (reading, error) {
		l, err := list(ctx)
		if CodeOf(err) == CodeNoAccounting {
			got := changedReading(c, nil, at, 0, slurm.Server{})
			got.absent = true
			return got, nil
		}
		if err != nil {
			return reading{}, err
		}
		return changedReading(c, l.Items, at, l.ServerTime, l.Server), nil
	}
}

// valueReader returns a function that reads a single value.
func valueReader[T any](
	c *Cache, get func(context.Context) (T, error), at func(*Snapshot) *Reading[T],
) func(context.Context) (reading, error) {
	return func(ctx context.Context) (reading, error) {
		v, err := get(ctx)
		if err != nil {
			return reading{}, err
		}
		return changedReading(c, v, at, 0, slurm.Server{}), nil
	}
}

// readStats reads the statistics. If the server's clock went backwards, a different server answered.
func (c *Cache) readStats(ctx context.Context) (*slurm.Stats, error) {
	stats, err := c.client.Stats(ctx)
	if old := c.Snapshot().Stats; err == nil && old.Known && stats.At < old.Value.At {
		c.client.countServer()
	}
	return stats, err
}

// confIfSupported is Conf, but returns nil if the API version, or the server in that version, does not have it.
func (c *Client) confIfSupported(ctx context.Context) (*slurm.Conf, error) {
	conf, err := c.Conf(ctx)
	if errors.Is(err, wire.ErrUnsupported) || isMissingPath(err) {
		return nil, nil
	}
	if conf != nil {
		conf.NextJobID = 0 // changes without a change of the configuration
	}
	return conf, err
}

// changedReading returns a reading of v that has an update only if v differs from the cached value.
func changedReading[T any](
	c *Cache, v T, at func(*Snapshot) *Reading[T], serverTime slurm.Time, server slurm.Server,
) reading {
	got := reading{serverTime: serverTime, server: server}
	if old := at(c.Snapshot()); old.Known && reflect.DeepEqual(old.Value, v) {
		return got
	}
	got.update = func(s *Snapshot) { at(s).Value = v }
	return got
}

func (c *Cache) nodesReader() func(context.Context) (reading, error) {
	var g pacing.Gate
	return func(ctx context.Context) (reading, error) {
		now, server := c.cfg.Now(), c.client.serverNumber()
		old := c.Snapshot().Nodes
		since := g.NodesUpdateTime(now, server, len(old.Value))
		m := records.NewNodeMerger(old.Value)
		out, err := c.client.eachNode(ctx, since, m.AddCopy)
		if IsUnchanged(err) {
			return reading{}, nil
		}
		if err != nil {
			return reading{}, err
		}
		g.RecordAnswer(now, server, since, out.LastUpdate)
		got := reading{serverTime: out.LastUpdate, server: out.Server}
		if items, changed := m.Merge(); changed || !old.Known {
			got.update = func(s *Snapshot) { s.Nodes.Value = items }
		}
		return got, nil
	}
}
