package plan

import "testing"

// TestARefusedRecordDelaysTheDeletionOfItsNodeSet: a FUTURE record whose slurmd Slurm refused has a drain of Slurm.
func TestARefusedRecordDelaysTheDeletionOfItsNodeSet(t *testing.T) {
	s := newInput(0, 0, withDeletion, withRecord(0, func(r *Record) {
		*r = Record{Name: r.Name, Dynamic: true, OwnerUID: "set", Future: true, Drain: true, InvalidRegistration: true}
	}))
	s.observed.Slurm.References = map[string]string{"n-0": "job 5"}
	if a := s.runPlanner(); a.DeletionDone || a.KeptRecords["n-0"] == "" {
		t.Errorf("the plan is %+v", a)
	}
}
