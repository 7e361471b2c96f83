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

func TestWhenThePreviewBegins(t *testing.T) {
	now := time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)
	at := func(name string, state steps.State, since time.Duration) steps.Status {
		return steps.Status{Name: name, State: state, Began: now.Add(-since)}
	}
	for name, c := range map[string]struct {
		board []steps.Status
		want  bool
	}{
		"nothing runs":                       {nil, false},
		"Kubernetes has just begun to build": {[]steps.Status{at(local.BuildKubernetes, steps.Running, time.Second)}, false},
		"Kubernetes has been building":       {[]steps.Status{at(local.BuildKubernetes, steps.Running, previewDelay)}, true},
		"Kubernetes is built":                {[]steps.Status{at(local.BuildKubernetes, steps.Done, time.Hour)}, false},
		"another step is slow":               {[]steps.Status{at("build Helm", steps.Running, time.Hour)}, false},
	} {
		if got := isBuildingKubernetes(c.board, now); got != c.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}

// waitFor returns a step that takes a time and reports its progress each second.
func waitFor(name string, takes time.Duration) steps.Step {
	return steps.Step{Name: name, Do: func(_ context.Context, report func(steps.Progress)) error {
		for end := time.Now().Add(takes); time.Now().Before(end); time.Sleep(time.Second) {
			report(steps.Progress{})
		}
		return nil
	}}
}

func TestThePreviewRunsOnceWhileKubernetesBuilds(t *testing.T) {
	for name, c := range map[string]struct {
		build time.Duration
		want  []string
	}{
		"a machine that has built Kubernetes": {time.Second, nil},
		"a machine that has not":              {time.Minute, []string{"5s", "1m10s"}},
	} {
		synctest.Test(t, func(t *testing.T) {
			began := time.Now()
			var events []string
			err := runStepsWithPreview(t.Context(), func([]steps.Status) {},
				[]steps.Step{waitFor(local.BuildKubernetes, c.build), waitFor("start", 10*time.Second)},
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
