//go:build e2e

package oracle

import (
	"context"
	"flag"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/slurmtide/slurmtide/test/harness/realslurm"
)

var (
	rounds       = flag.Int("rounds", 12, "the number of `rounds`, divided among the releases")
	seed         = flag.Uint64("seed", 1, "the `seed` of the first round")
	environments = flag.Int("lanes", 2, "how many clusters of each release run in parallel")
	release      = flag.String("release", "both", "the `release` to run, or both")
	variant      = flag.String("variant", "", "the name of the only `variant` to run; empty for all")
	maxMinimised = flag.Int("minimise", 0, "for how `many` failing rounds the queue is minimised")
	required     = flag.String("required", "", "break demand on purpose: +1 or -1 workers of each pool")
)

// The limits of a run, as shares of its rounds.
const (
	maxStarvedShare   = 0
	maxDelayedShare   = 0.01
	minExactShare     = 0.8
	maxExcessiveShare = 0.01
)

func TestDemandIsWhatSlurmNeeds(t *testing.T) {
	if missing := realslurm.MissingRequirement(); missing != "" {
		t.Fatal(missing)
	}
	t.Parallel() // in parallel with the known cases
	versions := slices.DeleteFunc(realslurm.Versions(),
		func(v string) bool { return *release != "both" && *release != v })
	if len(versions) == 0 {
		t.Fatalf("unknown release %q, want one of %v or both", *release, realslurm.Versions())
	}
	for _, version := range versions {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			began := time.Now()
			f := runRounds(t, version, *rounds/len(versions))
			t.Logf("slurm=%s rounds=%d oracle_starved=%d oracle_delayed=%.3f oracle_exact=%.3f oracle_excessive=%.3f unmodelled=%d unsteady=%d took=%s",
				version, f.Rounds, f.Starved, f.DelayedShare(), f.ExactShare(), f.ExcessiveShare(), f.Unmodelled, f.Unsteady,
				time.Since(began).Round(time.Second))
			if shareOf(f.Starved, f.Rounds) > maxStarvedShare || f.DelayedShare() > maxDelayedShare ||
				f.ExactShare() < minExactShare || f.ExcessiveShare() > maxExcessiveShare {
				t.Errorf("demand differs from what Slurm needs: %+v", f)
			}
		})
	}
}

// runRounds runs the rounds in several environments.
func runRounds(t *testing.T, version string, rounds int) (figures Figures) {
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	if *variant != "" && !slices.ContainsFunc(Variants(), func(v Variant) bool { return v.Name == *variant }) {
		t.Fatalf("unknown variant %q", *variant)
	}
	scenarios := make(chan Scenario, rounds)
	for _, scenario := range scenariosByVariant(*seed, rounds) {
		scenarios <- scenario
	}
	close(scenarios)
	keeper, err := startAccountingCluster(ctx, version)
	if err != nil {
		t.Fatal(err)
	}
	defer keeper.Close()
	var running sync.WaitGroup
	var mu sync.Mutex
	for n := range min(*environments, rounds) {
		running.Go(func() {
			err := runScenarios(ctx, keeper, fmt.Sprint("env", n), scenarios, func(r Round) int {
				mu.Lock()
				defer mu.Unlock()
				figures.Add(r.Verdict)
				t.Log(describeRound(r))
				return figures.Starved + figures.Delayed + figures.Excessive
			}, func(row string) { t.Logf("minimised:\n%s", row) })
			if err != nil {
				cancel(err)
			}
		})
	}
	running.Wait()
	if err := context.Cause(ctx); err != nil {
		t.Fatal(err)
	}
	return figures
}

// scenariosByVariant returns the scenarios of consecutive seeds, grouped by variant, since an
// environment restarts slurmctld when the variant changes.
func scenariosByVariant(seed uint64, rounds int) (scenarios []Scenario) {
	byName := map[string][]Scenario{}
	for n := 0; n < rounds; seed++ {
		scenario := NewScenario(seed)
		if *variant == "" || *variant == scenario.Variant.Name {
			byName[scenario.Variant.Name] = append(byName[scenario.Variant.Name], scenario)
			n++
		}
	}
	for _, v := range Variants() {
		scenarios = append(scenarios, byName[v.Name]...)
	}
	return scenarios
}

// runScenarios runs scenarios in its own environment. It calls report with every round; report returns how many rounds
// have failed so far. It calls shorter with every minimised round.
func runScenarios(ctx context.Context, keeper *realslurm.Cluster, name string, scenarios <-chan Scenario,
	report func(Round) int, shorter func(string)) error {
	l, err := newSlurmEnv(ctx, keeper, name)
	if err != nil {
		return err
	}
	defer l.close()
	for scenario := range scenarios {
		r, err := l.runScenario(ctx, scenario)
		if err != nil {
			return fmt.Errorf("seed %d: %w\n%s", scenario.Seed, err, l.cluster.Logs())
		}
		if failed := report(r); !r.Verdict.Fails() || failed > *maxMinimised {
			continue
		}
		if r, err = l.shortenQueue(ctx, r); err != nil {
			return err
		}
		shorter(describeRound(r) + "\n" +
			formatTableRow(fmt.Sprintf("oracle, seed %d", r.Seed), r.Snapshot, r.Variant.Pools, r.Least))
	}
	return nil
}

// describeRound formats a round as one line.
func describeRound(r Round) string {
	word := "inexact"
	switch {
	case len(r.Verdict.Starved) > 0:
		word = "STARVED " + strings.Join(r.Verdict.Starved, ",")
	case len(r.Verdict.Delayed) > 0:
		word = fmt.Sprintf("DELAYED %s to %v", strings.Join(r.Verdict.Delayed, ","), r.Grown.Up)
	case r.Verdict.Excessive:
		word = "EXCESSIVE"
	case r.Verdict.Exact:
		word = "exact"
	}
	if r.Verdict.Unmodelled {
		word += " (unmodelled)"
	}
	if r.Verdict.Unsteady {
		word += " (unsteady)"
	}
	var jobs []string
	for _, j := range slices.Concat(r.InitialJobs, r.Queue) {
		jobs = append(jobs, j.Name+": "+j.Args)
	}
	return fmt.Sprintf("seed %d, %s: %s: initial %v, required %v, least %v, all %v; %s",
		r.Seed, r.Variant.Name, word, r.InitialWorkers, r.Required.Up, r.Least, r.All.Up, strings.Join(jobs, "; "))
}
