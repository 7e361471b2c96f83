//go:build e2e

package oracle

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/slurmtide/slurmtide/slurmclient"
)

const submitIdleJob = "sbatch --parsable -J " + idleJob + " -p " + idlePartition + " --wrap true"

// submitScenario cancels all jobs, removes workers that the scenario does not start with, and submits its jobs. The
// initial jobs come first, and the queue follows once these have started as far as possible. It returns when the
// scheduler has evaluated all jobs and started those that it can.
func (l *slurmEnv) submitScenario(ctx context.Context, scenario Scenario) error {
	if len(l.variant.GRES) > 0 {
		// slurmctld leaks generic resources of jobs that end before they run.
		if err := l.setVariant(ctx, l.variant); err != nil {
			return err
		}
	}
	if err := l.setWorkers(make([]uint64, len(l.workersUp))); err != nil {
		return err
	}
	out, err := l.shell.Run(strings.Join([]string{
		"scancel -u root", `while [ "$(squeue -h -a)" ]; do sleep 0.1; done`,
		submitIdleJob,
	}, "\n"))
	if err != nil {
		return fmt.Errorf("%w: %s", err, out)
	}
	if l.idleJobID, err = strconv.ParseUint(strings.TrimSpace(out), 10, 32); err != nil {
		return err
	}
	if len(scenario.InitialJobs) > 0 {
		if err := l.runInitialJobs(ctx, scenario); err != nil {
			return err
		}
	}
	// Slurm evaluates the queue as a whole, rather than each job as it is submitted.
	if err := l.setPartitions("down"); err != nil {
		return err
	}
	if err := l.submitJobs(scenario.Queue); err != nil {
		return err
	}
	if err := l.setPartitions("up"); err != nil {
		return err
	}
	cycles := 1
	if len(scenario.InitialJobs) > 0 {
		cycles = settledCycles / 2
	}
	return l.awaitSettled(ctx, &Trial{}, Trial{}, cycles)
}

// setPartitions sets the state of the partitions that jobs can request.
func (l *slurmEnv) setPartitions(state string) error {
	names := strings.FieldsFunc(strings.Join(l.variant.Partitions, ","), func(r rune) bool { return r == ',' })
	slices.Sort(names)
	var script []string
	for _, name := range slices.Compact(names) {
		script = append(script, "scontrol update partitionname="+name+" state="+state)
	}
	_, err := l.shell.Run(strings.Join(script, " && "))
	return err
}

// runInitialJobs starts the initial jobs of the scenario.
func (l *slurmEnv) runInitialJobs(ctx context.Context, scenario Scenario) error {
	if err := l.submitJobs(scenario.InitialJobs); err != nil {
		return err
	}
	if err := l.setWorkers(scenario.InitialWorkers); err != nil {
		return err
	}
	return l.awaitSettled(ctx, &Trial{}, Trial{}, settledCycles/2)
}

// submitJobs submits jobs. Jobs that Slurm refuses are ignored.
func (l *slurmEnv) submitJobs(jobs []Job) error {
	var script []string
	for _, job := range jobs {
		script = append(script, job.Name+"=$(sbatch --parsable -J "+job.Name+" "+job.Args+` --wrap "sleep 1000")`)
	}
	out, err := l.shell.Run(strings.Join(append(script, "true"), "\n"))
	if err != nil {
		return fmt.Errorf("%w: %s", err, out)
	}
	return nil
}

// setWorkers adds or removes workers so that each pool has that many, with the lowest ordinals.
func (l *slurmEnv) setWorkers(up []uint64) error {
	var added, removed []string
	for i, p := range l.variant.Pools {
		if list := workerHostlist(p.Name, l.workersUp[i], up[i]); list != "" {
			added = append(added, list)
		}
		if list := workerHostlist(p.Name, up[i], l.workersUp[i]); list != "" {
			removed = append(removed, list)
		}
	}
	l.workersUp = slices.Clone(up)
	var script []string
	if len(added) > 0 {
		script = append(script, "scontrol update nodename="+strings.Join(added, ",")+" state=idle")
	}
	if len(removed) > 0 {
		script = append(script, "scontrol update nodename="+strings.Join(removed, ",")+" state=drain reason=oracle")
	}
	if len(script) == 0 {
		return nil
	}
	// Registering a node triggers the main scheduler, and so does a submission.
	script = append(script, submitIdleJob)
	_, err := l.shell.Run(strings.Join(script, " && "))
	return err
}

func (l *slurmEnv) allUp() []uint64 {
	var all []uint64
	for _, p := range l.variant.Pools {
		all = append(all, p.Max)
	}
	return all
}

// diagInterval is the pause between two readings of the number of cycles. A cycle takes one second.
const diagInterval = 150 * time.Millisecond

// awaitScheduler waits for a backfill cycle that starts after the call. The cycle evaluates every
// job that could start.
func (l *slurmEnv) awaitScheduler(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, time.Minute, fmt.Errorf("no cycle of backfill within a minute"))
	defer cancel()
	stats, err := l.client.Stats(ctx)
	if err != nil {
		return err
	}
	target := stats.Backfill.Cycles + 1
	if stats.Backfill.Active {
		target++
	}
	nudge := time.NewTicker(5 * time.Second)
	defer nudge.Stop()
	for stats.Backfill.Cycles < target {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-nudge.C:
			// Backfill waits for a change.
			if _, err := l.shell.Run(submitIdleJob); err != nil {
				return err
			}
		case <-time.After(diagInterval):
		}
		if stats, err = l.client.Stats(ctx); err != nil {
			return err
		}
	}
	return nil
}

// givenUpError is an error with the jobs that Slurm has given up on, such as a job that cannot run in
// the first of its partitions.
type givenUpError []string

func (g givenUpError) Error() string { return "Slurm has given up on " + strings.Join(g, ",") }

// startedJobs returns the started jobs of the queue, sorted. Array tasks and components are listed
// separately. Failed jobs are returned as a givenUpError.
func (l *slurmEnv) startedJobs() ([]string, error) {
	out, err := l.shell.Run("squeue -h -a -r -t all -o '%j|%K|%i|%t'")
	if err != nil {
		return nil, err
	}
	var started []string
	var failed givenUpError
	for line := range strings.Lines(out) {
		f := strings.Split(strings.TrimSpace(line), "|")
		if len(f) < 4 || f[3] == "PD" || f[3] == "CA" {
			continue
		}
		name := f[0]
		if f[3] == "F" {
			if id, _ := strconv.ParseUint(strings.FieldsFunc(f[2], isNotDigit)[0], 10, 32); id > l.idleJobID {
				failed = append(failed, name)
			}
			continue
		}
		if f[1] != "N/A" {
			name += "_" + f[1]
		}
		if _, offset, het := strings.Cut(f[2], "+"); het {
			name += "+" + offset
		}
		started = append(started, name)
	}
	if failed != nil {
		return nil, failed
	}
	slices.Sort(started)
	return started, nil
}

func isNotDigit(r rune) bool { return r < '0' || r > '9' }

// runTrial submits the jobs of a scenario and lets Slurm schedule them on the workers, until all
// wanted jobs have started.
func (l *slurmEnv) runTrial(ctx context.Context, scenario Scenario, up []uint64, wanted Trial) (Trial, error) {
	trial := Trial{Up: up}
	if err := l.submitScenario(ctx, scenario); err != nil {
		return trial, err
	}
	return trial, l.schedule(ctx, &trial, wanted)
}

// schedule lets Slurm schedule the submitted jobs on the workers of the trial, until all wanted
// jobs have started or nothing more starts. One cycle can reserve nodes for a job that the next
// cycle starts.
func (l *slurmEnv) schedule(ctx context.Context, trial *Trial, wanted Trial) error {
	if err := l.setWorkers(trial.Up); err != nil {
		return err
	}
	return l.awaitSettled(ctx, trial, wanted, settledCycles)
}

// awaitSettled waits until that many consecutive cycles have started nothing, or all wanted jobs
// have started.
func (l *slurmEnv) awaitSettled(ctx context.Context, trial *Trial, wanted Trial, cycles int) error {
	for same := 0; same < cycles; same++ {
		if err := l.awaitScheduler(ctx); err != nil {
			return err
		}
		started, err := l.startedJobs()
		if err != nil {
			return err
		}
		if !slices.Equal(started, trial.Started) {
			same = 0
		}
		trial.Started = started
		if len(wanted.Started) > 0 && len(missingJobs(wanted, *trial)) == 0 {
			return nil
		}
	}
	return nil
}

// settledCycles is how many consecutive cycles without a start end a trial.
const settledCycles = 4

// readSnapshot reads the cluster like the programs do, without missing workers.
func (l *slurmEnv) readSnapshot(ctx context.Context) (*slurmclient.Snapshot, error) {
	if err := l.cache.Refresh(ctx, snapshotResources()...); err != nil {
		return nil, err
	}
	s := *l.cache.Snapshot()
	away := map[string]bool{}
	for i, p := range l.variant.Pools {
		for n := l.workersUp[i]; n < p.Max; n++ {
			away[workerName(p.Name, n)] = true
		}
	}
	nodes := s.Nodes.Value
	s.Nodes.Value = nil
	for _, n := range nodes {
		if !away[n.Name] {
			s.Nodes.Value = append(s.Nodes.Value, n)
		}
	}
	return &s, nil
}
