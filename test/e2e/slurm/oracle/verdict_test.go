package oracle

import (
	"errors"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestJudgeRound(t *testing.T) {
	type counts = []uint64
	both, one := []string{"q1", "q2"}, []string{"q1"}
	tests := map[string]struct {
		up         counts
		now, all   []string
		least      counts
		unmodelled uint64
		want       Verdict
		fails      bool
	}{
		"the minimum is required": {counts{3, 1}, both, both, counts{3, 1}, 0,
			Verdict{Exact: true}, false},
		"nothing is required or needed": {counts{0}, nil, nil, counts{0}, 0,
			Verdict{Exact: true}, false},
		"a job starts only on all": {counts{3}, one, both, counts{4}, 0,
			Verdict{Starved: []string{"q2"}}, true},
		"a job that starts in another trial on as many workers is not starved": {counts{3}, one, both, counts{3}, 0,
			Verdict{Exact: true, Unsteady: true}, false},
		"a job that starts on as many workers of other pools is starved": {counts{3, 1}, one, both, counts{1, 3}, 0,
			Verdict{Starved: []string{"q2"}}, true},
		"a job that never starts is not starved": {counts{3}, one, one, counts{3}, 0,
			Verdict{Exact: true}, false},
		"a job that starts only on fewer workers is not starved": {counts{3}, both, one, counts{3}, 0,
			Verdict{Exact: true}, false},
		"one more than needed is not excessive": {counts{3}, both, both, counts{2}, 0, Verdict{},
			false},
		"one more per pool, within a tenth, is not excessive": {counts{21, 1}, both, both, counts{20, 0}, 0,
			Verdict{}, false},
		"two more than needed are excessive": {counts{3}, both, both, counts{1}, 0,
			Verdict{Excessive: true}, true},
		"excess adds up over pools": {counts{2, 2}, both, both, counts{1, 1}, 0,
			Verdict{Excessive: true}, true},
		"two more than twenty are not excessive": {counts{22}, both, both, counts{20}, 0, Verdict{},
			false},
		"three more than twenty are excessive": {counts{23}, both, both, counts{20}, 0,
			Verdict{Excessive: true}, true},
		"two instead of none are excessive": {counts{2}, nil, nil, counts{0}, 0,
			Verdict{Excessive: true}, true},
		"a starved unmodelled round passes": {counts{3}, one, both, counts{4}, 1,
			Verdict{Starved: []string{"q2"}, Unmodelled: true}, false},
		"an excessive unmodelled round passes": {counts{9}, both, both, counts{1}, 1,
			Verdict{Excessive: true, Unmodelled: true}, false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			required := Trial{tt.up, tt.now}
			got := judgeRound(required, required, Trial{nil, tt.all}, tt.least, tt.unmodelled)
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Error(diff)
			}
			if got.Fails() != tt.fails {
				t.Errorf("fails: %v, want %v", got.Fails(), tt.fails)
			}
		})
	}
}

func TestJudgeGrownRound(t *testing.T) {
	type counts = []uint64
	both, one := []string{"q1", "q2"}, []string{"q1"}
	required, all, least := Trial{counts{3, 1}, one}, Trial{counts{9, 9}, both}, counts{0, 5}
	tests := map[string]struct {
		grown Trial
		want  Verdict
	}{
		"demand requires no more": {Trial{counts{3, 1}, one}, Verdict{Starved: []string{"q2"}}},
		"more are not enough":     {Trial{counts{4, 1}, one}, Verdict{Starved: []string{"q2"}}},
		"more are enough":         {Trial{counts{4, 1}, both}, Verdict{Delayed: []string{"q2"}}},
		"the same number is enough in another trial": {Trial{counts{3, 1}, both},
			Verdict{Unsteady: true}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got := judgeRound(required, tt.grown, all, least, 0)
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Error(diff)
			}
			if got.Fails() == tt.want.Unsteady {
				t.Errorf("fails: %v, want %v", got.Fails(), !tt.want.Unsteady)
			}
		})
	}
}

// TestJudgeNoticesWrongDemand uses a cluster on which every job needs a worker. The judge notices
// one worker more or less than that.
func TestJudgeNoticesWrongDemand(t *testing.T) {
	queue := []string{"q1", "q2", "q3", "q4", "q5"}
	on := func(n uint64) Trial { return Trial{[]uint64{n}, queue[:min(n, 5)]} }
	for required, want := range map[uint64]Verdict{
		5: {Exact: true}, 6: {}, 7: {Excessive: true}, 4: {Starved: queue[4:]}, 0: {Starved: queue},
	} {
		least, err := findFewestWorkers([]uint64{required}, func(up []uint64) (bool, error) {
			return len(missingJobs(on(9), on(up[0]))) == 0, nil
		})
		if required < 5 {
			least = []uint64{5} // jobs are starved, so the search began at all workers
		}
		if diff := cmp.Diff(want, judgeRound(on(required), on(required), on(9), least, 0)); diff != "" || err != nil {
			t.Errorf("required %d: %v %s", required, err, diff)
		}
	}
}

func TestFigures(t *testing.T) {
	var f Figures
	for _, v := range []Verdict{
		{Exact: true}, {Exact: true}, {Starved: []string{"q1"}}, {Excessive: true}, {},
		{Starved: []string{"q1"}, Unmodelled: true}, {Excessive: true, Unmodelled: true}, {Exact: true, Unsteady: true},
		{Delayed: []string{"q1"}}, {Delayed: []string{"q1"}, Unmodelled: true},
	} {
		f.Add(v)
	}
	want := Figures{Rounds: 10, Starved: 1, Delayed: 1, Exact: 6, Excessive: 1, Unmodelled: 3, Unsteady: 1}
	if diff := cmp.Diff(want, f); diff != "" {
		t.Error(diff)
	}
	if f.ExactShare() != 0.6 || f.ExcessiveShare() != 0.1 || f.DelayedShare() != 0.1 {
		t.Errorf("shares %v, %v and %v", f.ExactShare(), f.ExcessiveShare(), f.DelayedShare())
	}
	if empty := (Figures{}); empty.ExactShare() != 0 || empty.ExcessiveShare() != 0 {
		t.Error("shares of no rounds are not 0")
	}
}

func TestFindFewestWorkers(t *testing.T) {
	tests := map[string]struct {
		from, want []uint64
		enough     func([]uint64) bool
		asked      int
	}{
		"the minimum is confirmed in one trial":      {[]uint64{7}, []uint64{7}, haveAtLeast(7), 1},
		"without required workers there is no trial": {[]uint64{0}, []uint64{0}, haveAtLeast(0), 0},
		"one fewer":            {[]uint64{7}, []uint64{6}, haveAtLeast(6), 4},
		"none at all":          {[]uint64{100}, []uint64{0}, haveAtLeast(0), 8},
		"each pool separately": {[]uint64{4, 9}, []uint64{4, 2}, haveAtLeast(4, 2), 5},
		"the first pool is lowered before the second": {[]uint64{4, 9}, []uint64{0, 5},
			func(up []uint64) bool { return sumOf(up) >= 5 }, 7},
		"a pool without required workers is skipped": {[]uint64{0, 3}, []uint64{0, 3}, haveAtLeast(0, 3), 1},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			asked, from := 0, slices.Clone(tt.from)
			got, err := findFewestWorkers(tt.from, func(up []uint64) (bool, error) {
				asked++
				return tt.enough(up), nil
			})
			if diff := cmp.Diff(tt.want, got); diff != "" || err != nil {
				t.Errorf("%v %s", err, diff)
			}
			if asked > tt.asked {
				t.Errorf("%d trials, want at most %d", asked, tt.asked)
			}
			if !slices.Equal(tt.from, from) {
				t.Error("findFewestWorkers wrote to its input")
			}
		})
	}
	broken := errors.New("broken")
	if _, err := findFewestWorkers([]uint64{1}, func([]uint64) (bool, error) { return false, broken }); !errors.Is(err,
		broken) {
		t.Errorf("error %v, want %v", err, broken)
	}
}

func haveAtLeast(least ...uint64) func([]uint64) bool {
	return func(up []uint64) bool {
		for i := range up {
			if up[i] < least[i] {
				return false
			}
		}
		return true
	}
}

func TestMinimiseQueue(t *testing.T) {
	queue := func(names ...string) (out []Job) {
		for _, name := range names {
			out = append(out, Job{Name: name})
		}
		return out
	}
	contains := func(wanted ...string) func([]Job) bool {
		return func(jobs []Job) bool {
			return !slices.ContainsFunc(wanted,
				func(name string) bool { return !slices.Contains(jobs, Job{Name: name}) })
		}
	}
	tests := map[string]struct {
		queue, want []Job
		fails       func([]Job) bool
	}{
		"one job is enough to fail": {queue("a", "b", "c", "d", "e"), queue("d"), contains("d")},
		"two jobs together fail":    {queue("a", "b", "c", "d", "e"), queue("a", "e"), contains("a", "e")},
		"all are needed":            {queue("a", "b", "c"), queue("a", "b", "c"), contains("a", "b", "c")},
		"an empty queue fails":      {queue("a", "b"), queue(), func([]Job) bool { return true }},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := minimiseQueue(tt.queue, func(jobs []Job) (bool, error) { return tt.fails(jobs), nil })
			if err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(got, tt.want) {
				t.Errorf("left %v, want %v", got, tt.want)
			}
		})
	}
}
