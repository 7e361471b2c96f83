package expectations

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/slurmtide/slurmtide/operator/refs"
)

func TestClaimedNames(t *testing.T) {
	noon := time.Date(2030, 1, 1, 12, 0, 0, 0, time.UTC)
	alpha, beta := refs.ClusterKey{Name: "alpha"}, refs.ClusterKey{Name: "beta"}
	c := NewClaimedNames()
	for _, step := range []struct {
		what    string
		cluster refs.ClusterKey
		nodeSet string
		at      time.Duration
		want    bool
	}{
		{"the first", alpha, "a", 0, true},
		{"the same NodeSet again", alpha, "a", time.Second, true},
		{"another NodeSet", alpha, "b", 2 * time.Second, false},
		{"another cluster", beta, "b", 2 * time.Second, true},
		{"another NodeSet before the claim is over", alpha, "b", claimKept, false},
		{"another NodeSet when the claim is over", alpha, "b", claimKept + time.Second, true},
		{"the clock was set back", alpha, "a", -time.Hour, true},
	} {
		if got := c.Claim(step.cluster, "x-0", types.UID(step.nodeSet), noon.Add(step.at)); got != step.want {
			t.Errorf("%s: claimed %v, want %v", step.what, got, step.want)
		}
	}
}

// TestAClaimOfAnEarlierClock: reconciliations read the clock before they wait for each other, so the first to read it may be the last
// to claim.
func TestAClaimOfAnEarlierClock(t *testing.T) {
	now := time.Now()
	claims, cluster := NewClaimedNames(), refs.ClusterKey{Kind: "Controller", Namespace: "a", Name: "slurm"}
	if !claims.Claim(cluster, "x-0", "later", now.Add(time.Microsecond)) {
		t.Fatal("the first claim is refused")
	}
	if claims.Claim(cluster, "x-0", "earlier", now) {
		t.Error("two NodeSets have claimed x-0 at the same moment")
	}
	if !claims.Claim(cluster, "x-0", "later", now.Add(-claimKept)) {
		t.Error("a clock that was set back keeps a claim")
	}
}
