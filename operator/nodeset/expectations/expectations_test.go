package expectations

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"

	"github.com/slurmtide/slurmtide/operator/nodeset/nodesettest"
	"github.com/slurmtide/slurmtide/operator/nodeset/plan"
)

func TestWritesThatNoReadingShowsYet(t *testing.T) {
	idle := plan.Record{Name: "gpu-0", Dynamic: true, OwnerUID: nodesettest.NodeSetUID}
	drained, down := idle, idle
	drained.Drain, drained.OurReason = true, true
	down.Down, down.OurReason = true, true
	for _, tc := range []struct {
		name string
		verb plan.Verb
		read *plan.Record
		want *plan.Record
	}{
		{"a drain is not repeated", plan.Drain, &idle, &drained},
		{"an undrain is not repeated", plan.Undrain, &drained, &idle},
		{"a resume is not repeated", plan.Resume, &down, &idle},
		{"a record that was made FUTURE is", plan.MarkFuture, &drained,
			&plan.Record{Name: "gpu-0", Future: true, Dynamic: true, OwnerUID: nodesettest.NodeSetUID}},
		{"a record that was made is there", plan.CreateRecords, nil,
			&plan.Record{Name: "gpu-0", Future: true, Dynamic: true}},
		{"a record that was made and has registered is what was read", plan.CreateRecords, &idle, &idle},
		{"a record that was deleted is gone", plan.DeleteRecord, &drained, nil},
		{"a drained node that the list lacks is not made up", plan.Drain, nil, nil},
		{"a node with a further drain neither", plan.AddDrain, nil, nil},
		{"an undrained one neither", plan.Undrain, nil, nil},
		{"a resumed one neither", plan.Resume, nil, nil},
		{"one without its reason neither", plan.ClearReason, nil, nil},
		{"one without its pod neither", plan.ClearPod, nil, nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			proof := map[string]time.Time{"gpu-0": nodesettest.Noon.Add(-time.Hour), "gpu-1": nodesettest.Noon}
			read := func() *plan.SlurmReading {
				out := &plan.SlurmReading{Records: map[string]plan.Record{}, DrainedSince: proof}
				if tc.read != nil {
					out.Records["gpu-0"] = *tc.read
				}
				return out
			}
			records := func(r *plan.Record) map[string]plan.Record {
				if r == nil {
					return map[string]plan.Record{}
				}
				return map[string]plan.Record{"gpu-0": *r}
			}
			m := New()
			s := m.ForNodeSet(types.NamespacedName{}, nodesettest.Noon)
			m.ExpectWrite(s, []string{"gpu-0"}, tc.verb, nodesettest.Noon)

			for _, began := range []time.Time{nodesettest.Noon.Add(-time.Minute), nodesettest.Noon} {
				got := read()
				s.OverlayWrites(got, began, time.Minute, nodesettest.Noon)
				if diff := cmp.Diff(records(tc.want), got.Records); diff != "" {
					t.Errorf("in a reading that began at %s: %s", began, diff)
				}
				if diff := cmp.Diff(map[string]time.Time{"gpu-1": nodesettest.Noon}, got.DrainedSince); diff != "" {
					t.Errorf("what was proof before is none after the write: %s", diff)
				}
			}
			if len(proof) != 2 {
				t.Error("the reading was written to")
			}
			for range 2 { // also not in an older one once more
				got := read()
				s.Sequence++ // a list that differs
				s.OverlayWrites(got, nodesettest.Noon.Add(time.Nanosecond), time.Minute, nodesettest.Noon)
				if diff := cmp.Diff(records(tc.read), got.Records); diff != "" || len(got.DrainedSince) != 2 {
					t.Errorf("in a later reading: %s", diff)
				}
			}
			if len(s.PendingWrites) != 0 {
				t.Error("the write is remembered though a reading has it")
			}
		})
	}
}

func TestTheBrakeBeginsClosed(t *testing.T) {
	m := New()
	name := types.NamespacedName{Name: "gpu"}
	s := m.ForNodeSet(name, nodesettest.Noon)
	if got := len(s.UnregisteredDeletions); got < 1000 {
		t.Errorf("as if %d workers had been deleted", got)
	}
	m.RecordUnregisteredDeletion(s, nodesettest.Noon.Add(time.Second))
	s.OverlayWrites(&plan.SlurmReading{}, nodesettest.Noon, time.Minute, nodesettest.Noon.Add(time.Minute))
	if diff := cmp.Diff([]time.Time{nodesettest.Noon.Add(time.Second)}, s.UnregisteredDeletions); diff != "" {
		t.Error(diff)
	}
	if m.ForNodeSet(name, nodesettest.Noon) != s {
		t.Error("what is remembered was forgotten")
	}
	m.ForgetNodeSet(name)
	if m.ForNodeSet(name, nodesettest.Noon) == s {
		t.Error("what is to be forgotten was remembered")
	}
}

func TestADeletedRecordStaysDeletedWhileTheListIsSaidToBeUnchanged(t *testing.T) {
	m, s := New(), &NodeSet{PendingWrites: map[string]PendingWrite{}, Sequence: 3}
	m.ExpectWrite(s, []string{"gpu-0"}, plan.DeleteRecord, nodesettest.Noon)
	for _, tc := range []struct {
		sequence uint64
		there    bool
	}{{3, false}, {4, true}} {
		s.Sequence = tc.sequence
		got := &plan.SlurmReading{Records: map[string]plan.Record{"gpu-0": {Name: "gpu-0"}}}
		s.OverlayWrites(got, nodesettest.Noon.Add(time.Hour), time.Minute, nodesettest.Noon.Add(time.Hour))
		if _, there := got.Records["gpu-0"]; there != tc.there {
			t.Errorf("in list %d it is there: %v", tc.sequence, there)
		}
	}
}
