package slurmclients

import (
	"context"
	"fmt"

	"github.com/slurmtide/slurmtide/slurmclient"
	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

// ReadReferences reads nodes, jobs, reservations and partitions again. It returns a reading with the references and the
// requests of pending jobs, or an error if something cannot be read, or if the list of jobs lacks jobs.
func (s *Cluster) ReadReferences(ctx context.Context) (*Reading, error) {
	const op = "reading what needs slurm nodes"
	client, err := s.client(op)
	if err != nil {
		return nil, err
	}
	c := s.connection.Load()
	if c == nil {
		return nil, fmt.Errorf("%s: %w", op, errNotConnected)
	}
	stats, err := client.Stats(ctx)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", op, err)
	}
	if err := c.Cache.Refresh(ctx, slurmclient.Nodes, slurmclient.Jobs, slurmclient.Reservations,
		slurmclient.Partitions); err != nil {
		return nil, fmt.Errorf("%s: %w", op, err)
	}
	snapshot := c.Cache.Snapshot()
	if lacksJobs(snapshot.Jobs.Value, stats) {
		return nil, fmt.Errorf("%s: slurmctld counts %d unfinished jobs and lists fewer than half of them: "+
			"PrivateData in slurm.conf hides jobs from the operator's user, who needs AdminLevel Operator",
			op, stats.JobsPending+stats.JobsRunning)
	}
	var r readingBuilder
	out := r.next(snapshot)
	if out.ReferencesProblem != "" {
		return nil, fmt.Errorf("%s: %s", op, out.ReferencesProblem)
	}
	return out, nil
}

// ReadNodes reads all nodes again. It returns them by name.
func (s *Cluster) ReadNodes(ctx context.Context) (map[string]*slurm.Node, error) {
	const op = "reading slurm nodes"
	c := s.connection.Load()
	if c == nil {
		return nil, fmt.Errorf("%s: %w", op, errNotConnected)
	}
	if err := c.Cache.Refresh(ctx, slurmclient.Nodes); err != nil {
		return nil, fmt.Errorf("%s: %w", op, err)
	}
	out := map[string]*slurm.Node{}
	for _, n := range c.Cache.Snapshot().Nodes.Value {
		out[n.Name] = n
	}
	return out, nil
}

// lacksJobs reports whether a list of jobs is filtered: it has fewer than half of the unfinished jobs that slurmctld
// counted shortly before.
func lacksJobs(jobs []*slurm.Job, stats *slurm.Stats) bool {
	listed := uint64(0)
	for _, j := range jobs {
		switch {
		case j.IsArrayBase():
			tasks, _ := slurm.ParseArrayTasks(j.ArrayTasks)
			listed += max(1, tasks.Count)
		default:
			listed++
		}
	}
	return 2*listed < stats.JobsPending+stats.JobsRunning
}
