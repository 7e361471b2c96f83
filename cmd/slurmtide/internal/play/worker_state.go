package play

import (
	"github.com/slurmtide/slurmtide/cmd/slurmtide/internal/timeline"
	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

// Pod is the relevant state of a worker's pod.
type Pod struct {
	// Ready is true when slurmd runs, Terminating when the pod is being deleted.
	Ready, Terminating bool
}

// WorkerState returns the state of a worker with the given pod and Slurm node. n is nil when Slurm
// has no node.
func WorkerState(p Pod, n *slurm.Node) timeline.State {
	switch {
	case p.Terminating:
		return timeline.Terminating
	case n == nil, n.State.Base == slurm.NodeFuture, n.State.Base == slurm.NodeUnknown:
		return timeline.Starting
	case n.State.Base == slurm.NodeDown && p.Ready:
		return timeline.Lost
	case n.State.Base == slurm.NodeDown:
		return timeline.Starting
	case n.State.Has(slurm.NodeDrain):
		return timeline.Draining
	case n.State.Busy():
		return timeline.Busy
	case n.State.Has(slurm.NodeNotResponding):
		return timeline.Starting
	default:
		return timeline.Idle
	}
}
