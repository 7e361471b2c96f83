package wire

import (
	"context"
	"errors"
	"net/http"

	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

// ErrUnsupported is the error of an operation that an API version lacks.
var ErrUnsupported = errors.New("this API version has no such operation")

// Response is the raw answer that the request functions of a binding return. The caller closes its
// body.
type Response = *http.Response

// Binding uses the generated bindings of one API version to send requests and to decode small answers.
// Request functions return ErrUnsupported if the version lacks the operation. They pass since as
// update_time in the format of the version; 0 requests everything.
type Binding interface {
	// Version is the API version, such as "v0.0.44".
	Version() string

	Ping(ctx context.Context) (Response, error)
	Nodes(ctx context.Context, since slurm.Time) (Response, error)
	Node(ctx context.Context, name string) (Response, error)
	Jobs(ctx context.Context, since slurm.Time) (Response, error)
	Job(ctx context.Context, id string) (Response, error)
	JobStates(ctx context.Context, ids []string) (Response, error)
	Partitions(ctx context.Context, since slurm.Time) (Response, error)
	Reservations(ctx context.Context, since slurm.Time) (Response, error)
	Licenses(ctx context.Context) (Response, error)
	Stats(ctx context.Context) (Response, error)
	Conf(ctx context.Context) (Response, error)
	Shares(ctx context.Context) (Response, error)
	Associations(ctx context.Context) (Response, error)
	Accounts(ctx context.Context) (Response, error)
	Users(ctx context.Context) (Response, error)
	QOS(ctx context.Context) (Response, error)
	// EndedJobs requests the jobs in one of slurm.EndStates that ended in a time, the bounds included.
	EndedJobs(ctx context.Context, state string, from, to slurm.Time) (Response, error)

	UpdateNode(ctx context.Context, name string, update NodeUpdate) (Response, error)
	CreateNode(ctx context.Context, conf string) (Response, error)
	DeleteNode(ctx context.Context, name string) (Response, error)
	SubmitJob(ctx context.Context, job slurm.JobRequest) (Response, error)
	CancelJob(ctx context.Context, id string) (Response, error)
	UpdateJob(ctx context.Context, id string, update JobUpdate) (Response, error)
	SetReservation(ctx context.Context, r slurm.ReservationRequest) (Response, error)
	DeleteReservation(ctx context.Context, name string) (Response, error)
	Reconfigure(ctx context.Context) (Response, error)

	DecodePings(body []byte) ([]slurm.Ping, error)
	DecodeJobStates(body []byte) ([]slurm.JobStatus, error)
	DecodePartitions(body []byte) ([]*slurm.Partition, error)
	DecodeReservations(body []byte) ([]*slurm.Reservation, error)
	DecodeLicenses(body []byte) ([]slurm.License, error)
	DecodeStats(body []byte) (*slurm.Stats, error)
	DecodeConf(body []byte) (*slurm.Conf, error)
	DecodeShares(body []byte) ([]slurm.Share, error)
	DecodeAssociations(body []byte) ([]slurm.Association, error)
	DecodeAccounts(body []byte) ([]slurm.Account, error)
	DecodeUsers(body []byte) ([]slurm.User, error)
	DecodeQOS(body []byte) ([]slurm.QOS, error)
	DecodeEndedJobs(body []byte) ([]slurm.EndedJob, error)
	// DecodeSubmitted returns the id of the new job, 0 if the answer has none.
	DecodeSubmitted(body []byte) (uint32, error)
}

// NodeUpdate is a change of a node. Fields that are nil are not changed.
type NodeUpdate struct {
	// State is one of DRAIN, UNDRAIN, RESUME, DOWN and FUTURE.
	State    *string
	Reason   *string
	Comment  *string
	Features []string
	// GRES restores the types of generic resources that a FUTURE record has lost. slurmctld refuses other resources.
	GRES   *string
	Weight *uint32
	// Topology is a topology and unit, such as "topo:block0"; ErrUnsupported before v0.0.43.
	Topology *string
}

// JobUpdate is a change of a job. Fields that are nil are not changed.
type JobUpdate struct {
	Hold     *bool
	Nice     *int32
	Priority *uint32
	Comment  *string
}
