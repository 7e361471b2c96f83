package main

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/slurmtide/slurmtide/cmd/slurmtide/internal/local"
	"github.com/slurmtide/slurmtide/cmd/slurmtide/internal/steps"
)

// waitFor returns a step that takes a time.
func waitFor(name string, takes time.Duration) steps.Step {
	return steps.Step{Name: name, Do: func(context.Context, func(steps.Progress)) error {
		time.Sleep(takes)
		return nil
	}}
}

func TestThePreviewRunsOnceWhileKubernetesBuilds(t *testing.T) {
	for name, c := range map[string]struct {
		first string
		takes time.Duration
		want  []string
	}{
		"a machine that has built Kubernetes": {local.BuildKubernetes, time.Second, nil},
		"a machine that has not":              {local.BuildKubernetes, time.Minute, []string{"5s", "1m10s"}},
		"another step that takes long":        {"read the simulated Slurm", time.Minute, nil},
	} {
		synctest.Test(t, func(t *testing.T) {
			began := time.Now()
			var events []string
			err := runStepsWithPreview(t.Context(), func([]steps.Status) {},
				[]steps.Step{waitFor(c.first, c.takes), waitFor("start", 10*time.Second)},
				func(ctx context.Context) {
					events = append(events, time.Since(began).String())
					<-ctx.Done()
					events = append(events, time.Since(began).String())
				})
			if d := cmp.Diff(c.want, events); d != "" || err != nil {
				t.Errorf("%s: %v\n%s", name, err, d)
			}
		})
	}
}
