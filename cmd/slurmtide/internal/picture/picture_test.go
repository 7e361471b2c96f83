package picture

import (
	"bytes"
	"encoding/xml"
	"errors"
	"flag"
	pixels "image"
	"image/color"
	"image/png"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/slurmtide/slurmtide/cmd/slurmtide/internal/timeline"
)

var update = flag.Bool("update", false, "rewrite testdata")

// samplePicture is a picture of one NodeSet that scales to two workers and back.
func samplePicture() Picture {
	sample := func(at time.Duration, pending, running, done, required, desired int,
		workers ...timeline.Worker) timeline.Sample {
		return timeline.Sample{
			At: at * time.Second, Jobs: 2, Pending: timeline.Known(pending), Running: timeline.Known(running),
			Done: timeline.Known(done),
			Sets: []timeline.Set{{Name: "cpu", Max: 2, Required: timeline.Known(required),
				Desired: timeline.Known(desired), Known: true, Workers: workers}},
		}
	}
	both := func(s timeline.State) []timeline.Worker {
		return []timeline.Worker{{Name: "cpu-0", State: s}, {Name: "cpu-1", State: s}}
	}
	return Picture{
		Title: "A <title>", Subtitle: "a subtitle", Footer: "a summary",
		Timeline: timeline.Timeline{Samples: []timeline.Sample{
			sample(-1, 0, 0, 0, 0, 0), sample(0, 2, 0, 0, 2, 0), sample(2, 2, 0, 0, 2, 2, both(timeline.Starting)...),
			sample(4, 0, 2, 0, 2, 2, both(timeline.Busy)...), sample(9, 0, 0, 2, 0, 2, both(timeline.Idle)...),
			sample(12, 0, 0, 2, 0, 0, both(timeline.Draining)...), sample(13, 0, 0, 2, 0, 0),
		}},
	}
}

func renderSVG(t *testing.T, p Picture) string {
	t.Helper()
	var b strings.Builder
	if err := p.SVG(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestSVG(t *testing.T) {
	got := renderSVG(t, samplePicture())
	const golden = "testdata/some.svg"
	if *update {
		if err := os.WriteFile(golden, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(want), got); d != "" {
		t.Error(d)
	}
}

func TestSVGIsWellFormedAndStaysWithinItsBounds(t *testing.T) {
	for name, p := range map[string]Picture{"some": samplePicture(), "nothing at all": {},
		"one sample": {Timeline: timeline.Timeline{Samples: samplePicture().Timeline.Samples[:1]}}} {
		decoder := xml.NewDecoder(strings.NewReader(renderSVG(t, p)))
		for {
			token, err := decoder.Token()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			start, ok := token.(xml.StartElement)
			if !ok {
				continue
			}
			for _, a := range start.Attr {
				if strings.Contains(a.Value, "NaN") || strings.Contains(a.Value, "Inf") || a.Name.Local != "viewBox" &&
					strings.HasPrefix(a.Value, "-") {
					t.Errorf("%s: <%s %s=%q>", name, start.Name.Local, a.Name.Local, a.Value)
				}
			}
		}
	}
}

func TestPNGHasTwoPixelsForEachUnitAndTheColoursOfStates(t *testing.T) {
	var b bytes.Buffer
	if err := samplePicture().PNG(&b); err != nil {
		t.Fatal(err)
	}
	decoded, err := png.Decode(&b)
	if err != nil {
		t.Fatal(err)
	}
	image, ok := decoded.(*pixels.RGBA)
	if !ok {
		t.Fatalf("it is %T", decoded)
	}
	if image.Bounds().Dx() != 2*width {
		t.Errorf("it is %d pixels wide", image.Bounds().Dx())
	}
	seen := map[color.RGBA]bool{}
	for y := range image.Bounds().Dy() {
		for x := range image.Bounds().Dx() {
			seen[image.RGBAAt(x, y)] = true
		}
	}
	for _, s := range []timeline.State{timeline.Starting, timeline.Busy, timeline.Idle, timeline.Draining} {
		if !seen[stateColour(s).rgba()] {
			t.Errorf("no pixel has the colour of %v", s)
		}
	}
	if seen[stateColour(timeline.Lost).rgba()] {
		t.Error("a pixel has the colour of lost workers, but no worker is lost")
	}
}

func TestUnknownReadingsAreNotDrawn(t *testing.T) {
	p := samplePicture()
	for i := range p.Timeline.Samples {
		p.Timeline.Samples[i].Sets[0].Required = timeline.Reading{}
	}
	if n := strings.Count(renderSVG(t, p), string(requiredLine)); n != 1 { // the line of the legend
		t.Errorf("an unknown reading is drawn, with %d strokes", n)
	}
}
