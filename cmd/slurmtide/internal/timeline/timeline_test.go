package timeline

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

const s = time.Second

// sampleAt is a sample of one NodeSet "cpu".
func sampleAt(t time.Duration, pending, running, done, required, desired int, workers ...Worker) Sample {
	return Sample{
		At: t, Jobs: 2, Pending: Known(pending), Running: Known(running), Done: Known(done),
		Sets: []Set{{Name: "cpu", Max: 4, Required: Known(required), Desired: Known(desired), Known: true,
			Workers: workers}},
	}
}

func upAndDown() Timeline {
	return Timeline{Samples: []Sample{
		sampleAt(-1*s, 0, 0, 0, 0, 0),
		sampleAt(0, 2, 0, 0, 0, 0),
		sampleAt(1*s, 2, 0, 0, 2, 0),
		sampleAt(2*s, 2, 0, 0, 2, 2, Worker{"cpu-0", Starting}, Worker{"cpu-1", Starting}),
		sampleAt(3*s, 2, 0, 0, 2, 2, Worker{"cpu-0", Idle}, Worker{"cpu-1", Starting}),
		sampleAt(4*s, 0, 2, 0, 2, 2, Worker{"cpu-0", Busy}, Worker{"cpu-1", Busy}),
		sampleAt(5*s, 0, 1, 1, 1, 2, Worker{"cpu-0", Busy}, Worker{"cpu-1", Idle}),
		sampleAt(6*s, 0, 0, 2, 0, 2, Worker{"cpu-0", Idle}, Worker{"cpu-1", Draining}),
		sampleAt(8*s, 0, 0, 2, 0, 0, Worker{"cpu-0", Terminating}),
		sampleAt(9*s, 0, 0, 2, 0, 0),
	}}
}

func TestReactionsAreCountedFromSubmissionAndFromTheLastJobsEnd(t *testing.T) {
	line := upAndDown()
	got := map[string]time.Duration{}
	for _, r := range line.Reactions() {
		if !r.Happened {
			t.Errorf("%s did not happen", r.Name)
		}
		got[r.Name] = r.Took
	}
	want := map[string]time.Duration{
		"demand is reported": 1 * s, "replicas rise": 2 * s, "first pod is created": 2 * s,
		"first worker is in service": 3 * s,
		"first job runs":             4 * s, "all jobs are done": 6 * s, "replicas are 0": 2 * s,
		"last pod is deleted": 3 * s,
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

func TestReactionsThatDidNotHappen(t *testing.T) {
	line := upAndDown()
	line.Samples = line.Samples[:6] // jobs still run
	for _, r := range line.Reactions() {
		if want := r.From == "submit" && r.Name != "all jobs are done"; r.Happened != want {
			t.Errorf("%s: happened is %v", r.Name, r.Happened)
		}
	}
}

func TestAtZeroRequiresKnownReadings(t *testing.T) {
	zero := sampleAt(0, 0, 0, 0, 0, 0)
	unread, unwanted, none := sampleAt(0, 0, 0, 0, 0, 0), sampleAt(0, 0, 0, 0, 0, 0), Sample{}
	unread.Sets[0].Known = false
	unwanted.Sets[0].Desired = Reading{}
	for name, c := range map[string]struct {
		sample Sample
		want   bool
	}{
		"no worker and no replicas": {zero, true},
		"a worker is left":          {sampleAt(0, 0, 0, 0, 0, 0, Worker{"cpu-0", Terminating}), false},
		"a replica is desired":      {sampleAt(0, 0, 0, 0, 0, 1), false},
		"workers were not read":     {unread, false},
		"replicas were not read":    {unwanted, false},
		"no NodeSet":                {none, false},
	} {
		if got := c.sample.AtZero(); got != c.want {
			t.Errorf("%s: at zero is %v", name, got)
		}
	}
}

func TestLanesShowTheStatesOfEachWorker(t *testing.T) {
	line := upAndDown()
	want := []Lane{
		{"cpu", "cpu-0", []Interval{{2 * s, 3 * s, Starting}, {3 * s, 4 * s, Idle}, {4 * s, 6 * s, Busy},
			{6 * s, 8 * s, Idle}, {8 * s, 9 * s, Terminating}}},
		{"cpu", "cpu-1", []Interval{{2 * s, 4 * s, Starting}, {4 * s, 5 * s, Busy}, {5 * s, 6 * s, Idle},
			{6 * s, 8 * s, Draining}}},
	}
	if d := cmp.Diff(want, line.Lanes()); d != "" {
		t.Error(d)
	}
}

func TestLanesAreOrderedBySetAndNumber(t *testing.T) {
	sample := Sample{Sets: []Set{
		{Name: "zoo", Workers: []Worker{{"zoo-10", Idle}, {"zoo-9", Idle}}},
		{Name: "ape", Workers: []Worker{{"ape-0", Idle}}},
	}}
	line := Timeline{Samples: []Sample{sample}}
	var got []string
	for _, l := range line.Lanes() {
		got = append(got, l.Worker)
	}
	if d := cmp.Diff([]string{"zoo-9", "zoo-10", "ape-0"}, got); d != "" {
		t.Error(d)
	}
}

func TestAnUnknownReadingIsAQuestionMark(t *testing.T) {
	if got := (Reading{}).String() + " " + Known(0).String(); got != "? 0" {
		t.Errorf("got %q", got)
	}
}
