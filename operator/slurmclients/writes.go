package slurmclients

import (
	"context"
	"time"

	"github.com/slurmtide/slurmtide/operator/refs"
	"github.com/slurmtide/slurmtide/slurmclient"
	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

// Scontrol runs scontrol(1) where slurmctld runs.
type Scontrol interface {
	// Run runs scontrol with the arguments, without a shell, on the cluster of an object. It
	// blocks until scontrol has ended. Errors are *slurmclient.Error.
	Run(ctx context.Context, k refs.ClusterKey, args ...string) error
}

// Writes are sent once and are not retried. Their errors come from slurmclient; after an error of
// CodeUnavailable, Slurm may still have done the write.

// Drain drains the Slurm node with the reason: it gets no new jobs.
func (s *Cluster) Drain(ctx context.Context, slurmNode, drainReason string) error {
	return s.write(ctx, "draining", func(c *slurmclient.Client) error {
		return c.Drain(ctx, slurmNode, drainReason)
	})
}

// Undrain clears the drain of the Slurm node and its reason.
func (s *Cluster) Undrain(ctx context.Context, slurmNode string) error {
	return s.write(ctx, "undraining", func(c *slurmclient.Client) error { return c.Undrain(ctx, slurmNode) })
}

// Resume returns a Slurm node that is down or drained to service.
func (s *Cluster) Resume(ctx context.Context, slurmNode string) error {
	return s.write(ctx, "resuming", func(c *slurmclient.Client) error { return c.Resume(ctx, slurmNode) })
}

// Future sets a dynamic Slurm node to state FUTURE.
func (s *Cluster) Future(ctx context.Context, slurmNode string) error {
	return s.write(ctx, "setting a node to FUTURE", func(c *slurmclient.Client) error {
		return c.Future(ctx, slurmNode)
	})
}

// UpdateNode changes the fields that are set in the update. A topology is refused with
// CodeUnsupported before v0.0.43, which cannot set one.
func (s *Cluster) UpdateNode(ctx context.Context, slurmNode string, update slurmclient.NodeUpdate) error {
	return s.writeAfterPing(ctx, "updating a node", func(c *slurmclient.Client) error {
		return c.UpdateNode(ctx, slurmNode, update)
	})
}

// DeleteNode deletes the record of a dynamic Slurm node. The error is of CodeConflict if the node
// has jobs.
func (s *Cluster) DeleteNode(ctx context.Context, slurmNode string) error {
	return s.write(ctx, "deleting a node", func(c *slurmclient.Client) error { return c.DeleteNode(ctx, slurmNode) })
}

// ReadNode requests one Slurm node, which may be in state FUTURE; slurmclient.Client.Node documents which of
// its fields may be older. The error is of CodeNotFound if Slurm does not know the node.
func (s *Cluster) ReadNode(ctx context.Context, slurmNode string) (*slurm.Node, error) {
	const op = "reading a node"
	c, err := s.client(op)
	if err != nil {
		return nil, err
	}
	release, err := s.acquire(ctx, op)
	if err != nil {
		return nil, err
	}
	defer release()
	return c.Node(ctx, slurmNode)
}

// CreateNodes creates records of dynamic Slurm nodes. names is a hostlist; options has the form of a NodeName
// line in slurm.conf, such as "CPUs=4 Features=a State=FUTURE". Before v0.0.44 the API cannot create nodes,
// and Scontrol does it. The error is of CodeInvalid if names or options are malformed, and of CodeConflict if
// one of the nodes exists; nothing was sent to Slurm then.
func (s *Cluster) CreateNodes(ctx context.Context, names, options string) error {
	all, words, err := scontrolNodeArgs(names, options)
	if err != nil {
		return err
	}
	if err := s.checkAbsent(ctx, all); err != nil {
		return err
	}
	err = s.write(ctx, "creating nodes", func(c *slurmclient.Client) error {
		return c.CreateNode(ctx, joinWords(words))
	})
	if slurmclient.CodeOf(err) != slurmclient.CodeUnsupported {
		return err
	}
	return s.runScontrol(ctx, append([]string{"create"}, words...), err)
}

// checkAbsent lists the Slurm nodes and returns an error if one of the names exists. Slurm 24.11 refuses to
// create an existing node and then deletes the existing record, even if a worker runs it, so such a request
// must not be sent.
func (s *Cluster) checkAbsent(ctx context.Context, slurmNodes []string) error {
	const op = "creating nodes"
	c, err := s.client(op)
	if err != nil {
		return err
	}
	list, err := c.Nodes(ctx, 0)
	if err != nil {
		return err
	}
	wanted := map[string]bool{}
	for _, name := range slurmNodes {
		wanted[name] = true
	}
	for _, n := range list.Items {
		if wanted[n.Name] {
			return &slurmclient.Error{Code: slurmclient.CodeConflict, Op: op, Message: n.Name + " already exists"}
		}
	}
	return nil
}

// SetReservation creates the reservation, or updates an existing one with its name. Before v0.0.43 the API
// cannot do that, and Scontrol does it.
func (s *Cluster) SetReservation(ctx context.Context, r slurm.ReservationRequest) error {
	words, err := scontrolReservationArgs(r)
	if err != nil {
		return err
	}
	err = s.writeAfterPing(ctx, "setting a reservation", func(c *slurmclient.Client) error {
		return c.SetReservation(ctx, r)
	})
	if slurmclient.CodeOf(err) != slurmclient.CodeUnsupported {
		return err
	}
	verb := "create"
	for _, known := range s.Reading().Snapshot.Reservations.Value {
		if known.Name == r.Name {
			verb = "update"
		}
	}
	return s.runScontrol(ctx, append([]string{verb}, words...), err)
}

// DeleteReservation deletes a reservation. The error is of CodeNotFound if it does not exist.
// Before v0.0.43 the API cannot do that, and Scontrol does it.
func (s *Cluster) DeleteReservation(ctx context.Context, name string) error {
	words, err := scontrolReservationArgs(slurm.ReservationRequest{Name: name})
	if err != nil {
		return err
	}
	err = s.writeAfterPing(ctx, "deleting a reservation", func(c *slurmclient.Client) error {
		return c.DeleteReservation(ctx, name)
	})
	if slurmclient.CodeOf(err) != slurmclient.CodeUnsupported {
		return err
	}
	return s.runScontrol(ctx, append([]string{"delete"}, words...), err)
}

// Refresh blocks until polls of nodes and jobs that start after the call have ended, and returns
// their error. Reading may return their result a moment later.
func (s *Cluster) Refresh(ctx context.Context) error {
	c := s.connection.Load()
	if c == nil {
		_, err := s.client("refreshing")
		return err
	}
	return c.Cache.Refresh(ctx, slurmclient.Nodes, slurmclient.Jobs)
}

// minRefreshInterval is the least time between two polls that RequestRefresh starts. Polls that
// take longer than maxRefreshCost are too expensive: RequestRefresh leaves them to their period.
const (
	minRefreshInterval = 2 * time.Second
	maxRefreshCost     = time.Second
	refreshTimeout     = time.Minute
)

// RequestRefresh polls nodes and jobs now instead of at the end of the period, for example after a
// write whose effect a reconciler waits for. It does not block. It does nothing if the last call
// was a moment ago or if polls are expensive.
func (s *Cluster) RequestRefresh() {
	c := s.connection.Load()
	now := time.Now()
	last := s.refreshRequestedAt.Load()
	if c == nil || now.UnixNano()-last < int64(minRefreshInterval) ||
		!s.refreshRequestedAt.CompareAndSwap(last, now.UnixNano()) {
		return
	}
	if known := c.Cache.Snapshot(); known.Nodes.Took+known.Jobs.Took > maxRefreshCost {
		return
	}
	go func() {
		ctx, cancel := context.WithTimeout(context.Background(), refreshTimeout)
		defer cancel()
		// Jobs are polled after nodes: a drain is only proven by a job list that is newer. Errors
		// are in the snapshot.
		if c.Cache.Refresh(ctx, slurmclient.Nodes) == nil {
			_ = c.Cache.Refresh(ctx, slurmclient.Jobs)
		}
	}()
}

// writeAfterPing is write for objects that were not read just before: if the context expects a
// cluster, a ping first verifies which one answers.
func (s *Cluster) writeAfterPing(ctx context.Context, op string, send func(*slurmclient.Client) error) error {
	return s.write(ctx, op, func(c *slurmclient.Client) error {
		if slurmclient.ExpectsCluster(ctx) {
			if _, err := c.Ping(ctx); err != nil {
				return err
			}
		}
		return send(c)
	})
}

func (s *Cluster) write(ctx context.Context, op string, send func(*slurmclient.Client) error) error {
	c, err := s.client(op)
	if err != nil {
		return err
	}
	release, err := s.acquire(ctx, op)
	if err != nil {
		return err
	}
	defer release()
	return send(c)
}

// maxConcurrentRequests limits the concurrent requests to a cluster besides the polls: slurmrestd
// has 20 threads (slurmrestd(8), -t) and serves other clients too.
const maxConcurrentRequests = 16

// acquire blocks until another request may be sent. The caller calls release when it is done.
func (s *Cluster) acquire(ctx context.Context, op string) (release func(), err error) {
	select {
	case s.slots <- struct{}{}:
		return func() { <-s.slots }, nil
	case <-ctx.Done():
		return nil, &slurmclient.Error{Code: slurmclient.CodeUnavailable, Op: op, Err: context.Cause(ctx)}
	}
}

// runScontrol runs scontrol, or returns the API's error if Scontrol is nil.
func (s *Cluster) runScontrol(ctx context.Context, args []string, unsupported error) error {
	if s.cfg.Scontrol == nil {
		return unsupported
	}
	return s.cfg.Scontrol.Run(ctx, s.key, args...)
}
