package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"sync"
	"time"

	"github.com/slurmtide/slurmtide/slurmclient"
	"github.com/slurmtide/slurmtide/slurmclient/slurm"
	"github.com/slurmtide/slurmtide/test/harness/distance"
	"github.com/slurmtide/slurmtide/test/harness/realslurm"
)

const (
	// distantDelay is the delay of one direction.
	distantDelay = 10 * time.Millisecond
	// distantRounds is how often a hundredth of the jobs change, every distantPeriod.
	distantRounds = 6
	distantPeriod = slurmclient.DefaultPeriod
	// refusedAge is the age from which slurm-metrics-adapter refuses to answer HPAs (--metrics-max-age).
	refusedAge = 2 * time.Minute
	// sampleInterval is how often the age of the jobs is read.
	sampleInterval = 250 * time.Millisecond
)

// distantJobs is how many jobs are submitted one by one, DISTANCE_JOBS if it is set.
var distantJobs = func() int {
	if n, err := strconv.Atoi(os.Getenv("DISTANCE_JOBS")); err == nil && n >= 100 {
		return n
	}
	return 100_000
}()

// benchDistance measures the age of the jobs that a distant slurmrestd reports, with the cache's default periods. near is the same link
// without a delay, which shows the processors' limit.
func benchDistance(ctx context.Context) ([]figure, error) {
	if missing := realslurm.MissingRequirement(); missing != "" {
		return nil, errors.New(missing)
	}
	cluster, err := realslurm.Start(ctx, realslurm.Config{Version: "26.05", WithoutAccounting: true, MaxJobs: distantJobs + 1000,
		MinJobAge: 2 * time.Hour})
	if err != nil {
		return nil, err
	}
	defer func() {
		if err := cluster.Close(); err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
	}()
	d := &distanceBench{cluster: cluster}
	if err := d.submitJobs(ctx); err != nil {
		return nil, err
	}
	far, err := d.measure(ctx, distantDelay)
	if err != nil {
		return nil, err
	}
	near, err := d.measure(ctx, 0)
	if err != nil {
		return nil, err
	}
	return []figure{
		{"distance_jobs", float64(distantJobs), "jobs", ""}, {"distance_round_trip", 2 * distantDelay.Seconds(), "s", ""},
		{"distance_first_seen_near", near.first, "s", ""}, {"distance_first_seen_far", far.first, "s", "under 180"},
		{"distance_poll_near", near.poll, "s", ""}, {"distance_poll_far", far.poll, "s", ""},
		{"distance_age_near", near.age, "s", ""}, {"distance_age_far", far.age, "s", "under 60"},
		{"distance_age_after_update_near", near.updated, "s", ""}, {"distance_age_after_update_far", far.updated, "s", "under 60"},
		{"distance_refused_near", near.refused, "s", ""}, {"distance_refused_far", far.refused, "s", "0"},
	}, nil
}

// distanceBench changes the jobs of a cluster and reads them.
type distanceBench struct {
	cluster *realslurm.Cluster
	ids     []uint32 // of the jobs that are pending
}

// submitJobs submits jobs that stay pending, each with its own record.
func (d *distanceBench) submitJobs(ctx context.Context) error {
	client, err := d.newClient("unix://" + d.cluster.Socket)
	if err != nil {
		return err
	}
	defer client.Close()
	const submitters = 4
	begin := time.Now()
	var mu sync.Mutex
	var running sync.WaitGroup
	failures := make([]error, submitters)
	for k := range submitters {
		running.Go(func() {
			for i := k; i < distantJobs; i += submitters {
				id, err := client.SubmitJob(ctx, slurm.JobRequest{Name: "sleep", Script: "#!/bin/sh\nsleep 1\n", WorkingDirectory: "/tmp",
					Tasks: 1, Hold: true, TimeLimit: slurm.Num(10)})
				if err != nil {
					failures[k] = err
					return
				}
				mu.Lock()
				d.ids = append(d.ids, id)
				mu.Unlock()
			}
		})
	}
	running.Wait()
	fmt.Fprintf(os.Stderr, "%d jobs submitted after %v\n", len(d.ids), time.Since(begin).Round(time.Second))
	return errors.Join(failures...)
}

func (d *distanceBench) newClient(url string) (*slurmclient.Client, error) {
	return slurmclient.New(slurmclient.Config{URL: url, Token: slurmclient.TokenFromFile(d.cluster.TokenFile), Timeout: 5 * time.Minute})
}

// distanceTimes are times in seconds:
//
//   - first: until the jobs were first seen;
//   - poll: the mean time of the polls while jobs changed;
//   - age: the greatest age of the jobs during these polls;
//   - updated: their greatest age after a job was updated;
//   - refused: how long an adapter would have refused to answer HPAs.
type distanceTimes struct{ first, poll, age, updated, refused float64 }

// measure reads the jobs with the delta reader over a link with the delay.
func (d *distanceBench) measure(ctx context.Context, delay time.Duration) (out distanceTimes, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	address, err := distance.Connect(ctx, d.cluster.Socket, delay)
	if err != nil {
		return out, err
	}
	client, err := d.newClient("http://" + address)
	if err != nil {
		return out, err
	}
	defer client.Close()
	cache := slurmclient.NewCache(client, slurmclient.CacheConfig{
		JobsReader: slurmclient.ReadDelta, Resources: []slurmclient.Resource{slurmclient.Jobs},
	})
	done := make(chan struct{})
	go func() { cache.Run(ctx); close(done) }()
	defer func() { cancel(); <-done }()
	s := &ageSampler{cache: cache, delay: delay}
	begin := time.Now()
	if err := s.await(ctx, func(p slurmclient.Poll) bool { return p.Known }); err != nil {
		return out, err
	}
	known := time.Now()
	out.first = known.Sub(begin).Seconds()
	// Until the second poll has ended, the jobs are as old as the start of the first one.
	if err := s.await(ctx, func(p slurmclient.Poll) bool { return p.AsOf().After(known) }); err != nil {
		return out, err
	}
	s.reset()
	if err := d.changeJobs(ctx, s); err != nil {
		return out, err
	}
	out.poll, out.age, out.refused = mean(s.polls), s.age.Seconds(), s.refused.Seconds()
	if _, err := d.cluster.Run(ctx, "", "scontrol", "update", fmt.Sprintf("jobid=%d", d.ids[len(d.ids)-1]), "nice=9"); err != nil {
		return out, err
	}
	updated := time.Now()
	s.reset()
	err = s.await(ctx, func(p slurmclient.Poll) bool { return p.AsOf().After(updated) })
	out.updated, out.refused = s.age.Seconds(), out.refused+s.refused.Seconds()
	return out, err
}

// changeJobs cancels a hundredth of the jobs in each round.
func (d *distanceBench) changeJobs(ctx context.Context, s *ageSampler) error {
	for range distantRounds {
		args := []string{"scancel"}
		for _, id := range d.ids[:distantJobs/100] {
			args = append(args, strconv.FormatUint(uint64(id), 10))
		}
		d.ids = d.ids[distantJobs/100:]
		next := time.Now().Add(distantPeriod)
		if _, err := d.cluster.Run(ctx, "", args...); err != nil {
			return err
		}
		if err := s.await(ctx, func(slurmclient.Poll) bool { return time.Now().After(next) }); err != nil {
			return err
		}
	}
	return nil
}

// ageSampler reads how old the jobs of a cache are.
type ageSampler struct {
	cache *slurmclient.Cache
	delay time.Duration
	// age is the greatest age. refused is how long the jobs were older than an adapter accepts. polls is how long each poll took.
	age, refused time.Duration
	polls        []float64
	last         time.Time // when the last poll began
}

func (s *ageSampler) reset() { s.age, s.refused, s.polls = 0, 0, nil }

// await samples until the poll of the jobs meets a condition, for a quarter of an hour at most.
func (s *ageSampler) await(ctx context.Context, isWanted func(slurmclient.Poll) bool) error {
	ctx, cancel := context.WithTimeout(ctx, 15*time.Minute)
	defer cancel()
	for {
		poll := s.cache.Snapshot().Jobs.Poll
		age := poll.Age(time.Now())
		s.age = max(s.age, age)
		if age > refusedAge {
			s.refused += sampleInterval
		}
		if poll.ReadAt != s.last {
			s.last, s.polls = poll.ReadAt, append(s.polls, poll.Took.Seconds())
			fmt.Fprintf(os.Stderr, "%v away: a poll took %v, the jobs are %v old, by %s, %v\n", 2*s.delay, poll.Took.Round(time.Millisecond),
				age.Round(time.Millisecond), poll.Reader, poll.Err)
		}
		if isWanted(poll) {
			return nil
		}
		select {
		case <-time.After(sampleInterval):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
