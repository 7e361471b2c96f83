//go:build e2e

package oracle

import (
	"flag"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/slurmtide/slurmtide/test/realslurm"
)

var (
	rounds  = flag.Int("rounds", 20, "how many `rounds` each release plays")
	seed    = flag.Uint64("seed", 1, "the `seed` of the first round")
	lanes   = flag.Int("lanes", 4, "how many Slurms of each release play at the same time")
	release = flag.String("slurm", "both", "the `release` to play on, or both")
)

func TestDemandIsWhatSlurmNeeds(t *testing.T) {
	if missing := realslurm.Missing(); missing != "" {
		t.Fatal(missing)
	}
	for _, version := range realslurm.Versions() {
		if *release != "both" && *release != version {
			continue
		}
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			began := time.Now()
			figures := playAll(t, version)
			t.Logf("oracle: slurm=%s rounds=%d oracle_starved=%d oracle_exact=%.3f oracle_dear=%.3f unmodelled=%d took=%s",
				version, figures.Rounds, figures.Starved, figures.ExactShare(), figures.DearShare(), figures.Allowed, time.Since(began).Round(time.Second))
			if figures.Starved > 0 || figures.ExactShare() < 0.8 || figures.DearShare() > 0.01 {
				t.Errorf("demand is not what Slurm needs: %+v", figures)
			}
		})
	}
}

// playAll plays the rounds on several lanes.
func playAll(t *testing.T, version string) Figures {
	scenes := make(chan Scene)
	played := make(chan Round)
	for range *lanes {
		go playLane(t, version, scenes, played)
	}
	go func() {
		defer close(scenes)
		for n := range *rounds {
			scenes <- NewScene(*seed + uint64(n))
		}
	}()
	var figures Figures
	for range *rounds {
		r := <-played
		figures.Add(r.Verdict)
		t.Log(describe(r))
	}
	return figures
}

func playLane(t *testing.T, version string, scenes <-chan Scene, played chan<- Round) {
	l, err := newLane(t.Context(), version)
	if err != nil {
		t.Error(err)
		return
	}
	defer l.close()
	for scene := range scenes {
		if l.variant == nil || l.variant.Name != scene.Variant.Name {
			if err := l.setVariant(t.Context(), scene.Variant); err != nil {
				t.Error(err)
				return
			}
		}
		r, err := l.play(t.Context(), scene)
		if err != nil {
			t.Error(err)
		}
		played <- r
	}
}

func describe(r Round) string {
	word := "inexact"
	switch {
	case len(r.Verdict.Starved) > 0:
		word = "STARVED"
	case r.Verdict.Dear:
		word = "DEAR"
	case r.Verdict.Exact:
		word = "exact"
	}
	var jobs []string
	for _, j := range r.Queue {
		jobs = append(jobs, j.Name+": "+j.Args)
	}
	return fmt.Sprintf("seed %d on %q: %s: required %v, least %v, starved %v; %s", r.Seed, r.Variant.Name, word, r.Required.Up, r.Least, r.Verdict.Starved, strings.Join(jobs, "; "))
}
