package nodeset

import (
	"testing"
	"time"

	"github.com/slurmtide/slurmtide/operator/nodeset/nodesettest"
	"github.com/slurmtide/slurmtide/operator/refs"
)

// TestNodeSetsOfAClusterDeleteRecordsOneAfterTheOther: each would count the records that the other one is about to delete.
func TestNodeSetsOfAClusterDeleteRecordsOneAfterTheOther(t *testing.T) {
	r := &Reconciler{}
	slurm := nodesettest.NewFakeSlurm(func() time.Time { return nodesettest.Noon })
	blue := refs.ClusterKey{Kind: "Controller", Namespace: "team", Name: "blue"}
	red := refs.ClusterKey{Kind: "Controller", Namespace: "team", Name: "red"}
	first := &observation{slurmCluster: slurm, deletions: r.lockOfDeletions(blue)}
	for range 2 { // of one reconciliation
		if err := first.checkUnused(t.Context(), "cpu-0"); err != nil {
			t.Fatal(err)
		}
	}
	if r.lockOfDeletions(blue).TryLock() {
		t.Fatal("another NodeSet of the cluster looks at the same time")
	}
	if !r.lockOfDeletions(red).TryLock() {
		t.Error("the NodeSet of another cluster waits")
	}
	first.unlockDeletions()
	first.unlockDeletions()
	if !r.lockOfDeletions(blue).TryLock() {
		t.Error("the other NodeSet waits forever")
	}
}
