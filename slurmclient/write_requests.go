package slurmclient

import (
	"context"
	"net/http"
	"strconv"

	"github.com/slurmtide/slurmtide/slurmclient/internal/wire"
	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

// NodeUpdate is a change of a node. Fields that are nil are not changed.
type NodeUpdate = wire.NodeUpdate

// JobUpdate is a change of a job. Fields that are nil are not changed.
type JobUpdate = wire.JobUpdate

// A write is sent only once. If it returns CodeUnavailable, slurmctld may have carried it out
// nevertheless, so callers read before they try again.

type sendRequest = func(context.Context, wire.Binding) (*http.Response, error)

func (c *Client) write(ctx context.Context, op, name string, send sendRequest) error {
	_, _, err := call[struct{}]{op: op, name: name, send: send,
		decode: func(wire.Binding, []byte) (struct{}, error) { return struct{}{}, nil }}.run(ctx, c)
	return err
}

// UpdateNode changes a node (scontrol(1), "update NodeName="). It returns CodeUnsupported for a
// topology before API v0.0.43.
func (c *Client) UpdateNode(ctx context.Context, name string, update NodeUpdate) error {
	return c.write(ctx, "updating node "+strconv.Quote(name), "update node",
		func(ctx context.Context, b wire.Binding) (*http.Response, error) {
			return b.UpdateNode(ctx, name, update)
		})
}

// Drain sets the DRAIN flag and the reason: the node gets no new jobs. Running jobs continue.
func (c *Client) Drain(ctx context.Context, name, reason string) error {
	return c.setState(ctx, name, "DRAIN", &reason)
}

// Undrain removes the DRAIN flag and its reason. Slurm 24.11 leaves a space as the reason.
func (c *Client) Undrain(ctx context.Context, name string) error {
	return c.setState(ctx, name, "UNDRAIN", blankReason())
}

// Resume returns a down or drained node to service and removes its reason as Undrain does.
func (c *Client) Resume(ctx context.Context, name string) error {
	return c.setState(ctx, name, "RESUME", blankReason())
}

// blankReason returns a reason that replaces another one. Slurm 24.11 keeps the reason of a node that
// is undrained, resumed or turned FUTURE, and ignores an empty reason. Slurm 26.05 removes the reason
// in any case.
func blankReason() *string { return new(" ") }

// Down takes a node out of service at once. Its jobs end with NODE_FAIL.
func (c *Client) Down(ctx context.Context, name, reason string) error {
	return c.setState(ctx, name, "DOWN", &reason)
}

// Future sets a dynamic node to FUTURE, so that a slurmd may register with the record later, and
// removes its reason as Undrain does.
func (c *Client) Future(ctx context.Context, name string) error {
	return c.setState(ctx, name, "FUTURE", blankReason())
}

func (c *Client) setState(ctx context.Context, name, state string, reason *string) error {
	return c.UpdateNode(ctx, name, NodeUpdate{State: &state, Reason: reason})
}

// CreateNode creates the records of dynamic nodes from a line as in slurm.conf(5), such as
// "NodeName=cpu-[0-9] CPUs=4 State=FUTURE". It returns CodeUnsupported before API v0.0.44.
func (c *Client) CreateNode(ctx context.Context, conf string) error {
	return c.write(ctx, "creating a node", "create node",
		func(ctx context.Context, b wire.Binding) (*http.Response, error) { return b.CreateNode(ctx, conf) })
}

// DeleteNode deletes the record of a dynamic node. It returns CodeConflict if the node has jobs or is
// not dynamic.
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

// CancelJob cancels a job, an array, or one task ("7_3"). It returns CodeConflict if the job has
// already finished and CodeNotFound if it does not exist. Before API v0.0.42 servers report neither,
// and CancelJob returns nil.
func (c *Client) CancelJob(ctx context.Context, id string) error {
	return c.write(ctx, "cancelling job "+strconv.Quote(id), "cancel job",
		func(ctx context.Context, b wire.Binding) (*http.Response, error) { return b.CancelJob(ctx, id) })
}

// UpdateJob changes a job (scontrol(1), "update JobId=").
func (c *Client) UpdateJob(ctx context.Context, id string, update JobUpdate) error {
	return c.write(ctx, "updating job "+strconv.Quote(id), "update job",
		func(ctx context.Context, b wire.Binding) (*http.Response, error) { return b.UpdateJob(ctx, id, update) })
}

// SetReservation creates the reservation, or updates it if one of that name exists. It returns
// CodeUnsupported before API v0.0.43.
func (c *Client) SetReservation(ctx context.Context, r slurm.ReservationRequest) error {
	return c.write(ctx, "setting reservation "+strconv.Quote(r.Name), "set reservation",
		func(ctx context.Context, b wire.Binding) (*http.Response, error) { return b.SetReservation(ctx, r) })
}

// DeleteReservation deletes a reservation. It returns CodeUnsupported before API v0.0.42.
func (c *Client) DeleteReservation(ctx context.Context, name string) error {
	return c.write(ctx, "deleting reservation "+strconv.Quote(name), "delete reservation",
		func(ctx context.Context, b wire.Binding) (*http.Response, error) {
			return b.DeleteReservation(ctx, name)
		})
}

// Reconfigure makes slurmctld and all slurmds read their configuration again.
func (c *Client) Reconfigure(ctx context.Context) error {
	return c.write(ctx, "reconfiguring", "reconfigure",
		func(ctx context.Context, b wire.Binding) (*http.Response, error) { return b.Reconfigure(ctx) })
}
