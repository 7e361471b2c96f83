package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"time"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
	"github.com/slurmtide/slurmtide/slurmclient"
	"github.com/slurmtide/slurmtide/test/e2e/hpa/loop"
)

const (
	reactionCount = 10
	// hpaSync is the stock period of the HPA controller.
	hpaSync = 15 * time.Second
	// The longest waits of the usual chain: Prometheus' scrape interval and KEDA's polling interval, as their charts set
	// them.
	scrapeInterval, kedaInterval = 30 * time.Second, 30 * time.Second
)

// benchReaction measures the time from sbatch to a changed spec.replicas, with default intervals.
func benchReaction(ctx context.Context) ([]figure, error) {
	if missing := loop.MissingRequirement(); missing != "" {
		return nil, errors.New(missing)
	}
	l, err := loop.Start(ctx, loop.Config{PollInterval: slurmclient.DefaultPeriod, SyncPeriod: hpaSync, Replicas: 1})
	if err != nil {
		return nil, err
	}
	took, err := measureReactions(ctx, l)
	var atOnce []float64
	if err == nil {
		_, err = l.Kube.Kubectl(ctx, "annotate", "nodeset", "--namespace", loop.Namespace, loop.NodeSet,
			v1beta1.AnnotationScaleUp+"="+v1beta1.ScaleUpImmediate)
	}
	if err == nil {
		atOnce, err = measureReactions(ctx, l)
	}
	if err := errors.Join(err, l.Close()); err != nil {
		return nil, err
	}
	ours := (slurmclient.DefaultPeriod + hpaSync).Seconds()
	chain := (scrapeInterval + kedaInterval + hpaSync).Seconds()
	return []figure{
		{"reaction_runs", reactionCount, "runs", ""},
		{"reaction_p50", took[len(took)/2], "s", ""}, {"reaction_max", slices.Max(took), "s", ""},
		{"reaction_at_once_p50", atOnce[len(atOnce)/2], "s", "1.5 or less"},
		{"reaction_at_once_max", slices.Max(atOnce), "s", "3 or less"},
		{"reaction_bound_poll_and_sync", ours, "s", ""}, {"reaction_bound_scrape_keda_and_sync", chain, "s", ""},
	}, nil
}

// measureReactions repeatedly submits a job that needs one more node. The moments are spread evenly over the time
// between two syncs; each measurement begins after a sync.
func measureReactions(ctx context.Context, l *loop.Loop) ([]float64, error) {
	if err := l.ApplyHPA(ctx, "required-nodes"); err != nil {
		return nil, err
	}
	if err := cancelAllJobs(ctx, l); err != nil {
		return nil, err
	}
	const limit = 2 * time.Minute
	var took []float64
	moments := rand.Perm(reactionCount)
	for run := range reactionCount {
		want := run%(loop.MaxWorkers-1) + 1
		if want == 1 && run > 0 {
			if err := cancelAllJobs(ctx, l); err != nil {
				return nil, err
			}
		}
		if err := sleep(ctx, (time.Duration(moments[run])*hpaSync+rand.N(hpaSync))/reactionCount); err != nil {
			return nil, err
		}
		if _, err := l.Slurm.Run(ctx, "alice", "sbatch", "-o", "/dev/null", "-p", loop.NodeSet, "--exclusive", "--wrap",
			"sleep 900"); err != nil {
			return nil, err
		}
		after, err := l.AwaitReplicas(ctx, want, limit)
		if err != nil {
			return nil, err
		}
		fmt.Fprintf(os.Stderr, "run %d: %d replicas after %.1f s\n", run+1, want, after.Seconds())
		took = append(took, after.Seconds())
	}
	return slices.Sorted(slices.Values(took)), nil
}

// cancelAllJobs cancels all jobs and waits for zero.
func cancelAllJobs(ctx context.Context, l *loop.Loop) error {
	if _, err := l.Slurm.Run(ctx, "", "scancel", "-u", "alice"); err != nil {
		return err
	}
	_, err := l.AwaitReplicas(ctx, 0, 2*time.Minute)
	return err
}

func sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
