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

	"github.com/slurmtide/slurmtide/test/realslurm"
)

var (
	rounds   = flag.Int("rounds", 40, "the number of `rounds`, divided among the releases")
	seed     = flag.Uint64("seed", 1, "the `seed` of the first round")
	lanes    = flag.Int("lanes", 5, "how many clusters of each release run in parallel")
	release  = flag.String("release", "both", "the `release` to run, or both")
	variant  = flag.String("variant", "", "the name of the only `variant` to run; empty for all")
	minimal  = flag.Int("minimise", 0, "for how `many` failing rounds the queue is minimised")
	required = flag.String("required", "", "break demand on purpose: +1 or -1 workers of each pool")
)

// The limits of a run, as shares of its rounds.
const (
	starvedBar = 0
	exactBar   = 0.8
	dearBar    = 0.01
)

func TestDemandIsWhatSlurmNeeds(t *testing.T) {
	if missing := realslurm.Missing(); missing != "" {
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
			f := playRounds(t, version, *rounds/len(versions))
			t.Logf("slurm=%s rounds=%d oracle_starved=%d oracle_exact=%.3f oracle_excessive=%.3f unmodelled=%d unsteady=%d took=%s",
				version, f.Rounds, f.Starved, f.ExactShare(), f.DearShare(), f.Allowed, f.Unsteady,
				time.Since(began).Round(time.Second))
			if share(f.Starved, f.Rounds) > starvedBar || f.ExactShare() < exactBar ||
				f.DearShare() > dearBar {
				t.Errorf("demand differs from what Slurm needs: %+v", f)
			}
		})
	}
}

// runRounds runs the rounds in several environments.
func playRounds(t *testing.T, version string, rounds int) (figures Figures) {
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	if *variant != "" && !slices.ContainsFunc(Variants(), func(v Variant) bool { return v.Name == *variant }) {
		t.Fatalf("unknown variant %q", *variant)
	}
	scenarios := make(chan Scene, rounds)
	for _, scenario := range byVariant(*seed, rounds) {
		scenarios <- scenario
	}
	close(scenarios)
	keeper, err := startKeeper(ctx, version)
	if err != nil {
		t.Fatal(err)
	}
	defer keeper.Close()
	var running sync.WaitGroup
	var mu sync.Mutex
	for n := range min(*lanes, rounds) {
		running.Go(func() {
			err := playLane(ctx, keeper, fmt.Sprint("env", n), scenarios, func(r Round) int {
				mu.Lock()
				defer mu.Unlock()
				figures.Add(r.Verdict)
				t.Log(describe(r))
				return figures.Starved + figures.Dear
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
func byVariant(seed uint64, rounds int) (scenarios []Scene) {
	byName := map[string][]Scene{}
	for n := 0; n < rounds; seed++ {
		scenario := NewScene(seed)
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

// runScenarios runs scenarios in an environment of its own. It calls report with every round, which
// returns how many rounds have failed so far, and shorter with every minimised round.
func playLane(ctx context.Context, keeper *realslurm.Cluster, name string, scenarios <-chan Scene,
	report func(Round) int, shorter func(string)) error {
	l, err := newLane(ctx, keeper, name)
	if err != nil {
		return err
	}
	defer l.close()
	for scenario := range scenarios {
		r, err := l.playOn(ctx, scenario)
		if err != nil {
			return fmt.Errorf("seed %d: %w\n%s", scenario.Seed, err, l.cluster.Logs())
		}
		if failed := report(r); !r.Verdict.Fails() || failed > *minimal {
			continue
		}
		if r, err = l.shorten(ctx, r); err != nil {
			return err
		}
		shorter(describe(r) + "\n" +
			tableRow(fmt.Sprintf("oracle, seed %d", r.Seed), r.Snapshot, r.Variant.Pools, r.Least))
	}
	return nil
}

// describeRound formats a round as one line.
func describe(r Round) string {
	word := "inexact"
	switch {
	case len(r.Verdict.Starved) > 0:
		word = "STARVED " + strings.Join(r.Verdict.Starved, ",")
	case r.Verdict.Dear:
		word = "EXCESSIVE"
	case r.Verdict.Exact:
		word = "exact"
	}
	if r.Verdict.Allowed {
		word += " (unmodelled)"
	}
	if r.Verdict.Unsteady {
		word += " (unsteady)"
	}
	var jobs []string
	for _, j := range slices.Concat(r.Before, r.Queue) {
		jobs = append(jobs, j.Name+": "+j.Args)
	}
	return fmt.Sprintf("seed %d, %s: %s: initial %v, required %v, least %v, all %v; %s",
		r.Seed, r.Variant.Name, word, r.There, r.Required.Up, r.Least, r.All.Up, strings.Join(jobs, "; "))
}
