package local

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/labels"

	"github.com/slurmtide/slurmtide/cmd/slurmtide/internal/burst"
	"github.com/slurmtide/slurmtide/cmd/slurmtide/internal/steps"
	"github.com/slurmtide/slurmtide/cmd/slurmtide/internal/timeline"
	"github.com/slurmtide/slurmtide/operator/names"
	"github.com/slurmtide/slurmtide/slurmclient"
)

// connectSlurm connects to the slurmrestd pod with a minted token and waits until slurmctld
// responds.
func (l *Demo) connectSlurm(ctx context.Context, _ func(steps.Progress)) error {
	var secret struct{ Data map[string][]byte }
	if err := l.kube.get(ctx, "/api/v1/namespaces/"+namespace+"/secrets/"+jwtSecret, &secret); err != nil {
		return err
	}
	ip, err := l.kubectl(ctx, "get", "pods", "--selector="+labels.FormatLabels(names.SlurmrestdSelector(cluster)),
		"--field-selector=status.phase=Running", "--output", "jsonpath={.items[0].status.podIP}")
	if err != nil {
		return err
	}
	l.slurm, err = slurmclient.New(slurmclient.Config{
		URL: "http://" + net.JoinHostPort(ip, "6820"), Timeout: 5 * time.Second,
		Token: slurmclient.TokenFromKey(secret.Data[jwtKey], slurmUser, time.Hour, time.Now),
	})
	if err != nil {
		return fmt.Errorf("connecting to slurmrestd: %w", err)
	}
	limit, cancel := context.WithTimeoutCause(ctx, time.Minute, errors.New("slurmctld does not respond"))
	defer cancel()
	return retryUntilDone(limit, func() error {
		_, err := l.slurm.Nodes(limit, 0)
		return err
	})
}

// Submit runs sbatch in the login pod and returns the job ID. It fails when Slurm rejects the
// job or cannot be reached.
func (l *Demo) Submit(ctx context.Context, s burst.JobTemplate) (uint32, error) {
	out, err := l.kubectl(ctx, append([]string{"exec", "deployment/" + names.LoginDeployment(loginSet),
		"--container", "login", "--", "sbatch", "--parsable"}, s.SbatchArgs()...)...)
	if err != nil {
		return 0, err
	}
	id, err := strconv.ParseUint(strings.TrimSpace(out), 10, 32)
	if err != nil {
		return 0, fmt.Errorf("parsing the job ID: %w", err)
	}
	return uint32(id), nil
}

// Cancel cancels a job.
func (l *Demo) Cancel(ctx context.Context, id uint32) error {
	return l.slurm.CancelJob(ctx, fmt.Sprint(id))
}

// cancelLeftovers cancels the jobs that an interrupted play left behind. It waits until all workers are gone and no
// metric counts such jobs. A new NodeSet has one worker until its HPA takes it to zero.
func (l *Demo) cancelLeftovers(ctx context.Context, report func(steps.Progress)) error {
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
	limit, cancel := context.WithTimeoutCause(ctx, 3*time.Minute,
		errors.New("workers are still there"))
	defer cancel()
	return retryUntilDone(limit, func() error {
		observed, err := l.Observe(limit)
		if err == nil && (!observed.Sample.AtZero() || observed.Unsatisfiable != timeline.Known(0)) {
			report(steps.Progress{Text: "waiting until all workers are deleted"})
			return errors.New("workers or unsatisfiable jobs remain")
		}
		return err
	})
}
