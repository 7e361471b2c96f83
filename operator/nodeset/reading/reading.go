// Package reading extracts from a reading of Slurm the part about one NodeSet, and decides whether it is fresh
// enough to act on.
package reading

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/slurmtide/slurmtide/operator/nodeset/observed"
	"github.com/slurmtide/slurmtide/operator/nodeset/plan"
	"github.com/slurmtide/slurmtide/operator/slurmclients"
	"github.com/slurmtide/slurmtide/slurmclient"
	"github.com/slurmtide/slurmtide/slurmclient/occupancy"
	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

// SlurmCluster is a live Slurm cluster.
type SlurmCluster interface {
	// Reading returns the newest reading, never nil. It does not block.
	Reading() *slurmclients.Reading
	// Problem returns the reason for a missing connection, or an empty string.
	Problem() string
	// ReadNode reads one node from slurmrestd, also a FUTURE one.
	ReadNode(ctx context.Context, name string) (*slurm.Node, error)
	// ReadNodes reads all nodes again, by name.
	ReadNodes(ctx context.Context) (map[string]*slurm.Node, error)
	Drain(ctx context.Context, name, reason string) error
	Undrain(ctx context.Context, name string) error
	Resume(ctx context.Context, name string) error
	Future(ctx context.Context, name string) error
	DeleteNode(ctx context.Context, name string) error
	CreateNodes(ctx context.Context, names, options string) error
	UpdateNode(ctx context.Context, name string, update slurmclient.NodeUpdate) error
	SetReservation(ctx context.Context, r slurm.ReservationRequest) error
	DeleteReservation(ctx context.Context, name string) error
	// ReadReferences reads the nodes, and the objects that name and need them, again.
	ReadReferences(ctx context.Context) (*slurmclients.Reading, error)
	// RequestRefresh requests a reading before the end of the poll interval. It does not block.
	RequestRefresh()
}

// Freshness decides whether a reading is fresh.
type Freshness struct {
	StaleAfter time.Duration
}

// ReadingOf converts a reading for the plan. It includes the records whose name belongs to an
// existing or possible worker, as ours reports, and those whose comment names the NodeSet. slurm is
// nil if the cluster does not exist.
func (f Freshness) ReadingOf(now time.Time, s SlurmCluster, r *slurmclients.Reading, uid string,
	ours func(name string) bool,
	kubeNodes func(string) bool, faults []string) plan.SlurmReading {
	if s == nil {
		return plan.SlurmReading{Problem: "its Controller or Cluster does not exist"}
	}
	out := plan.SlurmReading{Connected: true, Known: r.Complete(), Records: map[string]plan.Record{},
		Work: map[string]occupancy.Work{}, DrainedSince: r.DrainedSince}
	if !out.Known {
		out.Problem = cmp.Or(s.Problem(), r.Problem, "Slurm has not been read yet")
		return out
	}
	out.JobsReadAt, out.NodesReadAt = r.Snapshot.Jobs.ReadAt, r.Snapshot.Nodes.ReadAt
	out.ClusterName = r.Snapshot.Nodes.Cluster
	out.Problem = f.stalenessOf(now, r)
	out.Fresh, out.Mixed = out.Problem == "", isMixed(r)
	out.References, out.ReferencesProblem = r.References, referencesProblem(r)
	out.Pending, out.NodesIn = r.Pending, r.NodesIn
	for name, n := range r.Nodes {
		if n.State.Base != slurm.NodeFuture {
			out.TotalNodes++
		}
		// Most nodes belong to others. Parsing their comments would cost too much.
		if !ours(name) && !strings.Contains(n.Comment, uid) {
			continue
		}
		record := observed.Record(n, kubeNodes, faults)
		if !ours(name) && record.OwnerUID != uid {
			continue
		}
		out.Records[name] = record
	}
	for name, w := range r.Work { // also of nodes that the reading lacks
		if _, listed := out.Records[name]; listed || ours(name) && r.Nodes[name] == nil {
			out.Work[name] = w
		}
	}
	return out
}

// stalenessOf explains why a reading is not fresh, empty if it is.
func (f Freshness) stalenessOf(now time.Time, r *slurmclients.Reading) string {
	if r.Problem != "" {
		return r.Problem
	}
	if isMixed(r) {
		return fmt.Sprintf("the nodes were read from the Slurm cluster %s, the jobs from %s", r.Snapshot.Nodes.Cluster, r.Snapshot.Jobs.Cluster)
	}
	for _, p := range []slurmclient.Poll{r.Snapshot.Nodes.Poll, r.Snapshot.Jobs.Poll} {
		switch age := p.Age(now); {
		case p.Err != nil:
			return fmt.Sprintf("reading %s: %v", p.Resource, p.Err)
		case age > f.StaleAfter:
			return fmt.Sprintf("the reading of %s is %s old", p.Resource, age.Round(time.Second))
		}
	}
	return ""
}

// isMixed reports whether nodes and jobs were read from two Slurm clusters.
func isMixed(r *slurmclients.Reading) bool {
	nodes, jobs := r.Snapshot.Nodes.Cluster, r.Snapshot.Jobs.Cluster
	return nodes != jobs && nodes != "" && jobs != ""
}

// referencesProblem explains why it is not known which objects name Slurm nodes, empty if it is. Reservations and
// partitions are polled seldom and read again before a record is deleted, so their age does not matter here.
func referencesProblem(r *slurmclients.Reading) string {
	for _, p := range []slurmclient.Poll{r.Snapshot.Reservations.Poll, r.Snapshot.Partitions.Poll} {
		if p.Err != nil {
			return fmt.Sprintf("reading %s: %v", p.Resource, p.Err)
		}
	}
	return r.ReferencesProblem
}

// NeededRecords returns which surplus records pending jobs need according to a reading, with the reason, by name.
func NeededRecords(r *slurmclients.Reading, surplus plan.Surplus) map[string]string {
	s := plan.SlurmReading{Pending: r.Pending, NodesIn: r.NodesIn, Records: map[string]plan.Record{}}
	for _, name := range surplus.Records {
		if n := r.Nodes[name]; n != nil {
			s.Records[name] = plan.Record{Name: name, Partitions: n.Partitions, Features: n.Features}
		}
	}
	return plan.NeededRecords(&s, surplus)
}

// CheckPrecondition reads the Slurm node right before a step, and reports whether the step's precondition is met. It
// is never met for Slurm nodes of other NodeSets. shape is the shape of new workers. An error means that the node
// could not be read.
func CheckPrecondition(ctx context.Context, s SlurmCluster, own func(*slurm.Node) bool, faults []string,
	shape observed.RecordShape, step plan.Step) (bool, error) {
	if step.Precondition == plan.NoPrecondition {
		return true, nil
	}
	if s == nil {
		return false, fmt.Errorf("reading slurm node %s: the Slurm cluster does not exist", step.SlurmName)
	}
	n, err := s.ReadNode(ctx, step.SlurmName)
	switch {
	case slurmclient.IsNotFound(err):
		return step.IsMetBy(nil), nil
	case err != nil:
		return false, fmt.Errorf("reading slurm node %s: %w", step.SlurmName, err)
	}
	if !own(n) {
		return false, nil
	}
	record := observed.Record(n, func(string) bool { return true }, faults)
	shape.Compare(&record, n)
	return step.IsMetBy(&record), nil
}
