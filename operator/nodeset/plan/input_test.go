package plan

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
	"github.com/slurmtide/slurmtide/slurmclient/occupancy"
)

// noon is when tests plan.
var noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// planInput is the input of a plan in a test.
type planInput struct {
	desired  Desired
	observed Observation
}

// newInput is a NodeSet with as many workers, n-0 on, that are idle and of the newest
// revision, and a fresh reading.
func newInput(replicas, workers int, change ...func(*planInput)) *planInput {
	top := 10
	s := &planInput{
		desired: Desired{
			UID: "set", Replicas: replicas, MaxWorkers: &top, Revision: "new",
			SlurmName:   func(i int) string { return fmt.Sprintf("n-%d", i) },
			SlurmNameOn: func(kubeNode string) string { return strings.TrimPrefix(kubeNode, "k-") },
			Update:      Update{Allowed: true, MaxUnavailable: 1},
		},
		observed: Observation{Slurm: SlurmReading{
			Connected: true, Known: true, Fresh: true, TotalNodes: workers, Records: map[string]Record{},
			Work:         map[string]occupancy.Work{},
			DrainedSince: map[string]time.Time{}, JobsReadAt: noon, NodesReadAt: noon,
		}},
	}
	for i := range workers {
		name := fmt.Sprintf("n-%d", i)
		s.observed.Workers = append(s.observed.Workers, Worker{
			Pod: name, UID: "uid-" + name, Slot: Slot{Ordinal: i}, SlurmName: name, Revision: "new",
			Created:  noon.Add(-time.Hour),
			KubeNode: "k-" + name, Running: true, RunningSince: noon.Add(-time.Hour), Ready: true,
			ReadySince: noon.Add(-time.Hour),
			Registered: noon.Add(-time.Hour),
			DrainMark:  DrainMark{Protect: true, RegisterAgain: noon},
		})
		s.observed.Slurm.Records[name] = Record{Name: name, Dynamic: true, OwnerUID: "set",
			IdleSince: noon.Add(-time.Hour)}
	}
	for _, c := range change {
		c(s)
	}
	return s
}

func (s *planInput) runPlanner() Actions {
	return New(DefaultConfig()).Plan(noon, s.desired, s.observed)
}

// withWorker changes the worker with the ordinal.
func withWorker(i int, change func(*Worker)) func(*planInput) {
	return func(s *planInput) { change(&s.observed.Workers[i]) }
}

// withRecord changes the record with the ordinal.
func withRecord(i int, change func(*Record)) func(*planInput) {
	return func(s *planInput) {
		name := fmt.Sprintf("n-%d", i)
		r := s.observed.Slurm.Records[name]
		r.Name = name
		change(&r)
		s.observed.Slurm.Records[name] = r
	}
}

// withJob puts a job on a worker, that ends after a while; 0 for no limit.
func withJob(i int, id uint32, end time.Duration) func(*planInput) {
	return func(s *planInput) {
		w := occupancy.Work{Jobs: 1, LastJob: id}
		if end > 0 {
			w.End = noon.Add(end)
		}
		s.observed.Slurm.Work[fmt.Sprintf("n-%d", i)] = w
		withRecord(i, func(r *Record) { r.Busy = true })(s)
	}
}

// withOurDrain has our drain on a worker, seen to be without jobs.
func withOurDrain(i int) func(*planInput) {
	return func(s *planInput) {
		withRecord(i, func(r *Record) { r.Drain, r.OurReason = true, true })(s)
		s.observed.Slurm.DrainedSince[fmt.Sprintf("n-%d", i)] = noon.Add(-time.Minute)
	}
}

// withCause marks a worker for removal.
func withCause(i int, cause string) func(*planInput) {
	return withWorker(i, func(w *Worker) {
		w.DrainMark.Cause, w.DrainMark.Since = cause, noon.Add(-time.Minute)
	})
}

// withDrained notes on a worker since when it is drained.
func withDrained(i int, since time.Duration) func(*planInput) {
	return withWorker(i, func(w *Worker) { w.DrainMark.Drained = noon.Add(-since) })
}

// withTimeout sets the drain policy.
func withTimeout(timeout time.Duration) func(*planInput) {
	return func(s *planInput) { s.desired.DrainPolicy.Timeout = timeout }
}

func withStaleReading(s *planInput) {
	s.observed.Slurm.Fresh, s.observed.Slurm.Problem = false, "slurmrestd does not answer"
}

func withDeletion(s *planInput) { s.desired.Deleting = true }

// formatSteps lists the steps as words, without those that only note that a worker is
// protected.
func formatSteps(actions Actions) []string {
	out := []string{}
	for _, s := range actions.Steps {
		switch s.Verb {
		case CreatePod:
			out = append(out, fmt.Sprintf("create %d%s", s.Slot.Ordinal, s.Slot.KubeNode))
		case Annotate:
			out = append(out, fmt.Sprintf("annotate %s %s", s.Pod, s.DrainMark.Cause))
		case CreateRecords:
			out = append(out, fmt.Sprintf("create-records %v", s.Names))
		default:
			out = append(out, fmt.Sprintf("%s %s", s.Verb, s.SlurmName))
		}
	}
	return out
}

const causeScaleIn, causeUpdate, causeDeletion = v1beta1.DrainCauseScaleIn, v1beta1.DrainCauseUpdate,
	v1beta1.DrainCauseDeletion

func expectSteps(t *testing.T, s *planInput, want ...string) Actions {
	t.Helper()
	actions := s.runPlanner()
	if got := formatSteps(actions); fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("the steps are\n %q\nand not\n %q\n(waits: %+v)", got, want, actions.Waits)
	}
	return actions
}
