package plan

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

// randomNames returns a NodeSet whose ordinals have other names in an old revision and no names in another, with records of
// others among their names.
func randomNames(seed uint64) *planInput {
	rnd := rand.New(rand.NewPCG(seed, 1))
	pick := func(of ...string) string { return of[rnd.IntN(len(of))] }
	s := newInput(rnd.IntN(6), rnd.IntN(5))
	s.desired.Update.Partition, s.desired.CanCreateRecords = rnd.IntN(6), rnd.IntN(2) == 0
	if rnd.IntN(2) == 0 {
		s.desired.MaxWorkers = nil
	}
	formats := []string{"n-%d", "m-%d", "n-0%d"}
	format, shift := pick(formats...), rnd.IntN(3)
	oldName := func(i int) string { return fmt.Sprintf(format, i+shift) }
	s.desired.SlurmNameIn = func(revision string, i int) string {
		if revision == "host" {
			return ""
		}
		return oldName(i)
	}
	for i, hash := range []string{"old", "host"} {
		s.observed.Revisions = append(s.observed.Revisions,
			Revision{Name: hash, Hash: hash, Number: int64(i), Owned: true, Ordinals: pick("", "0-2", "1", "3-5")})
	}
	for i := range s.observed.Workers {
		w := &s.observed.Workers[i]
		w.Revision, w.NeverStarted = pick("new", "old", "host"), rnd.IntN(3) == 0
		if w.Revision == "old" {
			w.SlurmName = oldName(i)
		}
	}
	for i := range 6 {
		for _, f := range formats {
			r := Record{Name: fmt.Sprintf(f, i), Dynamic: true, Future: rnd.IntN(2) == 0}
			switch rnd.IntN(6) {
			case 0:
				r.OwnerUID = "other"
			case 1:
				r.ForeignComment = true
			case 2:
				r.OwnerUID, r.Busy = "set", !r.Future
			default:
				continue
			}
			s.observed.Slurm.Records[r.Name] = r
		}
	}
	return s
}

// TestRandomNames: no two workers get one name, and no worker gets the name of a node that has jobs or belongs to others.
func TestRandomNames(t *testing.T) {
	for seed := range uint64(2000) {
		s := randomNames(seed)
		used := map[string]bool{}
		for _, w := range s.observed.Workers {
			used[w.SlurmName] = true
		}
		for _, step := range s.runPlanner().Steps {
			r, name := s.observed.Slurm.Records[step.SlurmName], step.SlurmName
			switch step.Verb {
			case CreatePod:
				if name != "" && used[name] || r.OwnerUID == "other" || r.ForeignComment || r.Busy {
					t.Errorf("seed %d: a worker is created with the name %s of %+v", seed, name, r)
				}
				used[name] = true
			case Drain, AddDrain, MarkFuture, DeleteRecord, RecreateRecord, ClearPod:
				if r.OwnerUID == "other" {
					t.Errorf("seed %d: %s of %s, which belongs to another NodeSet", seed, step.Verb, name)
				}
			case CreateRecords:
				for _, n := range step.Names {
					if _, there := s.observed.Slurm.Records[n]; there || n == "" {
						t.Errorf("seed %d: the record %q is created again", seed, n)
					}
				}
			}
		}
	}
}
