package wire

import (
	"hash/maphash"

	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

// jobRecord is a job while its record is decoded. Its shared fields are apart, where they can be set.
type jobRecord struct {
	slurm.Job
	owner   slurm.JobOwner
	details slurm.JobDetails
}

// jobSharer gives the jobs of an answer their shared fields. Neighbours often have the same ones.
type jobSharer struct {
	owner   slurm.SharedOwner
	details slurm.SharedDetails
}

// complete sets the shared fields of the job.
func (s *jobSharer) complete(in *Interner, j *jobRecord) {
	if !s.owner.HasOwner(&j.owner) {
		s.owner = in.shareOwner(&j.owner)
	}
	if !s.details.HasDetails(&j.details) {
		s.details = in.shareDetails(&j.details)
	}
	j.SharedOwner, j.SharedDetails = s.owner, s.details
}

func (in *Interner) shareOwner(o *slurm.JobOwner) slurm.SharedOwner {
	if len(o.UserName)+len(o.GroupName)+len(o.Account)+len(o.QOS) > maxInternedText {
		return slurm.ShareOwner(*o)
	}
	in.mu.Lock()
	defer in.mu.Unlock()
	return in.owners.share(maphash.Comparable(in.seed, *o), func(s slurm.SharedOwner) bool { return s.HasOwner(o) },
		func() slurm.SharedOwner { return slurm.ShareOwner(*o) })
}

// shareDetails does not intern long texts, because a table would hold gigabytes of them. Only neighbouring records share long texts.
func (in *Interner) shareDetails(d *slurm.JobDetails) slurm.SharedDetails {
	if d.TextBytes() > maxInternedText {
		return slurm.ShareDetails(*d)
	}
	in.mu.Lock()
	defer in.mu.Unlock()
	return in.details.share(maphash.Comparable(in.seed, *d), func(s slurm.SharedDetails) bool { return s.HasDetails(d) },
		func() slurm.SharedDetails { return slurm.ShareDetails(*d) })
}

// maxShared is how many values a generation of a shareTable has at most.
const maxShared = 1 << 14

// shareTable keeps shared values by their hash, within bounded memory. As in an internTable, a full generation becomes the old one,
// and what is used of an old one moves to the next. Of two values with the same hash it keeps the last.
type shareTable[S any] struct{ young, old map[uint64]S }

// share returns the kept value that equals the wanted one, or keeps a new one.
func (t *shareTable[S]) share(hash uint64, isWanted func(S) bool, create func() S) S {
	if s, ok := t.young[hash]; ok && isWanted(s) {
		return s
	}
	s, ok := t.old[hash]
	if !ok || !isWanted(s) {
		s = create()
	}
	if len(t.young) >= maxShared || t.young == nil {
		t.young, t.old = map[uint64]S{}, t.young
	}
	t.young[hash] = s
	return s
}
