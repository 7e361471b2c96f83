package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/slurmtide/slurmtide/slurmclient"
	"github.com/slurmtide/slurmtide/test/harness/distance"
	"github.com/slurmtide/slurmtide/test/harness/realslurm"
)

const (
	// distantJobs is how many jobs are submitted one by one, and distantChanges how many of them change between two polls.
	distantJobs    = 10_000
	distantChanges = distantJobs / 100
	// distantDelay is the delay of one direction.
	distantDelay = 10 * time.Millisecond
	distantPolls = 6
)

// benchDistance measures how old the jobs become that a distant slurmrestd reports.
func benchDistance(ctx context.Context) ([]figure, error) {
	if missing := realslurm.MissingRequirement(); missing != "" {
		return nil, errors.New(missing)
	}
	cluster, err := realslurm.Start(ctx, realslurm.Config{Version: "26.05", WithoutAccounting: true})
	if err != nil {
		return nil, err
	}
	defer func() {
		if err := cluster.Close(); err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
	}()
	if err := submitHeld(ctx, cluster, distantJobs); err != nil {
		return nil, err
	}
	near, err := measureDistance(ctx, cluster, strings.TrimPrefix(cluster.URL, "http://"), 0)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	address, err := distance.Listen(ctx, strings.TrimPrefix(cluster.URL, "http://"), distantDelay)
	if err != nil {
		return nil, err
	}
	far, err := measureDistance(ctx, cluster, address, distantPolls*distantChanges)
	if err != nil {
		return nil, err
	}
	return []figure{
		{"distance_jobs", distantJobs, "jobs", ""}, {"distance_round_trip", 2 * distantDelay.Seconds(), "s", ""},
		{"distance_first_poll_near", near.first, "s", ""}, {"distance_first_poll_far", far.first, "s", ""},
		{"distance_poll_near", near.poll, "s", ""}, {"distance_poll_far", far.poll, "s", ""},
		{"distance_age_after_update_near", near.age, "s", ""}, {"distance_age_after_update_far", far.age, "s", "under 60"},
	}, nil
}

// submitHeld submits jobs that stay pending.
func submitHeld(ctx context.Context, cluster *realslurm.Cluster, jobs int) error {
	const submitters = 2
	_, err := cluster.Run(ctx, "", "bash", "-c", fmt.Sprintf(`for k in $(seq %d); do
	  (for i in $(seq %d); do sbatch -Q -H -o /dev/null --wrap "sleep 1" || exit 1; done) & pids="$pids $!"
	done
	for p in $pids; do wait $p || exit 1; done`, submitters, jobs/submitters))
	return err
}

// distanceTimes are in seconds: that of the first poll, the mean of later ones with changes, and the greatest age that jobs
// have before a poll after somebody updated one, with polls a default period apart.
type distanceTimes struct{ first, poll, age float64 }

// measureDistance polls the slurmrestd at an address with the delta reader. cancelled is how many jobs are already.
func measureDistance(ctx context.Context, cluster *realslurm.Cluster, address string, cancelled int) (out distanceTimes, err error) {
	client, err := slurmclient.New(slurmclient.Config{URL: "http://" + address,
		Token: slurmclient.TokenFromFile(cluster.TokenFile), Timeout: 5 * time.Minute})
	if err != nil {
		return out, err
	}
	defer client.Close()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	cache := slurmclient.NewCache(client, slurmclient.CacheConfig{
		Period: 24 * time.Hour, JobsReader: slurmclient.ReadDelta, Resources: []slurmclient.Resource{slurmclient.Jobs},
	})
	done := make(chan struct{})
	go func() { cache.Run(ctx); close(done) }()
	defer func() { cancel(); <-done }()
	refresh := func() (float64, error) {
		begin := time.Now()
		err := cache.Refresh(ctx, slurmclient.Jobs)
		return time.Since(begin).Seconds(), err
	}
	if out.first, err = refresh(); err != nil {
		return out, err
	}
	var polls []float64
	for i := range distantPolls {
		args := []string{"scancel"}
		for k := range distantChanges {
			args = append(args, strconv.Itoa(cancelled+i*distantChanges+k+1))
		}
		if _, err := cluster.Run(ctx, "", args...); err != nil {
			return out, err
		}
		took, err := refresh()
		if err != nil {
			return out, err
		}
		polls = append(polls, took)
	}
	out.poll = mean(polls)
	if _, err := cluster.Run(ctx, "", "scontrol", "update", fmt.Sprintf("jobid=%d", distantJobs), "nice=9"); err != nil {
		return out, err
	}
	updated := time.Now()
	for {
		if _, err := refresh(); err != nil {
			return out, err
		}
		asOf := cache.Snapshot().Jobs.AsOf()
		out.age = max(out.age, time.Since(asOf).Seconds())
		fmt.Fprintf(os.Stderr, "%s: %v after the update, the jobs are %v old\n", address, time.Since(updated).Round(time.Second),
			time.Since(asOf).Round(time.Millisecond))
		if asOf.After(updated) {
			return out, nil
		}
		if err := pauseBetweenPolls(ctx); err != nil {
			return out, err
		}
	}
}
