package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/slurmtide/slurmtide/slurmclient"
	"github.com/slurmtide/slurmtide/test/harness/realslurm"
)

// The size of the queue that slurmrestd reports, and how many of its records change between two polls.
const (
	queueSize      = 20_000
	changesPerPoll = queueSize / 100
	restdDaemon    = "slurmrestd"
	listRuns       = 2
	deltaRuns      = 6
)

// benchRestd measures what polls cost a real slurmrestd.
func benchRestd(ctx context.Context) ([]figure, error) {
	if missing := realslurm.MissingRequirement(); missing != "" {
		return nil, errors.New(missing)
	}
	cluster, err := realslurm.Start(ctx, realslurm.Config{
		Version: "26.05", WithoutAccounting: true, Conf: []string{"MaxArraySize=100000"},
	})
	if err != nil {
		return nil, err
	}
	defer func() {
		if err := cluster.Close(); err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
	}()
	array, err := fillQueue(ctx, cluster)
	if err != nil {
		return nil, err
	}
	p := &restdPolls{cluster: cluster, array: array}
	delta, err := p.measure(ctx, slurmclient.ReadDelta, deltaRuns)
	if err != nil {
		return nil, err
	}
	list, err := p.measure(ctx, slurmclient.ReadList, listRuns)
	if err != nil {
		return nil, err
	}
	return []figure{
		{"restd_records", queueSize, "records", ""}, {"restd_changes", changesPerPoll, "records", ""},
		{"restd_cpu_list", list.cpu, "s", ""}, {"restd_cpu_delta", delta.cpu, "s", ""},
		{"restd_rss_list", list.rss, "MB", ""},
		{"restd_rss_first_delta", delta.firstRSS, "MB", ""},
		{"restd_cpu_list_over_delta", list.cpu / delta.cpu, "x", "30 or more"},
		{"restd_rss_delta", delta.rss, "MB", "under 150"},
	}, nil
}

// fillQueue submits a held array and splits its tasks into their own records, by updating a part of the array.
func fillQueue(ctx context.Context, cluster *realslurm.Cluster) (array string, err error) {
	out, err := cluster.Run(ctx, "", "sbatch", "--parsable", "-H", "-o", "/dev/null",
		fmt.Sprintf("--array=1-%d", queueSize+1), "--wrap", "sleep 1")
	if err != nil {
		return "", err
	}
	array = strings.TrimSpace(out)
	_, err = cluster.Run(ctx, "", "scontrol", "update", fmt.Sprintf("jobid=%s_[1-%d]", array, queueSize), "nice=9")
	return array, err
}

// restdPolls polls and changes jobs in turn.
type restdPolls struct {
	cluster *realslurm.Cluster
	array   string
	// cancelled is how many of the tasks are.
	cancelled int
}

// restdUse is slurmrestd's CPU time for a poll in seconds, its memory in MB after the first poll, and the maximum after
// later ones.
type restdUse struct{ cpu, firstRSS, rss float64 }

// measure polls with a reader from a fresh slurmrestd. It does not count the first poll.
func (p *restdPolls) measure(ctx context.Context, reader slurmclient.JobsReader, polls int) (use restdUse, err error) {
	if err := p.cluster.Restart(ctx, restdDaemon); err != nil {
		return use, err
	}
	client, err := slurmclient.New(
		slurmclient.Config{URL: p.cluster.URL, Token: slurmclient.TokenFromFile(p.cluster.TokenFile),
			Timeout: 5 * time.Minute})
	if err != nil {
		return use, err
	}
	defer client.Close()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	cache := slurmclient.NewCache(client, slurmclient.CacheConfig{
		Period: 24 * time.Hour, JobsReader: reader, Resources: []slurmclient.Resource{slurmclient.Jobs},
	})
	done := make(chan struct{})
	go func() { cache.Run(ctx); close(done) }()
	defer func() { cancel(); <-done }()
	if err := p.awaitFirstPoll(ctx, cache); err != nil {
		return use, err
	}
	if use.firstRSS, err = p.rss(ctx); err != nil {
		return use, err
	}
	fmt.Fprintf(os.Stderr, "%s first poll: %.0f MB\n", reader, use.firstRSS)
	var costs []float64
	for i := range polls {
		if err := pauseBetweenPolls(ctx); err != nil {
			return use, err
		}
		if err := p.cancelTasks(ctx); err != nil {
			return use, err
		}
		before, err := p.cluster.CPU(ctx, restdDaemon)
		if err != nil {
			return use, err
		}
		if err := cache.Refresh(ctx, slurmclient.Jobs); err != nil {
			return use, err
		}
		after, err := p.cluster.CPU(ctx, restdDaemon)
		if err != nil {
			return use, err
		}
		costs = append(costs, (after - before).Seconds())
		rss, err := p.rss(ctx)
		if err != nil {
			return use, err
		}
		use.rss = max(use.rss, rss)
		fmt.Fprintf(os.Stderr, "%s poll %d: %.2f s CPU of slurmrestd, %.0f MB, %d records\n",
			reader, i+1, costs[i], rss, len(cache.Snapshot().Jobs.Value))
	}
	use.cpu = mean(costs)
	if reader == slurmclient.ReadList {
		// slurmrestd is still freeing the previous response, so the cheapest list counts.
		use.cpu = slices.Min(costs)
	}
	return use, p.checkCancelled(cache)
}

func (p *restdPolls) rss(ctx context.Context) (float64, error) {
	bytes, err := p.cluster.RSS(ctx, restdDaemon)
	return float64(bytes) / 1e6, err
}

// pauseBetweenPolls waits for a cache's default poll interval. slurmrestd's allocator returns memory
// to the system in that time.
func pauseBetweenPolls(ctx context.Context) error {
	select {
	case <-time.After(slurmclient.DefaultPeriod):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// awaitFirstPoll polls until a poll succeeds, because slurmrestd may still be starting.
func (p *restdPolls) awaitFirstPoll(ctx context.Context, cache *slurmclient.Cache) error {
	for range 10 {
		err := cache.Refresh(ctx, slurmclient.Jobs)
		if err == nil || slurmclient.CodeOf(err) != slurmclient.CodeUnavailable {
			return err
		}
		select {
		case <-time.After(200 * time.Millisecond):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return errors.New("slurmrestd does not answer")
}

// cancelTasks cancels the next tasks, which changes their state as when jobs end.
func (p *restdPolls) cancelTasks(ctx context.Context) error {
	_, err := p.cluster.Run(ctx, "", "scancel",
		fmt.Sprintf("%s_[%d-%d]", p.array, p.cancelled+1, p.cancelled+changesPerPoll))
	p.cancelled += changesPerPoll
	return err
}

// checkCancelled demands that the reader has seen every change.
func (p *restdPolls) checkCancelled(cache *slurmclient.Cache) error {
	jobs, cancelled := cache.Snapshot().Jobs.Value, 0
	for _, j := range jobs {
		if j.State.Base.Finished() {
			cancelled++
		}
	}
	if len(jobs) < queueSize || cancelled != p.cancelled {
		return fmt.Errorf("the snapshot has %d records, %d of them cancelled, not %d", len(jobs), cancelled,
			p.cancelled)
	}
	return nil
}

func mean(values []float64) float64 {
	sum := 0.0
	for _, v := range values {
		sum += v
	}
	return sum / float64(len(values))
}
