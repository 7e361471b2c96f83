package plan

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
)

// noon is when tests plan.
var noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// scene is what a test plans on.
type scene struct {
	desired  Wish
	observed Seen
}

// set is a NodeSet with as many workers, n-0 on, that are idle and of the newest
// revision, and a fresh reading.
func set(replicas, workers int, change ...func(*scene)) *scene {
	top := 10
	s := &scene{
		desired: Wish{
			UID: "set", Replicas: replicas, Max: &top, Revision: "new", SlurmName: func(i int) string { return fmt.Sprintf("n-%d", i) },
			SlurmNameOn: func(kubeNode string) string { return strings.TrimPrefix(kubeNode, "k-") },
			Update:      Update{Open: true, MaxUnavailable: 1},
		},
		observed: Seen{Slurm: Slurm{
			Connected: true, Known: true, Fresh: true, Total: workers, Records: map[string]Record{}, Work: map[string]Work{},
			DrainedSince: map[string]time.Time{}, JobsReadAt: noon, NodesReadAt: noon,
		}},
	}
	for i := range workers {
		name := fmt.Sprintf("n-%d", i)
		s.observed.Workers = append(s.observed.Workers, Worker{
			Pod: name, UID: "uid-" + name, Slot: Slot{Ordinal: i}, SlurmName: name, Revision: "new", Created: noon.Add(-time.Hour),
			KubeNode: "k-" + name, Running: true, RunningSince: noon.Add(-time.Hour), Ready: true, ReadySince: noon.Add(-time.Hour),
			Note: Note{Protect: true},
		})
		s.observed.Slurm.Records[name] = Record{Name: name, Dynamic: true, Owner: "set", IdleSince: noon.Add(-time.Hour)}
	}
	for _, c := range change {
		c(s)
	}
	return s
}

func (s *scene) plan() Todo { return New(DefaultConfig()).Plan(noon, s.desired, s.observed) }

// worker changes the worker with the ordinal.
func worker(i int, change func(*Worker)) func(*scene) {
	return func(s *scene) { change(&s.observed.Workers[i]) }
}

// record changes the record with the ordinal.
func record(i int, change func(*Record)) func(*scene) {
	return func(s *scene) {
		name := fmt.Sprintf("n-%d", i)
		r := s.observed.Slurm.Records[name]
		r.Name = name
		change(&r)
		s.observed.Slurm.Records[name] = r
	}
}

// job puts a job on a worker, that ends after a while; 0 for no limit.
func job(i int, id uint32, end time.Duration) func(*scene) {
	return func(s *scene) {
		w := Work{Jobs: 1, LastJob: id}
		if end > 0 {
			w.End = noon.Add(end)
		}
		s.observed.Slurm.Work[fmt.Sprintf("n-%d", i)] = w
		record(i, func(r *Record) { r.Busy = true })(s)
	}
}

// drained has our drain on a worker, seen to be without jobs.
func drained(i int) func(*scene) {
	return func(s *scene) {
		record(i, func(r *Record) { r.Drain, r.Ours = true, true })(s)
		s.observed.Slurm.DrainedSince[fmt.Sprintf("n-%d", i)] = noon.Add(-time.Minute)
	}
}

// chosen notes on a worker that it is to go.
func chosen(i int, cause string) func(*scene) {
	return worker(i, func(w *Worker) { w.Note = Note{Cause: cause, Since: noon.Add(-time.Minute), Protect: w.Note.Protect} })
}

func stale(s *scene) {
	s.observed.Slurm.Fresh, s.observed.Slurm.Problem = false, "slurmrestd does not answer"
}

func deleting(s *scene) { s.desired.Deleting = true }

// formatSteps lists the steps as words, without those that only note that a worker is
// protected.
func told(actions Todo) []string {
	out := []string{}
	for _, s := range actions.Steps {
		switch s.Verb {
		case Create:
			out = append(out, fmt.Sprintf("create %d%s", s.Slot.Ordinal, s.Slot.KubeNode))
		case Notes:
			out = append(out, fmt.Sprintf("annotate %s %s", s.Pod, s.Note.Cause))
		case Records:
			out = append(out, fmt.Sprintf("create-records %v", s.Names))
		default:
			out = append(out, fmt.Sprintf("%s %s", s.Verb, s.SlurmName))
		}
	}
	return out
}

const scaleIn, update, deletion = v1beta1.CauseScaleIn, v1beta1.CauseUpdate, v1beta1.CauseDeletion

func expect(t *testing.T, s *scene, want ...string) Todo {
	t.Helper()
	actions := s.plan()
	if got := told(actions); fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("the steps are\n %q\nand not\n %q\n(waits: %+v)", got, want, actions.Waits)
	}
	return actions
}
