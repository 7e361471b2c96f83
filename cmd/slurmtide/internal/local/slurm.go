package local

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/slurmtide/slurmtide/cmd/slurmtide/internal/burst"
	"github.com/slurmtide/slurmtide/cmd/slurmtide/internal/steps"
	"github.com/slurmtide/slurmtide/cmd/slurmtide/internal/timeline"
	"github.com/slurmtide/slurmtide/slurmclient"
)

// connectSlurm connects to slurmrestd's pod, with a token that it mints for itself, and
// waits until slurmctld answers.
func (l *Local) connectSlurm(ctx context.Context, keys site) error {
	key, err := base64.StdEncoding.DecodeString(keys.JWTKey)
	if err != nil {
		return fmt.Errorf("reading the key of tokens: %w", err)
	}
	ip, err := l.kubectl(ctx, "get", "pods", "--selector=app=slurmrestd", "--field-selector=status.phase=Running",
		"--output", "jsonpath={.items[0].status.podIP}")
	if err != nil {
		return err
	}
	l.slurm, err = slurmclient.New(slurmclient.Config{
		URL: "http://" + ip + ":6820", Timeout: 5 * time.Second,
		Token: slurmclient.TokenFromKey(key, "root", time.Hour, time.Now),
	})
	if err != nil {
		return fmt.Errorf("connecting to slurmrestd: %w", err)
	}
	limit, cancel := context.WithTimeoutCause(ctx, time.Minute, errors.New("slurmctld does not answer"))
	defer cancel()
	return await(limit, func() error {
		_, err := l.slurm.Nodes(limit, 0)
		return err
	})
}

// Submit runs sbatch where slurmctld runs, and returns the job's id. An error is that
// Slurm refused it, or that it could not be asked.
func (l *Local) Submit(ctx context.Context, s burst.Shape) (uint32, error) {
	out, err := l.kubectl(ctx, append([]string{"exec", "slurmctld-0", "--", "sbatch", "--parsable"}, s.Args()...)...)
	if err != nil {
		return 0, err
	}
	id, err := strconv.ParseUint(strings.TrimSpace(out), 10, 32)
	if err != nil {
		return 0, fmt.Errorf("reading the id of a job: %w", err)
	}
	return uint32(id), nil
}

// Cancel takes a job back.
func (l *Local) Cancel(ctx context.Context, id uint32) error {
	return l.slurm.CancelJob(ctx, fmt.Sprint(id))
}

// sweep takes back the jobs that a play left which was interrupted, and waits for its
// workers to go and its jobs to be forgotten.
func (l *Local) sweep(ctx context.Context, tell func(steps.Progress)) error {
	jobs, err := l.slurm.Jobs(ctx, 0)
	if err != nil {
		return err
	}
	for _, j := range jobs.Items {
		if j.Name == burst.Name && !j.State.Base.Finished() {
			if err := l.slurm.CancelJob(ctx, fmt.Sprint(j.ID)); err != nil && !slurmclient.IsNotFound(err) {
				return err
			}
		}
	}
	limit, cancel := context.WithTimeoutCause(ctx, 3*time.Minute, errors.New("workers of an earlier play do not go"))
	defer cancel()
	return await(limit, func() error {
		seen, err := l.Look(limit)
		if err == nil && (!seen.Sample.AtZero() || seen.Unsatisfiable != timeline.Known(0)) {
			tell(steps.Progress{Text: "waiting until nothing is left of it"})
			return errors.New("workers are left, or jobs are told of")
		}
		return err
	})
}
