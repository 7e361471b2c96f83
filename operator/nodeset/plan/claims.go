package plan

import (
	"slices"
	"strings"
	"time"
)

// Claim is a PersistentVolumeClaim of the NodeSet's workers.
type Claim struct {
	Name string
	// SlurmName is the Slurm node of the worker that owns the claim. It is empty if it is not known.
	SlurmName string
	// InUse reports that a pod of the NodeSet uses the claim.
	InUse bool
	// ClaimRetention is the policy recorded on the claim.
	ClaimRetention
	// Deleting reports that the claim has a deletion timestamp.
	Deleting bool
}

// ClaimRetention defines when a claim is deleted. Otherwise it is kept.
type ClaimRetention struct {
	// WithNodeSet: the NodeSet owns the claim, so that the garbage collector deletes both.
	WithNodeSet bool
	// WhenScaled: the claim is deleted once scale-in has removed its worker.
	WhenScaled bool
}

// ClaimChange is a change to a claim: it is deleted, or its retention becomes another one.
type ClaimChange struct {
	Claim  string
	Delete bool
	// SlurmName is the Slurm node that must meet PreconditionNameFree right before the claim is deleted: only this reading may
	// lack it, while a job runs on it. It is empty if unknown.
	SlurmName string
	Retention ClaimRetention
}

// planClaims applies the retention policy to the claims, and deletes those that it does not keep.
func (p *Planner) planClaims(now time.Time, desired *Desired, observed *Observation, actions *Actions) []ClaimChange {
	claims := slices.SortedFunc(slices.Values(observed.Claims),
		func(a, b Claim) int { return strings.Compare(a.Name, b.Name) })
	var changed, deleted []ClaimChange
	prune := p.rules.MayDeleteClaims(&observed.Slurm) && !mayUseClaims(now, observed, actions) && hasSettledScaleIn(desired, observed, actions)
	lost := lostNames(observed, actions)
	for _, c := range claims {
		if c.Deleting {
			continue
		}
		want := desired.ClaimRetention.appliedTo(c)
		switch {
		case c.InUse && lost[c.SlurmName]:
			want = ClaimRetention{}
		case !observed.Slurm.Fresh: // its worker may be lost
			want.WithNodeSet, want.WhenScaled = want.WithNodeSet && c.WithNodeSet, want.WhenScaled && c.WhenScaled
		}
		if want != c.ClaimRetention {
			changed = append(changed, ClaimChange{Claim: c.Name, Retention: want})
		}
		if prune && !c.InUse && want.WhenScaled && !observed.Slurm.mayBeOfOthers(c.SlurmName) {
			deleted = append(deleted, ClaimChange{Claim: c.Name, Delete: true, SlurmName: c.SlurmName})
		}
	}
	return append(changed, deleted...)
}

// lostNames returns the Slurm nodes of the workers whose records Slurm lost. If such a pod disappeared, nothing in Slurm would
// show whether its slurmd still runs, so its claims are kept until it registers again.
func lostNames(observed *Observation, actions *Actions) map[string]bool {
	pods, out := map[string]bool{}, map[string]bool{}
	for _, pod := range actions.LostBySlurm {
		pods[pod] = true
	}
	for i := range observed.Workers {
		if w := &observed.Workers[i]; w.SlurmName != "" && pods[w.Pod] {
			out[w.SlurmName] = true
		}
	}
	return out
}

// mayUseClaims reports whether a worker without a pod may still use its claims. One odd reading that
// lacks its Slurm node changes nothing.
func mayUseClaims(now time.Time, observed *Observation, actions *Actions) bool {
	return len(actions.Taken) > 0 || actions.AwaitsReading || isWithin(now, observed.TakenAt, claimsKeptFor)
}

// claimsKeptFor is the time that claims are kept after the last reading with a taken name.
const claimsKeptFor = 30 * time.Second

// appliedTo returns the retention that a claim should have under the policy. The policy applies in
// full to a claim that a worker uses. A claim without a worker keeps the policy under which its
// worker was removed, except that it is always kept if the policy keeps it.
func (policy ClaimRetention) appliedTo(c Claim) ClaimRetention {
	return ClaimRetention{
		WithNodeSet: policy.WithNodeSet && (c.InUse || c.WithNodeSet),
		WhenScaled:  policy.WhenScaled && (c.InUse || c.ClaimRetention.WhenScaled),
	}
}

// mayDeleteClaims reports whether the reading is fresh and rules out a clash with another Slurm cluster or NodeSet. During a
// clash, and before the first reading, nothing is deleted: the clash may be what prevents missing workers from being created. A
// list of jobs from another cluster than the nodes lacks the jobs of lost workers.
func mayDeleteClaims(s *SlurmReading) bool {
	return s.Known && s.Fresh && s.ClusterMismatch == "" && !s.hasOtherOwners()
}

// hasOtherOwners reports whether another NodeSet, or slurm.conf, owns a Slurm node with a name of ours.
func (s *SlurmReading) hasOtherOwners() bool {
	for _, owner := range s.OwnedByOthers {
		if owner != OwnerOfComment {
			return true
		}
	}
	return false
}

// mayBeOfOthers reports whether others own a Slurm node, or any Slurm node if its name is unknown.
func (s *SlurmReading) mayBeOfOthers(slurmName string) bool {
	return s.OwnedByOthers[slurmName] != "" || slurmName == "" && len(s.OwnedByOthers) > 0
}

// hasSettledScaleIn reports whether exactly the wanted workers exist. While a worker is missing or terminating, the next worker
// may use the claims of its name.
func hasSettledScaleIn(desired *Desired, observed *Observation, actions *Actions) bool {
	if desired.Frozen || desired.Deleting || desired.PerKubeNode || len(observed.Workers) < desired.WorkerCount() {
		return false
	}
	return !slices.ContainsFunc(observed.Workers, func(w Worker) bool { return !w.DeletedAt.IsZero() || w.Finished }) &&
		!slices.ContainsFunc(actions.Steps, func(step Step) bool { return step.Verb == CreatePod })
}
