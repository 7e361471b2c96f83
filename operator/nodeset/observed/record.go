package observed

import (
	"strings"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
	"github.com/slurmtide/slurmtide/operator/nodeset/comment"
	"github.com/slurmtide/slurmtide/operator/nodeset/plan"
	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

// Record converts a Slurm node for the plan. kubeNodes reports whether a Kubernetes node exists; an
// unknown one counts as existing.
//
// faults are the reasons, as FaultReasons returns them, that end with a worker.
func Record(n *slurm.Node, kubeNodes func(name string) bool, faults []string) plan.Record {
	state := n.State
	r := plan.Record{
		Name:          n.Name,
		Future:        state.Base == slurm.NodeFuture,
		Dynamic:       state.Any(slurm.NodeDynamicNorm | slurm.NodeDynamicFuture),
		Busy:          state.MayHaveJobs(),
		Down:          state.Base == slurm.NodeDown || state.Has(slurm.NodeNotResponding),
		NotResponding: state.Base != slurm.NodeDown && state.Has(slurm.NodeNotResponding),
		Drain:         state.Has(slurm.NodeDrain) && !state.Has(slurm.NodeUndrain),
		OurReason:     strings.HasPrefix(n.Reason, v1beta1.DrainReasonPrefix),
		DownByOthers:  isDownByOthers(n),
		Partitions:    n.Partitions, Features: n.Features,
	}
	if r.OurReason && n.ReasonAt.IsSet() {
		r.OurReasonAt = n.ReasonAt.Time()
	}
	if n.SlurmdStartTime.IsSet() {
		r.SlurmdStarted = n.SlurmdStartTime.Time()
	}
	if isFault(n, faults) {
		r.Fault, r.DownByOthers = strings.TrimSpace(n.Reason), state.Has(slurm.NodeFail)
		if n.ReasonAt.IsSet() {
			r.FaultAt = n.ReasonAt.Time()
		}
	}
	if r.Rebooting = isRebooting(n); r.Rebooting && n.ReasonAt.IsSet() {
		r.FaultAt = n.ReasonAt.Time()
	}
	// A node that others had drained stays so after its reboot, unless they asked to resume it.
	isToServe := n.NextState == slurm.NextStateResume || n.NextState == slurm.NextStateUnset && !r.Drain
	if r.Rebooting && !state.Has(slurm.NodeFail) && isToServe {
		r.Fault, r.DownByOthers = "reboot: "+strings.TrimSpace(n.Reason), false
	}
	if r.Future && state.Has(slurm.NodeInvalidReg) {
		r.InvalidRegistration, r.Refusal = true, strings.TrimSpace(n.Reason)
	}
	if n.LastBusy.IsSet() {
		r.IdleSince = n.LastBusy.Time()
	}
	if note, ok := comment.Parse(n.Comment); ok {
		r.OwnerUID, r.Pod, r.KubeNode = note.NodeSetUID, note.PodName, note.KubeNode
		r.KubeNodeGone = note.KubeNode != "" && !kubeNodes(note.KubeNode)
	}
	r.ForeignComment = n.Comment != "" && r.OwnerUID == ""
	return r
}

// isDownByOthers reports whether a person or Slurm's health check set a Slurm node FAIL or DOWN. DOWN does not count with
// our own reason, or with a reason that slurmctld gives to nodes whose slurmd disappeared.
func isDownByOthers(n *slurm.Node) bool {
	if n.State.Base == slurm.NodeFuture {
		return false
	}
	if n.State.Has(slurm.NodeFail) {
		return true
	}
	reason := strings.TrimSpace(n.Reason)
	return n.State.Base == slurm.NodeDown && reason != "" && !strings.HasPrefix(reason, v1beta1.DrainReasonPrefix) &&
		!isAbsence(reason)
}

// isAbsence reports whether slurmctld gave a reason, or the first of several, because slurmd disappeared. A person's longer
// reason may begin with the same words, as in "Not responding, see ticket 7".
func isAbsence(reason string) bool {
	first, _, _ := strings.Cut(reason, reasonSeparator)
	first, _, _ = strings.Cut(first, " [") // the user and the time, as scontrol shows them
	return first == reasonNotResponding || first == reasonRebooted
}

// Reasons that slurmctld gives to nodes whose slurmd disappeared.
const (
	reasonNotResponding = "Not responding"
	reasonRebooted      = "Node unexpectedly rebooted"
)

// isRebooting reports whether slurmctld has asked slurmd to reboot its host, or has given up waiting for
// that. It asks once the node has no job, and gives no job to a node that is DOWN.
func isRebooting(n *slurm.Node) bool {
	return n.State.Base == slurm.NodeDown && (n.State.Has(slurm.NodeRebootIssued) ||
		n.ReasonBy == "slurm" && strings.HasSuffix(reasonBeforeAbsence(n), ": reboot timed out"))
}
