package live

import (
	"context"
	"time"

	"github.com/slurmtide/slurmtide/operator/api/access"
	"github.com/slurmtide/slurmtide/slurmclient"
	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

// Scontrol runs scontrol(1) where slurmctld runs.
type Scontrol interface {
	// Run runs it with the arguments, as the words they are, on the cluster of an object.
	// It blocks until scontrol has ended. Errors are *slurmclient.Error.
	Run(ctx context.Context, k access.ClusterKey, args ...string) error
}

// The writes are sent once, to Slurm as it is now. Their errors are of slurmclient: after
// one of CodeUnavailable the write may have been done all the same.

// Drain lets the Slurm node take no new jobs, with the reason.
func (s *Cluster) Drain(ctx context.Context, slurmNode, drainReason string) error {
	return s.write(ctx, "draining", func(c *slurmclient.Client) error { return c.Drain(ctx, slurmNode, drainReason) })
}

// Undrain takes the drain of the Slurm node and its reason away.
func (s *Cluster) Undrain(ctx context.Context, slurmNode string) error {
	return s.write(ctx, "undraining", func(c *slurmclient.Client) error { return c.Undrain(ctx, slurmNode) })
}

// Resume puts a Slurm node that is down or drained back into service.
func (s *Cluster) Resume(ctx context.Context, slurmNode string) error {
	return s.write(ctx, "resuming", func(c *slurmclient.Client) error { return c.Resume(ctx, slurmNode) })
}

// Down takes the Slurm node out of service at once; its jobs fail.
func (s *Cluster) Down(ctx context.Context, slurmNode, reason string) error {
	return s.write(ctx, "setting a node down", func(c *slurmclient.Client) error { return c.Down(ctx, slurmNode, reason) })
}

// Future turns the record of a dynamic Slurm node into one of a node to come.
func (s *Cluster) Future(ctx context.Context, slurmNode string) error {
	return s.write(ctx, "setting a node to FUTURE", func(c *slurmclient.Client) error { return c.Future(ctx, slurmNode) })
}

// UpdateNode changes what is set in the update: comment, features, topology … A topology is
// of CodeUnsupported before v0.0.43, where Slurm has none of that kind.
func (s *Cluster) UpdateNode(ctx context.Context, slurmNode string, update slurmclient.NodeUpdate) error {
	return s.writeAfterPing(ctx, "updating a node", func(c *slurmclient.Client) error { return c.UpdateNode(ctx, slurmNode, update) })
}

// DeleteNode removes the record of a dynamic Slurm node. CodeConflict when it has jobs.
func (s *Cluster) DeleteNode(ctx context.Context, slurmNode string) error {
	return s.write(ctx, "deleting a node", func(c *slurmclient.Client) error { return c.DeleteNode(ctx, slurmNode) })
}

// ReadNode reads one Slurm node now, FUTURE ones too; see slurmclient.Client.Node for what
// of it may be older. CodeNotFound when Slurm does not know it.
func (s *Cluster) ReadNode(ctx context.Context, slurmNode string) (*slurm.Node, error) {
	const op = "reading a node"
	c, err := s.client(op)
	if err != nil {
		return nil, err
	}
	leave, err := s.acquire(ctx, op)
	if err != nil {
		return nil, err
	}
	defer leave()
	return c.Node(ctx, slurmNode)
}

// LookJobs lists the jobs now. It is as dear as a poll.
func (s *Cluster) LookJobs(ctx context.Context) ([]*slurm.Job, error) {
	c, err := s.client("listing jobs")
	if err != nil {
		return nil, err
	}
	list, err := c.Jobs(ctx, 0)
	return list.Items, err
}

// CreateNodes makes records of dynamic Slurm nodes. names is a hostlist, options are
// those of a node's line, such as "CPUs=4 Features=a State=FUTURE". Where the API
// cannot, before v0.0.44, it is done by Scontrol. An error of CodeInvalid when names or
// options are not what they should be, and of CodeConflict when one of the names is
// there; nothing was asked of Slurm then.
func (s *Cluster) CreateNodes(ctx context.Context, names, options string) error {
	all, words, err := scontrolNodeArgs(names, options)
	if err != nil {
		return err
	}
	if err := s.checkAbsent(ctx, all); err != nil {
		return err
	}
	err = s.write(ctx, "creating nodes", func(c *slurmclient.Client) error { return c.CreateNode(ctx, joinWords(words)) })
	if slurmclient.CodeOf(err) != slurmclient.CodeUnsupported {
		return err
	}
	return s.runScontrol(ctx, append([]string{"create"}, words...), err)
}

// checkAbsent returns an error if one of the Slurm nodes is there, by a list made now. Slurm
// 24.11 refuses to make a record that it has, and then deletes the one that it has,
// worker or not: it must not be asked.
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
			return &slurmclient.Error{Code: slurmclient.CodeConflict, Op: op, Message: n.Name + " is there already"}
		}
	}
	return nil
}

// SetReservation creates the reservation, or updates the one of that name. Where the API
// cannot, before v0.0.43, it is done by Scontrol.
func (s *Cluster) SetReservation(ctx context.Context, r slurm.ReservationRequest) error {
	words, err := scontrolReservationArgs(r)
	if err != nil {
		return err
	}
	err = s.writeAfterPing(ctx, "setting a reservation", func(c *slurmclient.Client) error { return c.SetReservation(ctx, r) })
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

// DeleteReservation removes a reservation. CodeNotFound when there is none. Where the API
// cannot, before v0.0.43, it is done by Scontrol.
func (s *Cluster) DeleteReservation(ctx context.Context, name string) error {
	words, err := scontrolReservationArgs(slurm.ReservationRequest{Name: name})
	if err != nil {
		return err
	}
	err = s.writeAfterPing(ctx, "deleting a reservation", func(c *slurmclient.Client) error { return c.DeleteReservation(ctx, name) })
	if slurmclient.CodeOf(err) != slurmclient.CodeUnsupported {
		return err
	}
	return s.runScontrol(ctx, append([]string{"delete"}, words...), err)
}

// Refresh waits for polls of nodes and jobs that begin after the call, and returns why
// they failed. The reading of them may come a moment later.
func (s *Cluster) Refresh(ctx context.Context) error {
	c := s.connection.Load()
	if c == nil {
		_, err := s.client("refreshing")
		return err
	}
	return c.Cache.Refresh(ctx, slurmclient.Nodes, slurmclient.Jobs)
}

// minRefreshInterval is the least time between two readings that Soon asks for, and how long
// those may take for it to ask: what is dear to read keeps its period.
const (
	minRefreshInterval = 2 * time.Second
	maxRefreshCost     = time.Second
	refreshTimeout     = time.Minute
)

// RequestRefresh has nodes and jobs read now instead of at the end of the period, as after a
// write whose effect somebody waits for. It does not block, and does nothing where that
// was done a moment ago, or is dear.
func (s *Cluster) RequestRefresh() {
	c := s.connection.Load()
	now := time.Now()
	last := s.refreshRequestedAt.Load()
	if c == nil || now.UnixNano()-last < int64(minRefreshInterval) || !s.refreshRequestedAt.CompareAndSwap(last, now.UnixNano()) {
		return
	}
	if known := c.Cache.Snapshot(); known.Nodes.Took+known.Jobs.Took > maxRefreshCost {
		return
	}
	go func() {
		ctx, cancel := context.WithTimeout(context.Background(), refreshTimeout)
		defer cancel()
		// Jobs after nodes: a drain proves something with jobs listed since. How it went the
		// cache tells.
		if c.Cache.Refresh(ctx, slurmclient.Nodes) == nil {
			_ = c.Cache.Refresh(ctx, slurmclient.Jobs)
		}
	}()
}

// writeAfterPing is write for what nobody looked at just before: where the context expects a cluster,
// it asks first which one answers.
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
	leave, err := s.acquire(ctx, op)
	if err != nil {
		return err
	}
	defer leave()
	return send(c)
}

// maxConcurrentRequests is how many requests beside the polls a cluster gets at a time: slurmrestd
// has 20 threads (slurmrestd(8), -t), and is asked by others too.
const maxConcurrentRequests = 16

// acquire waits until there are few enough requests. The caller leaves when its own is done.
func (s *Cluster) acquire(ctx context.Context, op string) (leave func(), err error) {
	select {
	case s.slots <- struct{}{}:
		return func() { <-s.slots }, nil
	case <-ctx.Done():
		return nil, &slurmclient.Error{Code: slurmclient.CodeUnavailable, Op: op, Err: context.Cause(ctx)}
	}
}

// runScontrol runs it, or returns why the API could not where there is nobody to run it.
func (s *Cluster) runScontrol(ctx context.Context, args []string, unsupported error) error {
	if s.cfg.Scontrol == nil {
		return unsupported
	}
	return s.cfg.Scontrol.Run(ctx, s.key, args...)
}
