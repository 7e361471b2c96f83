package realslurm

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/slurmtide/slurmtide/test/harness/process"
)

// PopulateNodes is the number of nodes that [Cluster.Populate] needs.
const PopulateNodes = 7

// Populate fills a fresh cluster of at least [PopulateNodes] nodes with jobs and node states of
// many kinds, on which tests compare numbers. It returns when slurmctld reports all of them:
//
//   - nodes n1 allocated, n2 mixed, n3 drained, n4 draining, n5 down, n6
//     reserved, n7 idle
//   - running jobs on CPUs, on GPUs, with a licence, on two nodes; a het job; an
//     array with a throttle; a suspended job
//   - jobs pending for each of resources, priority, dependency, hold, begin time,
//     array throttle, licence, QOS limit (with accounting) and a node that is
//     down; one of them in two partitions
//   - jobs completed, failed and cancelled
//   - an active and a future reservation
//
// It returns the ids of the jobs by name: full, gpus, two-nodes, array, het,
// suspended; for-resources, for-priority, two-partitions, for-dependency, held,
// for-begin, for-licence, for-qos, for-node; completed, failed, cancelled. Afterwards nothing
// changes by itself, except that slurmctld purges the finished jobs after MinJobAge.
func (c *Cluster) Populate(ctx context.Context) (map[string]string, error) {
	if c.config.Nodes < PopulateNodes {
		return nil, fmt.Errorf("populating needs %d nodes, not %d", PopulateNodes, c.config.Nodes)
	}
	ctx, cancel := context.WithTimeoutCause(ctx, 2*time.Minute, errors.New("populating takes more than two minutes"))
	defer cancel()
	ids := map[string]string{}
	steps := []func(context.Context, map[string]string) error{
		func(ctx context.Context, ids map[string]string) error { return c.submitSet(ctx, ids, startedJobs) },
		c.changeStates,
		func(ctx context.Context, ids map[string]string) error { return c.submitSet(ctx, ids, pendingJobs) },
		func(ctx context.Context, _ map[string]string) error { return c.awaitNodes(ctx) },
	}
	for _, step := range steps {
		if err := step(ctx, ids); err != nil {
			return nil, fmt.Errorf("populating: %w", err)
		}
	}
	return ids, nil
}

// submitSet submits jobs that may depend on those submitted before, and adds their ids.
func (c *Cluster) submitSet(ctx context.Context, ids map[string]string,
	set func(accounting bool, ids map[string]string) []Job) error {
	submitted, err := c.Submit(ctx, set(!c.config.WithoutAccounting, ids)...)
	maps.Copy(ids, submitted)
	return err
}

// Submit submits the jobs in order, waits until squeue shows each in its wanted states, and returns
// their ids by name.
func (c *Cluster) Submit(ctx context.Context, jobs ...Job) (map[string]string, error) {
	ids := map[string]string{}
	for _, job := range jobs {
		args := []string{"sbatch", "--parsable", "-o", "/dev/null", "-J", job.Name}
		out, err := c.Run(ctx, job.User, append(args, job.Args...)...)
		if err != nil {
			return ids, fmt.Errorf("submitting %s: %w", job.Name, err)
		}
		ids[job.Name] = strings.TrimSpace(out)
	}
	return ids, c.awaitJobs(ctx, jobs)
}

// changeStates makes the changes that require running jobs: it cancels and suspends jobs, drains
// nodes, sets them down and reserves them.
func (c *Cluster) changeStates(ctx context.Context, ids map[string]string) error {
	commands := [][]string{
		{"scancel", ids["cancelled"]},
		{"scontrol", "suspend", ids["suspended"]},
		{"scontrol", "update", "nodename=n3", "state=drain", "reason=bad dimm"},
		{"scontrol", "update", "nodename=n4", "state=drain", "reason=fan noise"},
		{"scontrol", "update", "nodename=n5", "state=down", "reason=dead power supply"},
		{"scontrol", "create", "reservation", "reservationname=now", "starttime=now", "duration=UNLIMITED",
			"users=bob", "nodes=n6"},
		{"scontrol", "create", "reservation", "reservationname=later", "starttime=now+2hours", "duration=60",
			"users=root", "flags=maint,ignore_jobs", "nodes=n7"},
	}
	for _, command := range commands {
		if _, err := c.Run(ctx, "", command...); err != nil {
			return err
		}
	}
	return c.awaitJobs(ctx, []Job{
		{Name: "cancelled", Want: []string{"CANCELLED"}},
		{Name: "suspended", Want: []string{"SUSPENDED"}},
	})
}

// awaitJobs waits until squeue prints, for every job and every wanted state of it, a line with that
// state and, for a pending job, that reason.
func (c *Cluster) awaitJobs(ctx context.Context, jobs []Job) error {
	return awaitNoneMissing(ctx, func(ctx context.Context) ([]string, error) {
		out, err := c.Run(ctx, "", "squeue", "-h", "-t", "all", "-o", "%j %T %r")
		if err != nil {
			return nil, err
		}
		seen := map[string][]string{}
		for line := range strings.Lines(out) {
			name, state, _ := strings.Cut(strings.TrimSpace(line), " ")
			state, reason, _ := strings.Cut(state, " ")
			if state == "PENDING" {
				state += " " + reason
			}
			seen[name] = append(seen[name], state)
		}
		var missing []string
		for _, job := range jobs {
			for _, want := range job.Want {
				if !matchesAny(seen[job.Name], want) {
					missing = append(missing, fmt.Sprintf("%s is %q, not %s", job.Name, seen[job.Name], want))
				}
			}
		}
		return missing, nil
	})
}

// matchesAny reports whether one of the states starts with one of the alternatives, which are
// separated by |.
func matchesAny(states []string, alternatives string) bool {
	return slices.ContainsFunc(strings.Split(alternatives, "|"), func(want string) bool {
		return slices.ContainsFunc(states, func(state string) bool { return strings.HasPrefix(state, want) })
	})
}

// awaitNodes waits until sinfo shows every node in its wanted state.
func (c *Cluster) awaitNodes(ctx context.Context) error {
	wanted := []string{
		"n1 allocated", "n2 mixed", "n3 drained", "n4 draining", "n5 down", "n6 reserved", "n7 idle",
	}
	return awaitNoneMissing(ctx, func(ctx context.Context) ([]string, error) {
		out, err := c.Run(ctx, "", "sinfo", "-h", "-N", "-p", "batch", "-o", "%N %T")
		if err != nil {
			return nil, err
		}
		var missing []string
		for _, want := range wanted {
			if !slices.Contains(strings.Split(out, "\n"), want) {
				missing = append(missing, "no node "+want)
			}
		}
		if len(missing) > 0 {
			missing = append(missing, "sinfo says "+strings.Join(strings.Split(strings.TrimSpace(out), "\n"), ", "))
		}
		return missing, nil
	})
}

// awaitNoneMissing calls look until it reports nothing missing. If the context ends first, the error lists what was
// missing last.
func awaitNoneMissing(ctx context.Context, look func(context.Context) ([]string, error)) error {
	return process.Retry(ctx, process.Patience, func(ctx context.Context) error {
		missing, err := look(ctx)
		if err == nil && len(missing) > 0 {
			err = errors.New(strings.Join(missing, "; "))
		}
		return err
	})
}
