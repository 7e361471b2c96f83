package plan

import (
	"fmt"
	"testing"
	"time"
)

// countNames counts how often a plan asks for the name of an ordinal.
func countNames(s *planInput) *int {
	count, name := 0, s.desired.SlurmName
	s.desired.SlurmName = func(i int) string { count++; return name(i) }
	return &count
}

// TestAPlanCreatesAFewOfManyWorkers: one NodeSet with very many replicas must not keep the operator from the others.
func TestAPlanCreatesAFewOfManyWorkers(t *testing.T) {
	const replicas = 50_000
	s := newInput(replicas, 0)
	s.desired.MaxWorkers = nil
	names := countNames(s)
	actions := s.runPlanner()
	if len(actions.Steps) != createdAtOnce || actions.RequeueAfter != createPause {
		t.Errorf("%d steps, and the next after %s", len(actions.Steps), actions.RequeueAfter)
	}
	if *names > 5*createdAtOnce {
		t.Errorf("the plan asks for %d names", *names)
	}
	few := newInput(createdAtOnce, 0)
	few.desired.MaxWorkers = nil
	if actions := few.runPlanner(); len(actions.Steps) != createdAtOnce || actions.RequeueAfter != 0 {
		t.Errorf("%d steps, and the next after %s", len(actions.Steps), actions.RequeueAfter)
	}
}

// TestNamesOfManyMissingWorkers: a plan without enough free names does not try again at once.
func TestNamesOfManyMissingWorkers(t *testing.T) {
	const replicas = 2 * createdAtOnce
	for _, tc := range []struct {
		free    int
		created int
		requeue time.Duration
	}{{0, 0, 0}, {createdAtOnce - 1, createdAtOnce - 1, 0}, {createdAtOnce + 1, createdAtOnce, createPause}} {
		most := replicas
		s := newInput(replicas, 0, func(s *planInput) { s.desired.MaxWorkers = &most })
		for i := tc.free; i < replicas; i++ {
			name := fmt.Sprintf("n-%d", i)
			s.observed.Slurm.Records[name] = Record{Name: name, Dynamic: true, OwnerUID: "other"}
		}
		if actions := s.runPlanner(); len(actions.Steps) != tc.created || actions.RequeueAfter != tc.requeue {
			t.Errorf("with %d free names there are %d steps, and the next after %s", tc.free, len(actions.Steps), actions.RequeueAfter)
		}
	}
}

// TestRecordsOfManyKeptOrdinals: the ordinal of a name is not searched among all.
func TestRecordsOfManyKeptOrdinals(t *testing.T) {
	const records = 2_000
	most := records
	s := newInput(0, 0, func(s *planInput) {
		s.desired.MaxWorkers, s.desired.CanCreateRecords, s.desired.Update.Partition = &most, true, records/2
		s.observed.Revisions = []Revision{{Name: "old", Hash: "old", Ordinals: fmt.Sprintf("0-%d", records/2-1), Owned: true}}
		for i := range records {
			name := fmt.Sprintf("n-%d", i)
			s.observed.Slurm.Records[name] = Record{Name: name, Future: true, Dynamic: true, OwnerUID: "set", OtherShape: true}
		}
	})
	names := countNames(s)
	if steps := len(s.runPlanner().Steps); steps != recordsRecreated {
		t.Errorf("%d records are created again", steps)
	}
	if *names > 5*records {
		t.Errorf("the plan asks for %d names of %d records", *names, records)
	}
}

func TestTheOldestWorkerOfAName(t *testing.T) {
	at := func(pod, name string, age time.Duration, change ...func(*Worker)) *Worker {
		w := &Worker{Pod: pod, SlurmName: name, Created: noon.Add(-age)}
		for _, c := range change {
			c(w)
		}
		return w
	}
	finished := func(w *Worker) { w.Finished = true }
	deleted := func(w *Worker) { w.DeletedAt = noon }
	oldest := oldestByName([]*Worker{at("c", "n", 1), at("b", "n", 2), at("a", "n", 2), at("d", "n", 9, finished), at("e", "n", 9, deleted),
		at("f", "", 1), at("g", "m", 1)})
	if len(oldest) != 2 || oldest["n"].Pod != "a" || oldest["m"].Pod != "g" {
		t.Errorf("the oldest are %v", oldest)
	}
}
