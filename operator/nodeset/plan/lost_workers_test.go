package plan

import (
	"slices"
	"strings"
	"testing"
	"time"
)

func TestWorkersWhoseRecordSlurmLost(t *testing.T) {
	future := withRecord(0, func(r *Record) { *r = Record{Name: r.Name, Dynamic: true, OwnerUID: "set", Future: true} })
	never := withWorker(0, func(w *Worker) { w.Registered = time.Time{} })
	before := withWorker(0, func(w *Worker) { w.Registered = w.RunningSince.Add(-time.Second) })
	ahead := func(by time.Duration) func(*planInput) {
		return withWorker(0, func(w *Worker) { w.Registered = noon.Add(by) })
	}
	for name, tc := range map[string]struct {
		change []func(*planInput)
		want   []string
		lost   bool
	}{
		"a worker that was registered stays": {[]func(*planInput){future}, nil, true},
		"it stays without any record":        {[]func(*planInput){withoutRecord}, nil, true},
		"it stays when it is to go":          {[]func(*planInput){future, withCause(0, causeScaleIn), withNoReplicas}, nil, true},
		"it stays when it is outdated":       {[]func(*planInput){future, withCause(0, causeUpdate), withOldRevision(0)}, nil, true},
		"it stays when its registration was seen before the clock was set back a day": {[]func(*planInput){future, ahead(24 * time.Hour)}, nil, true},
		"a registration by a clock that is ahead is not lost yet":                     {[]func(*planInput){future, ahead(time.Minute)}, nil, false},
		"it stays on a stale reading":                                                 {[]func(*planInput){future, withStaleReading}, nil, false},
		"one that never registered is replaced":                                       {[]func(*planInput){future, never}, []string{"delete n-0"}, false},
		"one whose slurmd started since is replaced":                                  {[]func(*planInput){future, before}, []string{"delete n-0"}, false},
		"it counts as a worker, so nothing takes its place":                           {[]func(*planInput){future, withFutures(1)}, nil, true},
		"with Force it goes": {[]func(*planInput){future, withCause(0, causeScaleIn), withNoReplicas,
			func(s *planInput) { s.desired.DrainPolicy.Force = true }}, []string{"delete n-0"}, true},
	} {
		t.Run(name, func(t *testing.T) {
			s := newInput(1, 1, tc.change...)
			actions := expectSteps(t, s, tc.want...)
			waits := slices.ContainsFunc(actions.Waits, func(w Wait) bool {
				return w.BlockReason == BlockedByRegistration && strings.Contains(w.Message, "Slurm lost its record")
			})
			lost := len(actions.LostBySlurm) == 1 || waits || strings.HasPrefix(name, "with Force")
			if lost != tc.lost {
				t.Errorf("LostBySlurm = %v, waits %+v", actions.LostBySlurm, actions.Waits)
			}
		})
	}
}

func TestALostWorkerWithoutAnAgentIsAskedByHand(t *testing.T) {
	future := withRecord(0, func(r *Record) { *r = Record{Name: r.Name, Dynamic: true, OwnerUID: "set", Future: true} })
	for _, without := range []bool{false, true} {
		s := newInput(1, 1, future, withWorker(0, func(w *Worker) { w.NoAgent, w.DrainMark.RegisterAgain = without, time.Time{} }))
		actions := s.runPlanner()
		asked := slices.ContainsFunc(actions.Steps, func(s Step) bool { return !s.DrainMark.RegisterAgain.IsZero() })
		if byHand := len(actions.AskedByHand) == 1; byHand != without || asked == without {
			t.Errorf("NoAgent %v: asked by the agent %v, by hand %v", without, asked, byHand)
		}
	}
}

func TestAReadingShowsARegistration(t *testing.T) {
	for name, tc := range map[string]struct {
		change []func(*planInput)
		want   bool
	}{
		"a worker in service":            {nil, true},
		"its record is FUTURE":           {[]func(*planInput){withRecord(0, func(r *Record) { r.Future = true })}, false},
		"an earlier worker's is DOWN":    {[]func(*planInput){withRecord(0, func(r *Record) { r.Down = true })}, false},
		"Slurm does not list it":         {[]func(*planInput){withoutRecord}, false},
		"the reading is stale":           {[]func(*planInput){withStaleReading}, false},
		"it is not Ready":                {[]func(*planInput){withWorker(0, func(w *Worker) { w.Ready = false })}, false},
		"its slurmd does not run":        {[]func(*planInput){withWorker(0, func(w *Worker) { w.Running = false })}, false},
		"its slurmd started since then":  {[]func(*planInput){withWorker(0, func(w *Worker) { w.RunningSince = noon })}, false},
		"its pod was created since then": {[]func(*planInput){createdBefore(0)}, false},
	} {
		t.Run(name, func(t *testing.T) {
			s := newInput(1, 1, tc.change...)
			if got := s.observed.Slurm.ShowsRegistration(&s.observed.Workers[0]); got != tc.want {
				t.Errorf("ShowsRegistration = %t, want %t", got, tc.want)
			}
		})
	}
}

func withNoReplicas(s *planInput) { s.desired.Replicas = 0 }

func TestRequestsToRegisterAgain(t *testing.T) {
	future := withRecord(0, func(r *Record) { *r = Record{Name: r.Name, Dynamic: true, OwnerUID: "set", Future: true} })
	asked := func(before time.Duration) func(*planInput) {
		return withWorker(0, func(w *Worker) { w.DrainMark.RegisterAgain = noon.Add(-before) })
	}
	started := func(before time.Duration) func(*planInput) {
		return withWorker(0, func(w *Worker) {
			w.RunningSince, w.Registered = noon.Add(-before), time.Time{}
		})
	}
	for name, tc := range map[string]struct {
		change []func(*planInput)
		asks   bool
	}{
		"a registered worker":                                          {nil, false},
		"a worker whose record Slurm lost":                             {[]func(*planInput){future}, true},
		"one that Slurm does not list at all":                          {[]func(*planInput){withoutRecord}, true},
		"one that was asked a minute ago":                              {[]func(*planInput){future, asked(time.Minute)}, false},
		"one that was asked long ago":                                  {[]func(*planInput){future, asked(2 * time.Minute)}, true},
		"one that was asked by a clock that is ahead":                  {[]func(*planInput){future, asked(-time.Minute)}, false},
		"one that was asked a day before the clock was set back a day": {[]func(*planInput){withoutRecord, asked(-24 * time.Hour)}, true},
		"a slurmd that started a moment ago":                           {[]func(*planInput){future, started(time.Second)}, false},
		"a slurmd that has never registered for long":                  {[]func(*planInput){future, started(2 * time.Minute)}, true},
		"a slurmd that does not run": {[]func(*planInput){future,
			withWorker(0, func(w *Worker) { w.Running = false })}, false},
		"a stale reading": {[]func(*planInput){future, withStaleReading}, false},
	} {
		t.Run(name, func(t *testing.T) {
			s := newInput(1, 1, append([]func(*planInput){asked(time.Hour)}, tc.change...)...)
			asks := false
			for _, step := range s.runPlanner().Steps {
				asks = asks || step.Verb == Annotate && step.DrainMark.RegisterAgain.Equal(noon)
			}
			if asks != tc.asks {
				t.Errorf("asks = %t, want %t", asks, tc.asks)
			}
		})
	}
}

// TestAKubeletWhoseClockIsBehind: its slurmd seems to run for five minutes although the pod is ten seconds old.
func TestAKubeletWhoseClockIsBehind(t *testing.T) {
	behind := withWorker(0, func(w *Worker) {
		w.Created, w.Registered = noon.Add(-10*time.Second), time.Time{}
		w.RunningSince, w.ReadySince = noon.Add(-2*time.Second-maxClockSkew), noon.Add(-maxClockSkew)
		w.DrainMark.RegisterAgain = time.Time{}
	})
	future := withRecord(0, func(r *Record) { *r = Record{Name: r.Name, Dynamic: true, OwnerUID: "set", Future: true} })
	for name, tc := range map[string]struct {
		change []func(*planInput)
		want   []string
	}{
		"a worker that starts is not deleted":                 {[]func(*planInput){behind, future}, nil},
		"also when it is to go":                               {[]func(*planInput){behind, future, withCause(0, causeScaleIn), withNoReplicas}, nil},
		"one that Slurm does not list is not asked yet":       {[]func(*planInput){behind, withoutRecord}, nil},
		"one whose pod is five minutes old is deleted":        {[]func(*planInput){behind, future, createdBefore(5 * time.Minute)}, []string{"annotate n-0 ", "delete n-0"}},
		"one whose pod is not five minutes old is only asked": {[]func(*planInput){behind, future, createdBefore(4 * time.Minute)}, []string{"annotate n-0 "}},
	} {
		t.Run(name, func(t *testing.T) {
			if actions := expectSteps(t, newInput(1, 1, tc.change...), tc.want...); len(actions.UnknownToSlurm) > 0 {
				t.Errorf("UnknownToSlurm = %v", actions.UnknownToSlurm)
			}
		})
	}
}

// createdBefore sets the age of the first worker's pod.
func createdBefore(age time.Duration) func(*planInput) {
	return withWorker(0, func(w *Worker) { w.Created = noon.Add(-age) })
}
