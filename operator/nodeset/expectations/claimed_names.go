package expectations

import (
	"maps"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/slurmtide/slurmtide/operator/refs"
)

// claimKept is the time that a claimed name stays claimed: until all caches show the new pod with the name.
const claimKept = time.Minute

// ClaimedNames are the Slurm node names that pods were created with a moment ago. NodeSets are reconciled concurrently, and
// none sees the pods of the others before its cache shows them.
type ClaimedNames struct {
	mu     sync.Mutex
	claims map[claimedName]nameClaim
	swept  time.Time
}

// claimedName is a name in a Slurm cluster.
type claimedName struct {
	cluster refs.ClusterKey
	name    string
}

type nameClaim struct {
	nodeSet types.UID
	at      time.Time
}

// isOver reports whether a claim is over. One of a moment later is not: reconciliations read the clock before they wait for each other.
func (c nameClaim) isOver(now time.Time) bool { return now.Sub(c.at).Abs() >= claimKept }

// NewClaimedNames returns no claims.
func NewClaimedNames() *ClaimedNames { return &ClaimedNames{claims: map[claimedName]nameClaim{}} }

// Claim claims a name for a worker of a NodeSet, and reports whether no other NodeSet has it. The claim stays even if the creation of
// the pod fails, since a failed request may have created it.
func (c *ClaimedNames) Claim(cluster refs.ClusterKey, name string, nodeSet types.UID, now time.Time) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if now.Sub(c.swept).Abs() >= claimKept {
		maps.DeleteFunc(c.claims, func(_ claimedName, claim nameClaim) bool { return claim.isOver(now) })
		c.swept = now
	}
	key := claimedName{cluster, name}
	if claim, there := c.claims[key]; there && claim.nodeSet != nodeSet && !claim.isOver(now) {
		return false
	}
	c.claims[key] = nameClaim{nodeSet, now}
	return true
}
