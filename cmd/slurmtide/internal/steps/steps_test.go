package steps

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestScriptLinesReportProgress(t *testing.T) {
	before := Progress{Done: 1, Total: 2, Text: "before"}
	for name, c := range map[string]struct {
		line string
		want Progress
	}{
		"packages are counted": {"[ 20.012s] building Kubernetes v1.37.1: 412 packages compiled of 1833 at most",
			Progress{412, 1833, "building Kubernetes v1.37.1: 412 packages compiled of 1833 at most"}},
		"a line with a time":        {"[  3.400s] etcd ready", Progress{Text: "etcd ready"}},
		"a line of another program": {"go: downloading k8s.io/api v0.37.1", before},
		"an empty line":             {"", before},
		"a count of other things":   {"[  1.000s] 3 of 4 done", Progress{Text: "3 of 4 done"}},
		"a time in the text":        {"took 3.0s] well", before},
	} {
		if d := cmp.Diff(c.want, ParseScriptLine(before, c.line)); d != "" {
			t.Errorf("%s: %s", name, d)
		}
	}
}

func TestARootLogReportsItsPhase(t *testing.T) {
	for name, c := range map[string]struct {
		log  string
		want Progress
	}{
		"nothing yet": {"", Progress{0, 6, "starting"}},
		"the first phase": {"I: chroot architecture amd64\nI: running apt-get update...\n",
			Progress{0, 6, "running apt-get update"}},
		"some phases later": {"I: running apt-get update...\ndone\nI: downloading packages with apt...\nI: " +
			"extracting archives...\n", Progress{2, 6, "extracting archives"}},
	} {
		if d := cmp.Diff(c.want, ParseRootLog(c.log)); d != "" {
			t.Errorf("%s: %s", name, d)
		}
	}
}

func TestStepsEndWithTheFirstFailure(t *testing.T) {
	trouble := errors.New("trouble")
	now := time.Unix(0, 0)
	clock := func() time.Time { now = now.Add(time.Second); return now }
	var last []Status
	var texts []string
	ran := 0
	err := Run(t.Context(), clock, []Step{
		{"first", func(_ context.Context, report func(Progress)) error {
			ran++
			report(Progress{Text: "half"})
			return nil
		}},
		{"second", func(context.Context, func(Progress)) error { ran++; return trouble }},
		{"third", func(context.Context, func(Progress)) error { ran++; return nil }},
	}, func(board []Status) {
		last = board
		texts = append(texts, board[0].Progress.Text)
	})
	if !errors.Is(err, trouble) || err.Error() != "second: trouble" || ran != 2 {
		t.Errorf("%d steps ran, and the error is %v", ran, err)
	}
	var states []State
	for _, s := range last {
		states = append(states, s.State)
	}
	if d := cmp.Diff([]State{Done, Failed, Waiting}, states); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff([]string{"", "half"}, texts[:2]); d != "" {
		t.Error(d)
	}
	if last[0].Took != time.Second {
		t.Errorf("the first took %v", last[0].Took)
	}
}

func TestInterruptedStepsReturnTheError(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := Run(ctx, time.Now, []Step{{"only", func(context.Context, func(Progress)) error { return nil }}},
		func([]Status) {}); !errors.Is(err, context.Canceled) {
		t.Errorf("the error is %v", err)
	}
}
