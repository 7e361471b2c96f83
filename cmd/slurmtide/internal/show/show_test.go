package show

import (
	"errors"
	"flag"
	"os"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/slurmtide/slurmtide/cmd/slurmtide/internal/burst"
	"github.com/slurmtide/slurmtide/cmd/slurmtide/internal/play"
	"github.com/slurmtide/slurmtide/cmd/slurmtide/internal/steps"
	"github.com/slurmtide/slurmtide/cmd/slurmtide/internal/timeline"
)

var update = flag.Bool("update", false, "rewrite testdata")

func golden(t *testing.T, file, got string) {
	t.Helper()
	file = "testdata/" + file
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(want), got); d != "" {
		t.Errorf("%s: %s", file, d)
	}
}

var noon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

func building() Scene {
	return Scene{How: "real Slurm", Since: 75 * time.Second, Now: noon, Steps: []steps.Status{
		{Name: "first", State: steps.Done, Took: 1500 * time.Millisecond},
		{Name: "second", State: steps.Running, Began: noon.Add(-time.Minute),
			Progress: steps.Progress{Done: 30, Total: 120, Text: "packages"}},
		{Name: "third"},
	}}
}

func sample(at float64, pending, running, done, required, desired int, workers ...timeline.Worker) timeline.Sample {
	return timeline.Sample{
		At: time.Duration(at * float64(time.Second)), Jobs: 5,
		Pending: timeline.Known(pending), Running: timeline.Known(running), Done: timeline.Known(done),
		Sets: []timeline.Set{{Name: "cpu", Max: 2, Required: timeline.Known(required),
			Desired: timeline.Known(desired), Known: true, Workers: workers}},
	}
}

func workers(states ...timeline.State) []timeline.Worker {
	var out []timeline.Worker
	for i, s := range states {
		out = append(out, timeline.Worker{Name: []string{"cpu-0", "cpu-1"}[i], State: s})
	}
	return out
}

func playing() play.View {
	return play.View{
		Line: timeline.Timeline{Samples: []timeline.Sample{
			sample(-1, 0, 0, 0, 0, 0), sample(-0.5, 0, 0, 0, 0, 0), sample(0, 5, 0, 0, 0, 0),
			sample(0.5, 5, 0, 0, 2, 0),
			sample(1, 5, 0, 0, 2, 2, workers(timeline.Starting, timeline.Starting)...),
			sample(3, 3, 2, 0, 2, 2, workers(timeline.Busy, timeline.Busy)...),
			sample(5, 1, 2, 2, 2, 2, workers(timeline.Busy, timeline.Busy)...),
			sample(6, 0, 1, 4, 1, 2, workers(timeline.Busy, timeline.Idle)...),
			sample(7, 0, 1, 4, 1, 1, workers(timeline.Busy, timeline.Draining)...),
			sample(7.5, 0, 1, 4, 1, 1, workers(timeline.Busy, timeline.Going)...),
		}, Marks: []timeline.Mark{{At: 0, Text: "jobs are submitted"}}},
		Outcomes: []burst.Outcome{
			{Shape: burst.Shape{Title: "an array", Array: "1-4", Tasks: 4, Seconds: 2}, ID: 1, Done: 4},
			{Shape: burst.Shape{Title: "a long one", Tasks: 1, Seconds: 9}, ID: 2, Running: 1},
			{Shape: burst.Shape{Title: "never fits", Tasks: 1, Nodes: 3, Unfit: true, Seconds: 1}, ID: 3, Pending: 1,
				Reason: "PartitionNodeLimit"},
			{Shape: burst.Shape{Title: "bad", Tasks: 2, Seconds: 1}, ID: 4, Failed: 1, Done: 1,
				Trouble: "job 4 is FAILED after 0 restarts"},
		},
	}
}

func TestFrames(t *testing.T) {
	view := playing()
	failing := playing()
	failing.Err = errors.New("listing nodes: timeout")
	for file, c := range map[string]struct {
		scene Scene
		size  Size
	}{
		"building.txt":     {building(), Size{80, 24}},
		"playing.txt":      {Scene{How: "real Slurm", Since: 8 * time.Second, Now: noon, Play: &view}, Size{100, 30}},
		"playing-low.txt":  {Scene{How: "real Slurm", Now: noon, Play: &view}, Size{80, 12}},
		"playing-fail.txt": {Scene{How: "real Slurm", Now: noon, Play: &failing}, Size{100, 30}},
	} {
		golden(t, file, strings.Join(Frame(c.scene, c.size, Plainly), "\n")+"\n")
	}
}

func TestFramesFitAnyTerminal(t *testing.T) {
	view := playing()
	for _, scene := range []Scene{building(), {Now: noon, Play: &view}, {Now: noon, Play: &play.View{}}, {}} {
		for _, size := range []Size{{200, 60}, {80, 24}, {40, 10}, {10, 3}, {1, 1}, {0, 0}} {
			lines := Frame(scene, size, Plainly)
			if len(lines) > size.Height {
				t.Errorf("%d lines for %v", len(lines), size)
			}
			for _, line := range lines {
				if n := utf8.RuneCountInString(line); n > size.Width {
					t.Errorf("%d columns for %v: %q", n, size, line)
				}
			}
		}
	}
}

func TestColoursAreNotCounted(t *testing.T) {
	for name, c := range map[string]struct{ line, want string }{
		"a line that fits":                 {Colours(green, "abc"), "\x1b[32mabc\x1b[0m"},
		"a line that is cut":               {Colours(green, "abcdefg"), "\x1b[32mabcde\x1b[0m\x1b[0m"},
		"a line without colours":           {"abcdefg", "abcde"},
		"a colour in the part that is cut": {"abcdef" + Colours(red, "g"), "abcde\x1b[31m\x1b[0m\x1b[0m"},
	} {
		if got := clip(c.line, 5); got != c.want {
			t.Errorf("%s: %q", name, got)
		}
	}
}

func TestPlainLines(t *testing.T) {
	var out strings.Builder
	now := noon
	p := NewPlain(&out, func() time.Time { return now })
	showSteps := func(board ...steps.Status) { now = now.Add(6 * time.Second); p.Steps(board) }
	showSteps(steps.Status{Name: "build", State: steps.Running})
	showSteps(steps.Status{Name: "build", State: steps.Running,
		Progress: steps.Progress{Done: 1, Total: 3, Text: "one"}})
	showSteps(steps.Status{Name: "build", State: steps.Running,
		Progress: steps.Progress{Done: 2, Total: 3, Text: "two"}})
	showSteps(steps.Status{Name: "build", State: steps.Done, Took: 18 * time.Second},
		steps.Status{Name: "start", State: steps.Running})
	showSteps(steps.Status{Name: "build", State: steps.Done, Took: 18 * time.Second},
		steps.Status{Name: "start", State: steps.Failed, Took: 6 * time.Second})
	v := playing()
	for n := 1; n <= len(v.Line.Samples); n++ {
		now = now.Add(500 * time.Millisecond)
		p.Play(play.View{Line: timeline.Timeline{Samples: v.Line.Samples[:n], Marks: v.Line.Marks}})
	}
	p.Play(play.View{Line: timeline.Timeline{Samples: []timeline.Sample{{Sets: []timeline.Set{{Name: "cpu"}}}},
		Marks: v.Line.Marks}, Err: errors.New("no answer")})
	golden(t, "plain.txt", out.String())
}

func TestTheSummary(t *testing.T) {
	v := playing()
	r := play.Result{Line: v.Line, Outcomes: v.Outcomes, Summary: burst.Sum(v.Outcomes, true), Reported: true}
	golden(t, "summary.txt", Summary(r)+"\n"+Footer(r)+"\n")
}
