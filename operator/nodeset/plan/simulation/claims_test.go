package simulation

import (
	"maps"
	"slices"

	"github.com/slurmtide/slurmtide/operator/nodeset/plan"
)

// observeClaims returns the claims, one for each worker that was ever created. They should be deleted when
// scale-in has removed their worker, unless the operator decides to keep them.
func (w *simulation) observeClaims() []plan.Claim {
	var out []plan.Claim
	for _, name := range slices.Sorted(maps.Keys(w.claims)) {
		_, inUse := w.operator.pods[name]
		out = append(out, plan.Claim{Name: name, SlurmName: name, InUse: inUse, ClaimRetention: w.claims[name]})
	}
	return out
}

// applyClaims deletes claims. It must delete none during a clash that the operator has seen.
func (w *simulation) applyClaims(changes []plan.ClaimChange) {
	for _, c := range changes {
		if !c.Delete {
			w.logf("claim %s: %+v", c.Claim, c.Retention)
			w.claims[c.Claim] = c.Retention
			continue
		}
		if !w.checkPrecondition(plan.Step{Verb: plan.CreatePod, SlurmName: c.SlurmName, Precondition: plan.PreconditionNameFree}) {
			continue
		}
		w.logf("delete claim %s", c.Claim)
		if w.hasMismatch() {
			w.failf("the claim %s is deleted on a reading of another Slurm cluster", c.Claim)
		}
		for _, name := range slices.Sorted(maps.Keys(w.operator.nodes)) {
			if w.operator.nodes[name].OwnerUID == otherNodeSetUID {
				w.failf("the claim %s is deleted while another NodeSet owns %s", c.Claim, name)
			}
		}
		if p := w.lost[c.Claim]; p != nil && len(p.work) > 0 {
			w.failf("the claim %s is deleted under a job", c.Claim)
		}
		delete(w.claims, c.Claim)
	}
}

// checkClaimsAtRest looks for claims without a worker that should have been deleted.
func (w *simulation) checkClaimsAtRest() {
	for name := range w.claims {
		if w.pods[name] == nil && w.claims[name].WhenScaled && !w.desired.Deleting {
			w.failf("at rest the claim %s is left", name)
		}
	}
}
