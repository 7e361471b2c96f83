package simulated

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/slurmtide/slurmtide/cmd/slurmtide/internal/burst"
	"github.com/slurmtide/slurmtide/cmd/slurmtide/internal/play"
)

var noon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

func TestReplicasRiseAtOnceAndFallAfterTheWindow(t *testing.T) {
	c := workerSet{NodeSet: NodeSet{Max: 4}}
	var got []int
	for i, required := range []int{0, 3, 1, 1, 2, 0, 0, 0, 0, 0, 0} {
		c.requireWorkers(noon.Add(time.Duration(i)*2*time.Second), required)
		got = append(got, c.replicas)
	}
	if d := cmp.Diff([]int{0, 3, 3, 3, 2, 2, 2, 0, 0, 0, 0}, got); d != "" {
		t.Error(d)
	}
}

func TestPlanOfAWorkerSet(t *testing.T) {
	long, now := noon.Add(-time.Minute), noon
	for name, c := range map[string]struct {
		replicas int
		workers  []worker
		busy     []int
		want     string
	}{
		"from zero":                        {2, nil, nil, "start [0 1]"},
		"never more than the maximum":      {9, nil, nil, "start [0 1 2 3]"},
		"a free ordinal is used":           {2, []worker{{1, inService, long}}, nil, "start [0]"},
		"slurmd registers after its start": {1, []worker{{0, starting, long}}, nil, "register [0]"},
		"slurmd has just started":          {1, []worker{{0, starting, now}}, nil, ""},
		"the last idle worker is drained": {2,
			[]worker{{0, inService, long}, {1, inService, long}, {2, inService, long}}, nil, "drain [2]"},
		"busy workers are drained last": {1,
			[]worker{{0, inService, long}, {1, inService, long}, {2, inService, long}}, []int{2}, "drain [1 0]"},
		"a busy worker is drained if necessary":      {0, []worker{{0, inService, long}}, []int{0}, "drain [0]"},
		"a drained worker with work stays":           {0, []worker{{0, draining, long}}, []int{0}, ""},
		"a drained worker without work stops":        {0, []worker{{0, draining, long}}, nil, "finish [0]"},
		"a draining worker is undrained if required": {1, []worker{{0, draining, long}}, []int{0}, "undrain [0]"},
		"a terminating worker keeps its ordinal":     {1, []worker{{0, terminating, now}}, nil, "start [1]"},
	} {
		crew := workerSet{NodeSet: NodeSet{Name: "cpu", Max: 4}, replicas: c.replicas, workers: c.workers}
		s := crew.plan(now, func(w worker) bool { return !slices.Contains(c.busy, w.ordinal) })
		got := ""
		record := func(what string, ordinals []int) {
			if len(ordinals) > 0 {
				got += fmt.Sprintf("%s %v", what, ordinals)
			}
		}
		record("start", s.start)
		for what, list := range map[string][]worker{"register": s.register, "drain": s.drain, "undrain": s.undrain,
			"finish": s.stop} {
			var ordinals []int
			for _, w := range list {
				ordinals = append(ordinals, w.ordinal)
			}
			record(what, ordinals)
		}
		if got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// The test plays in real time because the simulated Slurm is read over HTTP.
func TestABurstScalesUpAndBackToZero(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes half a minute")
	}
	world, err := New(t.Context(), NodeSet{Name: "cpu", Max: 2, CPUs: 2, MemoryMiB: 500},
		NodeSet{Name: "gpu", Max: 1, CPUs: 2, MemoryMiB: 500, GRES: "gpu:h100:2"})
	if err != nil {
		t.Fatal(err)
	}
	defer world.Close()
	r, err := play.Run(t.Context(), world, play.Config{
		Templates: []burst.JobTemplate{
			{Title: "an array", Array: "1-3", Tasks: 3, Exclusive: true, Seconds: 1},
			{Title: "two nodes", Tasks: 1, Nodes: 2, Exclusive: true, Seconds: 1},
			{Title: "a GPU", Tasks: 1, Partition: "gpu", GRES: "gpu:h100:1", Seconds: 1},
			{Title: "never fits", Tasks: 1, Nodes: 3, NeverFits: true, Seconds: 1},
		},
		SampleInterval: 200 * time.Millisecond, ZeroPeriod: time.Second, Timeout: 2 * time.Minute,
		Show: func(play.View) {},
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Verdict(); err != nil {
		t.Errorf("%v; %+v", err, r.Summary)
	}
	if r.Summary.Jobs != 5 || r.Summary.Ran != 5 || !r.Reported {
		t.Errorf("%+v", r.Summary)
	}
}
