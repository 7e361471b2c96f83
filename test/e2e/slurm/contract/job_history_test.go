//go:build e2e

package contract

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/slurmtide/slurmtide/slurmclient"
	"github.com/slurmtide/slurmtide/slurmclient/slurm"
	"github.com/slurmtide/slurmtide/test/harness/process"
	"github.com/slurmtide/slurmtide/test/harness/realslurm"
)

const (
	// shortHistory is the number of steps without a given seed, longHistory that with one.
	shortHistory = 200
	longHistory  = 1000
	batchSteps   = 20
	// restartEvery is the number of batches between restarts of slurmctld.
	restartEvery = 4
)

// TestDeltaEqualsListAfterAnyHistory runs random commands on real Slurm, and compares the jobs of
// delta readers with the list, field by field.
func TestDeltaEqualsListAfterAnyHistory(t *testing.T) {
	t.Parallel()
	versions := map[string][]string{"24.11": {"v0.0.40", "v0.0.41", "v0.0.42"}, "26.05": {"v0.0.42", "v0.0.45"}}
	for _, release := range realslurm.Versions() {
		t.Run(release, func(t *testing.T) {
			t.Parallel()
			cluster, err := realslurm.Start(t.Context(), realslurm.Config{Version: release, MinJobAge: 5 * time.Second})
			must(t, err)
			t.Cleanup(func() { must(t, cluster.Close()) })
			seed, steps := seedAndSteps(t)
			t.Logf("%s=%d", seedVariable, seed)
			h := &jobHistory{cluster: cluster, rnd: rand.New(rand.NewPCG(seed, 1)),
				accepted: map[string]int{}, refused: map[string]int{}}
			h.startReaders(t, versions[release])
			for batch := range steps / batchSteps {
				h.runBatch(t, batch)
				h.compareReaders(t)
				if t.Failed() {
					t.Logf("after %d steps; the last batch was\n%s", (batch+1)*batchSteps, h.lastScript)
					return
				}
			}
			h.compareAtRest(t)
			t.Logf("%d steps, %d comparisons of %d readers, %d retries, %d job records compared, %d changed meanwhile",
				steps, h.comparisons, len(h.caches), h.retries, h.records, h.unsteady)
			t.Logf("accepted: %v; refused: %v", h.accepted, h.refused)
			for _, kind := range []string{"sbatch", "scancel", "hold", "release", "requeue", "update"} {
				if h.accepted[kind] == 0 {
					t.Errorf("no %s was accepted", kind)
				}
			}
			if h.records < 2*steps {
				t.Error("too few records stayed the same long enough to be compared")
			}
		})
	}
}

// seedVariable is an environment variable with the seed of another run to repeat, as far as Slurm
// is deterministic; "random" chooses a new seed. Unset means a short history that is always the
// same.
const seedVariable = "SLURMTIDE_HISTORY_SEED"

func seedAndSteps(t *testing.T) (seed uint64, steps int) {
	t.Helper()
	text := os.Getenv(seedVariable)
	switch text {
	case "":
		return 1, shortHistory
	case "random":
		return rand.Uint64(), longHistory
	}
	seed, err := strconv.ParseUint(text, 10, 64)
	must(t, err)
	return seed, longHistory
}

// jobHistory is a cluster on which random commands run, and its readers.
type jobHistory struct {
	cluster    *realslurm.Cluster
	rnd        *rand.Rand
	clients    map[string]*slurmclient.Client
	caches     map[string]*slurmclient.Cache
	lastScript string

	// unsteady counts the records that changed during a comparison.
	comparisons, retries, records, unsteady int
	// accepted and refused count the commands by kind.
	accepted, refused map[string]int
}

// startReaders starts a delta reader for each API version.
func (h *jobHistory) startReaders(t *testing.T, versions []string) {
	h.clients, h.caches = map[string]*slurmclient.Client{}, map[string]*slurmclient.Cache{}
	for _, v := range versions {
		client, err := slurmclient.New(slurmclient.Config{
			URL: h.cluster.URL, Version: v, Token: slurmclient.TokenFromFile(h.cluster.TokenFile),
		})
		must(t, err)
		cache := slurmclient.NewCache(client, slurmclient.CacheConfig{
			Period: time.Second, JobsReader: slurmclient.ReadDelta, Resources: []slurmclient.Resource{slurmclient.Jobs},
		})
		ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
		done := make(chan struct{})
		go func() { cache.Run(ctx); close(done) }()
		t.Cleanup(func() { cancel(); <-done; client.Close() })
		h.clients[v], h.caches[v] = client, cache
	}
}

// runBatch runs a batch of random commands, some of which Slurm refuses.
func (h *jobHistory) runBatch(t *testing.T, batch int) {
	t.Helper()
	jobs := h.listJobs(t)
	var lines []string
	for range batchSteps {
		lines = append(lines, h.randomCommand(jobs)+" >/dev/null 2>&1; echo $?")
	}
	h.lastScript = strings.Join(lines, "\n")
	out, err := h.cluster.Run(t.Context(), "", "bash", "-c", h.lastScript)
	must(t, err)
	for i, code := range strings.Fields(out) {
		words := strings.Fields(lines[i])
		kind := words[0]
		if kind == "scontrol" {
			kind = words[1]
		}
		if code == "0" {
			h.accepted[kind]++
		} else {
			h.refused[kind]++
		}
	}
	if batch%restartEvery == restartEvery-1 {
		must(t, h.cluster.Restart(t.Context(), "slurmctld"))
		h.awaitController(t)
	}
}

func (h *jobHistory) awaitController(t *testing.T) {
	t.Helper()
	(&suite{server: Server{Advance: func() {}}}).eventually(t, "slurmctld to answer",
		func(ctx context.Context) (bool, error) {
			for _, c := range h.clients {
				if _, err := c.Stats(ctx); err != nil {
					return false, nil //nolint:nilerr // wait until slurmctld answers
				}
			}
			return true, nil
		})
}

// randomCommand returns a random command.
func (h *jobHistory) randomCommand(jobs []*slurm.Job) string {
	pick := func(words ...string) string { return words[h.rnd.IntN(len(words))] }
	submit := fmt.Sprintf("sbatch -o /dev/null -p %s -n %d -t %d", pick("batch", "gpu", "debug", "batch,gpu"),
		1+h.rnd.IntN(4), 1+h.rnd.IntN(60))
	sleep := fmt.Sprintf("--wrap 'sleep %d'", []int{0, 1, 3, 20, 300, 600}[h.rnd.IntN(6)])
	if len(jobs) == 0 || h.rnd.IntN(100) < 45 {
		switch h.rnd.IntN(8) {
		case 0, 1:
			return fmt.Sprintf("%s --array=%d-%d %s", submit, h.rnd.IntN(3), 3+h.rnd.IntN(20), sleep)
		case 2, 3:
			return fmt.Sprintf("%s --array=0-%d%%%d %s", submit, 2+h.rnd.IntN(30), 1+h.rnd.IntN(4), sleep)
		case 4:
			return submit + pick(" -H ", " --begin=now+1hour ", " --nice=100 ") + sleep
		}
		return submit + " " + sleep
	}
	j := jobs[h.rnd.IntN(len(jobs))]
	id := fmt.Sprint(j.ID)
	if j.IsArrayBase() && h.rnd.IntN(2) == 0 {
		tasks, _ := slurm.ParseArrayTasks(j.ArrayTasks)
		id = fmt.Sprintf("%d_%d", j.ID, tasks.First)
	}
	switch h.rnd.IntN(9) {
	case 0, 1:
		return "scontrol hold " + id
	case 2, 3:
		return "scontrol release " + id
	case 4:
		return "scontrol requeue " + id
	case 5:
		return pick("scontrol suspend ", "scontrol resume ") + id
	case 6:
		return fmt.Sprintf("scontrol update jobid=%s %s", id,
			pick("timelimit=45", "priority=1234", "nice=50", "comment=x", "jobname=renamed", "partition=gpu"))
	}
	return "scancel " + id
}

func (h *jobHistory) listJobs(t *testing.T) []*slurm.Job {
	t.Helper()
	for _, v := range []string{"v0.0.45", "v0.0.42"} {
		if c := h.clients[v]; c != nil {
			l, err := c.Jobs(t.Context(), 0)
			must(t, err)
			return l.Items
		}
	}
	t.Fatal("no client of the newest API version")
	return nil
}

// compareReaders requires every reader to have the jobs of the list. Only a lasting difference
// counts: while backfill evaluates a job, its flags change and change back.
func (h *jobHistory) compareReaders(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*process.Patience)
	defer cancel()
	for v, cache := range h.caches {
		diff := ""
		for range 5 {
			if diff = h.diffReader(ctx, t, v, cache); diff == "" {
				break
			}
			h.retries++
		}
		if diff != "" {
			t.Errorf("%s: the delta reader (+) differs from the list (-):\n%s", v, diff)
		}
		h.comparisons++
	}
}

// diffReader reads the list before and after the reader polls. The reader must have every record
// that is the same in both lists, and no record that is in neither.
func (h *jobHistory) diffReader(ctx context.Context, t *testing.T, version string, cache *slurmclient.Cache) string {
	t.Helper()
	before := h.listWith(ctx, t, version)
	h.refreshAllJobs(ctx, t, cache, len(before))
	got := jobsByID(cache.Snapshot().Jobs.Value)
	after := h.listWith(ctx, t, version)
	want, have := map[uint32]slurm.Job{}, map[uint32]slurm.Job{}
	for id, j := range before {
		if k := after[id]; k.Same(&j) {
			want[id] = j
		}
	}
	for id, j := range got {
		_, was := before[id]
		_, is := after[id]
		if _, steady := want[id]; steady || !was && !is {
			have[id] = j
		}
	}
	h.records += len(want)
	h.unsteady += len(after) - len(want)
	return cmp.Diff(want, have)
}

// compareAtRest stops scheduling, and then requires every reader to have exactly the list.
func (h *jobHistory) compareAtRest(t *testing.T) {
	t.Helper()
	for _, partition := range []string{"batch", "gpu", "debug"} {
		_, err := h.cluster.Run(t.Context(), "", "scontrol", "update", "partitionname="+partition, "state=down")
		must(t, err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*process.Patience)
	defer cancel()
	for v, cache := range h.caches {
		for {
			before := h.listWith(ctx, t, v)
			h.refreshAllJobs(ctx, t, cache, len(before))
			got := jobsByID(cache.Snapshot().Jobs.Value)
			if after := h.listWith(ctx, t, v); !maps.EqualFunc(before, after, func(j, k slurm.Job) bool { return j.Same(&k) }) {
				continue
			}
			if diff := cmp.Diff(before, got); diff != "" {
				t.Errorf("%s, at rest: the delta reader (+) differs from the list (-):\n%s", v, diff)
			}
			t.Logf("%s, at rest: %d records", v, len(got))
			break
		}
	}
}

func (h *jobHistory) listWith(ctx context.Context, t *testing.T, version string) map[uint32]slurm.Job {
	t.Helper()
	l, err := h.clients[version].Jobs(ctx, 0)
	must(t, err)
	return jobsByID(l.Items)
}

// refreshAllJobs polls until the reader has read every job again.
func (h *jobHistory) refreshAllJobs(ctx context.Context, t *testing.T, cache *slurmclient.Cache, jobs int) {
	t.Helper()
	const perPoll = 64
	for range 2 + jobs/perPoll {
		must(t, cache.Refresh(ctx, slurmclient.Jobs))
	}
}

func jobsByID(jobs []*slurm.Job) map[uint32]slurm.Job {
	out := map[uint32]slurm.Job{}
	for _, j := range slices.Clone(jobs) {
		out[j.ID] = *j
	}
	return out
}
