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

func compareGolden(t *testing.T, file, got string) {
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

func buildingScreen() Screen {
	return Screen{How: "real Slurm", Since: 75 * time.Second, Now: noon, Steps: []steps.Status{
		{Name: "first", State: steps.Done, Took: 1500 * time.Millisecond},
		{Name: "second", State: steps.Running, Began: noon.Add(-time.Minute),
			Progress: steps.Progress{Done: 30, Total: 120, Text: "packages"}},
		{Name: "third"},
	}}
}

func previewScreen() Screen {
	screen, view := buildingScreen(), playingView()
	screen.Preview = &view
	return screen
}

func newSample(at float64, pending, running, done, required, desired int, workers ...timeline.Worker) timeline.Sample {
	return timeline.Sample{
		At: time.Duration(at * float64(time.Second)), Jobs: 5,
		Pending: timeline.Known(pending), Running: timeline.Known(running), Done: timeline.Known(done),
		Sets: []timeline.Set{{Name: "cpu", Max: 2, Required: timeline.Known(required),
			Desired: timeline.Known(desired), Known: true, Workers: workers}},
	}
}

func newWorkers(states ...timeline.State) []timeline.Worker {
	var out []timeline.Worker
	for i, s := range states {
		out = append(out, timeline.Worker{Name: []string{"cpu-0", "cpu-1"}[i], State: s})
	}
	return out
}

func playingView() play.View {
	return play.View{
		Timeline: timeline.Timeline{Samples: []timeline.Sample{
			newSample(-1, 0, 0, 0, 0, 0), newSample(-0.5, 0, 0, 0, 0, 0), newSample(0, 5, 0, 0, 0, 0),
			newSample(0.5, 5, 0, 0, 2, 0),
			newSample(1, 5, 0, 0, 2, 2, newWorkers(timeline.Starting, timeline.Starting)...),
			newSample(3, 3, 2, 0, 2, 2, newWorkers(timeline.Busy, timeline.Busy)...),
			newSample(5, 1, 2, 2, 2, 2, newWorkers(timeline.Busy, timeline.Busy)...),
			newSample(6, 0, 1, 4, 1, 2, newWorkers(timeline.Busy, timeline.Idle)...),
			newSample(7, 0, 1, 4, 1, 1, newWorkers(timeline.Busy, timeline.Draining)...),
			newSample(7.5, 0, 1, 4, 1, 1, newWorkers(timeline.Busy, timeline.Terminating)...),
		}, Marks: []timeline.Mark{{At: 0, Text: "jobs are submitted"}}},
		Outcomes: []burst.Outcome{
			{JobTemplate: burst.JobTemplate{Title: "an array", Array: "1-4", Tasks: 4, Seconds: 2}, ID: 1, Done: 4},
			{JobTemplate: burst.JobTemplate{Title: "a long one", Tasks: 1, Seconds: 9}, ID: 2, Running: 1},
			{JobTemplate: burst.JobTemplate{Title: "never fits", Tasks: 1, Nodes: 3, NeverFits: true, Seconds: 1},
				ID: 3, Pending: 1,
				Reason: "PartitionNodeLimit"},
			{JobTemplate: burst.JobTemplate{Title: "bad", Tasks: 2, Seconds: 1}, ID: 4, Failed: 1, Done: 1,
				Failure: "job 4 is FAILED after 0 restarts"},
		},
	}
}

func TestFrames(t *testing.T) {
	view := playingView()
	failing := playingView()
	failing.Err = errors.New("listing nodes: timeout")
	for file, c := range map[string]struct {
		scene Screen
		size  Size
	}{
		"building.txt":     {buildingScreen(), Size{80, 24}},
		"preview.txt":      {previewScreen(), Size{100, 30}},
		"playing.txt":      {Screen{How: "real Slurm", Since: 8 * time.Second, Now: noon, Play: &view}, Size{100, 30}},
		"playing-low.txt":  {Screen{How: "real Slurm", Now: noon, Play: &view}, Size{80, 12}},
		"playing-fail.txt": {Screen{How: "real Slurm", Now: noon, Play: &failing}, Size{100, 30}},
	} {
		compareGolden(t, file, strings.Join(RenderFrame(c.scene, c.size, PaintPlain), "\n")+"\n")
	}
}

func TestFramesFitAnyTerminal(t *testing.T) {
	view := playingView()
	for _, scene := range []Screen{buildingScreen(), previewScreen(), {Now: noon, Play: &view}, {Now: noon, Play: &play.View{}}, {}} {
		for _, size := range []Size{{200, 60}, {80, 24}, {40, 10}, {10, 3}, {1, 1}, {0, 0}} {
			lines := RenderFrame(scene, size, PaintPlain)
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

func TestClippingIgnoresColours(t *testing.T) {
	for name, c := range map[string]struct{ line, want string }{
		"a line that fits":                 {PaintColours(green, "abc"), "\x1b[32mabc\x1b[0m"},
		"a line that is cut":               {PaintColours(green, "abcdefg"), "\x1b[32mabcde\x1b[0m\x1b[0m"},
		"a line without colours":           {"abcdefg", "abcde"},
		"a colour in the part that is cut": {"abcdef" + PaintColours(red, "g"), "abcde\x1b[31m\x1b[0m\x1b[0m"},
	} {
		if got := clipLine(c.line, 5); got != c.want {
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
	v := playingView()
	for n := 1; n <= len(v.Timeline.Samples); n++ {
		now = now.Add(500 * time.Millisecond)
		p.Play(play.View{Timeline: timeline.Timeline{Samples: v.Timeline.Samples[:n], Marks: v.Timeline.Marks}})
	}
	p.Play(play.View{Timeline: timeline.Timeline{Samples: []timeline.Sample{{Sets: []timeline.Set{{Name: "cpu"}}}},
		Marks: v.Timeline.Marks}, Err: errors.New("no answer")})
	compareGolden(t, "plain.txt", out.String())
}

func TestPlainLinesOfAPreviewAreMarked(t *testing.T) {
	var out strings.Builder
	p := NewPlain(&out, func() time.Time { return noon })
	p.Preview(play.View{Err: errors.New("no answer")})
	p.Preview(playingView())
	p.Play(playingView())
	compareGolden(t, "plain-preview.txt", out.String())
}

func TestTheSummary(t *testing.T) {
	v := playingView()
	r := play.Result{Timeline: v.Timeline, Outcomes: v.Outcomes, Summary: burst.Summarize(v.Outcomes, true),
		Reported: true}
	compareGolden(t, "summary.txt", Summary(r)+"\n"+Footer(r)+"\n")
}
