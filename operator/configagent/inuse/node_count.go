package inuse

import (
	"context"
	"fmt"
	"slices"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
	"github.com/slurmtide/slurmtide/operator/configagent"
)

// checkNodeCount returns *configagent.HeldError if the wanted files leave too little room for the dynamic nodes:
// slurmctld forgets the last ones, and ends the jobs that have or require them.
func (j Judge) checkNodeCount(ctx context.Context, before, after conf) error {
	if after.room() >= before.room() && slices.Equal(after.unread, before.unread) {
		return nil
	}
	nodes, err := j.nodes(ctx)
	what := fmt.Sprintf("it leaves room for %d dynamic Slurm nodes (MaxNodeCount)", after.room())
	if err != nil {
		return &configagent.HeldError{Reason: v1beta1.ReasonNodeInUse,
			Message: fmt.Sprintf("%s, and slurmctld does not say how many there are: %v", what, err)}
	}
	dynamic := uint64(0)
	for name := range nodes {
		if _, isStatic := before.nodes[name]; !isStatic {
			dynamic++
		}
	}
	if dynamic <= after.room() {
		return nil
	}
	return &configagent.HeldError{Reason: v1beta1.ReasonNodeInUse, Message: fmt.Sprintf("%s, and there are %d: slurmctld would "+
		"forget the others and end their jobs; it is applied when there are fewer, or with a higher MaxNodeCount", what, dynamic)}
}
