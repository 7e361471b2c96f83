package slurmclient

import (
	"context"
	"net/http"
	"strconv"

	"github.com/slurmtide/slurmtide/slurmclient/internal/wire"
	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

// NodeUpdate is a change of a node. Fields that are nil stay as they are.
type NodeUpdate = wire.NodeUpdate

// JobUpdate is a change of a job. Fields that are nil stay as they are.
type JobUpdate = wire.JobUpdate

// Writes are sent once. When one ends with CodeUnavailable, slurmctld may have
// carried it out all the same: read before trying again.

type write = func(context.Context, wire.Binding) (*http.Response, error)

func (c *Client) write(ctx context.Context, op, name string, send write) error {
	_, _, err := call[struct{}]{op: op, name: name, send: send,
		decode: func(wire.Binding, []byte) (struct{}, error) { return struct{}{}, nil }}.run(ctx, c)
	return err
}

// UpdateNode changes a node (scontrol(1), "update NodeName="). CodeUnsupported for a
// topology before v0.0.43.
func (c *Client) UpdateNode(ctx context.Context, name string, update NodeUpdate) error {
	return c.write(ctx, "updating node "+strconv.Quote(name), "update node",
		func(ctx context.Context, b wire.Binding) (*http.Response, error) {
			return b.UpdateNode(ctx, name, update)
		})
}

// Drain lets the node take no new jobs and sets the reason. Running jobs go on.
func (c *Client) Drain(ctx context.Context, name, reason string) error {
	return c.setState(ctx, name, "DRAIN", &reason)
}

// Undrain takes the DRAIN flag and its reason away; 24.11 leaves a space for the reason.
func (c *Client) Undrain(ctx context.Context, name string) error {
	return c.setState(ctx, name, "UNDRAIN", blank())
}

// Resume puts a down or drained node back into service, and takes its reason away as
// Undrain does.
func (c *Client) Resume(ctx context.Context, name string) error {
	return c.setState(ctx, name, "RESUME", blank())
}

// blank is a reason to put in the place of another: 24.11 keeps the reason of a node
// that is undrained, resumed or FUTURE, and takes an empty one for none given. 26.05 takes it
// away in any case.
func blank() *string { return new(" ") }

// Down takes a node out of service at once. Its jobs end with NODE_FAIL.
func (c *Client) Down(ctx context.Context, name, reason string) error {
	return c.setState(ctx, name, "DOWN", &reason)
}

// Future turns a dynamic node's record back into one of a node to come, and takes its
// reason away as Undrain does.
func (c *Client) Future(ctx context.Context, name string) error {
	return c.setState(ctx, name, "FUTURE", blank())
}

func (c *Client) setState(ctx context.Context, name, state string, reason *string) error {
	return c.UpdateNode(ctx, name, NodeUpdate{State: &state, Reason: reason})
}

// CreateNode makes a dynamic node's record from a line as in slurm.conf(5), such
// as "NodeName=cpu-[0-9] CPUs=4 State=FUTURE". CodeUnsupported before v0.0.45.
func (c *Client) CreateNode(ctx context.Context, conf string) error {
	return c.write(ctx, "creating a node", "create node",
		func(ctx context.Context, b wire.Binding) (*http.Response, error) { return b.CreateNode(ctx, conf) })
}

// DeleteNode removes a dynamic node's record. CodeConflict when it has jobs or
// is not dynamic.
func (c *Client) DeleteNode(ctx context.Context, name string) error {
	return c.write(ctx, "deleting node "+strconv.Quote(name), "delete node",
		func(ctx context.Context, b wire.Binding) (*http.Response, error) { return b.DeleteNode(ctx, name) })
}

// SubmitJob submits a batch job and returns its id.
func (c *Client) SubmitJob(ctx context.Context, job slurm.JobRequest) (uint32, error) {
	id, _, err := call[uint32]{op: "submitting a job", name: "submit job",
		send:   func(ctx context.Context, b wire.Binding) (*http.Response, error) { return b.SubmitJob(ctx, job) },
		decode: wire.Binding.DecodeSubmitted}.run(ctx, c)
	if err == nil && id == 0 {
		err = &Error{Code: CodeUnavailable, Op: "submitting a job", Status: http.StatusOK,
			Message: "the answer has no job id"}
	}
	return id, err
}

// CancelJob cancels a job, an array, or one task ("7_3"). CodeConflict when it
// has finished already, CodeNotFound when there is none; servers tell neither
// before API v0.0.42, and nil is returned then.
func (c *Client) CancelJob(ctx context.Context, id string) error {
	return c.write(ctx, "cancelling job "+strconv.Quote(id), "cancel job",
		func(ctx context.Context, b wire.Binding) (*http.Response, error) { return b.CancelJob(ctx, id) })
}

// UpdateJob changes a job (scontrol(1), "update JobId=").
func (c *Client) UpdateJob(ctx context.Context, id string, update JobUpdate) error {
	return c.write(ctx, "updating job "+strconv.Quote(id), "update job",
		func(ctx context.Context, b wire.Binding) (*http.Response, error) { return b.UpdateJob(ctx, id, update) })
}

// SetReservation creates the reservation, or updates it where one of that name
// exists. CodeUnsupported before v0.0.43.
func (c *Client) SetReservation(ctx context.Context, r slurm.ReservationRequest) error {
	return c.write(ctx, "setting reservation "+strconv.Quote(r.Name), "set reservation",
		func(ctx context.Context, b wire.Binding) (*http.Response, error) { return b.SetReservation(ctx, r) })
}

// DeleteReservation removes a reservation. CodeUnsupported before v0.0.43.
func (c *Client) DeleteReservation(ctx context.Context, name string) error {
	return c.write(ctx, "deleting reservation "+strconv.Quote(name), "delete reservation",
		func(ctx context.Context, b wire.Binding) (*http.Response, error) {
			return b.DeleteReservation(ctx, name)
		})
}

// Reconfigure makes slurmctld and the slurmds read their configuration again.
func (c *Client) Reconfigure(ctx context.Context) error {
	return c.write(ctx, "reconfiguring", "reconfigure",
		func(ctx context.Context, b wire.Binding) (*http.Response, error) { return b.Reconfigure(ctx) })
}
