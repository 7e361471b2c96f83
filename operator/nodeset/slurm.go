package nodeset

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/slurmtide/slurmtide/operator/live"
	"github.com/slurmtide/slurmtide/operator/nodeset/plan"
	"github.com/slurmtide/slurmtide/slurmclient"
	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

// Slurm is a live Slurm cluster. live.Slurm is one.
type Slurm interface {
	// Reading is the newest reading, never nil. It does not block.
	Reading() *live.Reading
	// Problem says why there is no connection, empty for none.
	Problem() string
	// LookNode asks slurmrestd for one node, FUTURE ones too.
	LookNode(ctx context.Context, name string) (*slurm.Node, error)
	Drain(ctx context.Context, name, reason string) error
	Undrain(ctx context.Context, name string) error
	Resume(ctx context.Context, name string) error
	Future(ctx context.Context, name string) error
	DeleteNode(ctx context.Context, name string) error
	CreateNodes(ctx context.Context, names, options string) error
	UpdateNode(ctx context.Context, name string, update slurmclient.NodeUpdate) error
	SetReservation(ctx context.Context, r slurm.ReservationRequest) error
	DeleteReservation(ctx context.Context, name string) error
	// Soon has Slurm read sooner than at the end of the period. It does not block.
	Soon()
}

// freshness is when a reading counts as fresh.
type freshness struct {
	staleAfter time.Duration
}

// slurmOf is a reading as the plan sees it: the records whose name ours reports to be
// that of a worker, present or possible, or whose comment names the NodeSet. slurm is
// nil when there is no such cluster.
func (f freshness) slurmOf(now time.Time, s Slurm, r *live.Reading, uid string, ours func(name string) bool, kubeNodes func(string) bool) plan.Slurm {
	if s == nil {
		return plan.Slurm{Problem: "there is no Controller or Cluster of that name"}
	}
	out := plan.Slurm{Connected: true, Known: r.Complete(), Records: map[string]plan.Record{}, Work: map[string]plan.Work{}, DrainedSince: r.DrainedSince}
	if !out.Known {
		out.Problem = cmp.Or(s.Problem(), r.Problem, "Slurm has not been read yet")
		return out
	}
	out.JobsReadAt, out.NodesReadAt = r.Snapshot.Jobs.ReadAt, r.Snapshot.Nodes.ReadAt
	out.Cluster = r.Snapshot.Nodes.Cluster
	out.Problem = f.problem(now, r)
	out.Fresh = out.Problem == ""
	for name, n := range r.Nodes {
		if n.State.Base != slurm.NodeFuture {
			out.Total++
		}
		// Most nodes are of others: their comments are not worth reading.
		if !ours(name) && !strings.Contains(n.Comment, uid) {
			continue
		}
		record := recordOf(n, kubeNodes)
		if !ours(name) && record.Owner != uid {
			continue
		}
		out.Records[name] = record
		if w, ok := r.Work[name]; ok {
			out.Work[name] = plan.Work{Jobs: w.Jobs, LastJob: w.LastJob, End: w.End}
		}
	}
	return out
}

// problem says why a reading is not fresh, empty when it is.
func (f freshness) problem(now time.Time, r *live.Reading) string {
	if r.Problem != "" {
		return r.Problem
	}
	if a, b := r.Snapshot.Nodes.Cluster, r.Snapshot.Jobs.Cluster; a != b && a != "" && b != "" {
		return fmt.Sprintf("the nodes are those of the Slurm cluster %s, the jobs of %s", a, b)
	}
	for _, p := range []slurmclient.Poll{r.Snapshot.Nodes.Poll, r.Snapshot.Jobs.Poll} {
		switch age := p.Age(now); {
		case p.Err != nil:
			return fmt.Sprintf("reading %s: %v", p.Resource, p.Err)
		case age > f.staleAfter:
			return fmt.Sprintf("the reading of %s is %s old", p.Resource, age.Round(time.Second))
		}
	}
	return ""
}

// look is the last look before a step, which finds nothing to be done to Slurm nodes of
// others. It reports whether the Slurm node is as the
// step needs it; an error is not that.
func look(ctx context.Context, s Slurm, own func(*slurm.Node) bool, step plan.Step) (bool, error) {
	if step.Look == plan.LookAtNothing {
		return true, nil
	}
	if s == nil {
		return false, fmt.Errorf("looking at slurm node %s: there is no Slurm cluster", step.SlurmName)
	}
	n, err := s.LookNode(ctx, step.SlurmName)
	switch {
	case slurmclient.IsNotFound(err):
		return step.Look.Passes(nil), nil
	case err != nil:
		return false, fmt.Errorf("looking at slurm node %s: %w", step.SlurmName, err)
	}
	if !own(n) {
		return false, nil
	}
	record := recordOf(n, func(string) bool { return true })
	return step.Look.Passes(&record), nil
}
