package plan

import (
	"maps"
	"slices"
)

// KubeNode is a Kubernetes node.
type KubeNode struct {
	Unschedulable bool
	// CordonedFor is the Slurm node of this NodeSet whose drain made the operator cordon the node, or empty.
	CordonedFor string
}

// CordonChange is a change to a Kubernetes node.
type CordonChange struct {
	KubeNode string
	// SlurmNode is the Slurm node whose drain the cordon follows; empty to uncordon.
	SlurmNode string
}

// planCordons returns the changes that make Kubernetes nodes follow drains made by others in Slurm. It cordons
// the Kubernetes node of a worker that others drained. The node stays cordoned after the worker is gone, for any
// comment of its Slurm node, and while a reading lacks the record of a worker there. It is uncordoned when the
// drain ends, the worker runs elsewhere, the NodeSet stops requesting cordons, or the NodeSet is gone. Cordons by
// others, and for other NodeSets, stay.
func planCordons(desired *Desired, observed *Observation, actions *Actions) []CordonChange {
	slurm := &observed.Slurm
	if (!slurm.Fresh || desired.Frozen) && !actions.DeletionDone {
		return nil
	}
	at := map[string]string{}      // Kubernetes node by Slurm node
	drained := map[string]string{} // Slurm node by Kubernetes node
	for i := range observed.Workers {
		w := &observed.Workers[i]
		if w.KubeNode == "" || !w.DeletedAt.IsZero() {
			continue
		}
		at[w.SlurmName] = w.KubeNode
		if desired.CordonKubeNodes && !desired.Deleting && slurm.Records[w.SlurmName].OutOfServiceByOthers() {
			drained[w.KubeNode] = max(drained[w.KubeNode], w.SlurmName) // independent of the order of the workers
		}
	}
	isOver := func(kubeNode, slurmNode string) bool {
		record, known := slurm.Records[slurmNode]
		if !known {
			record, known = slurm.Commented[slurmNode]
		}
		runsHere := at[slurmNode] == kubeNode // one odd reading may lack its record
		elsewhere := at[slurmNode] != "" && !runsHere
		return !desired.CordonKubeNodes || actions.DeletionDone || elsewhere ||
			!record.OutOfServiceByOthers() && (known || !runsHere)
	}
	var out []CordonChange
	for _, name := range slices.Sorted(maps.Keys(observed.KubeNodes)) {
		node, want := observed.KubeNodes[name], drained[name]
		switch {
		case want != "" && !node.Unschedulable:
			out = append(out, CordonChange{name, want})
		case want == "" && node.Unschedulable && node.CordonedFor != "" && isOver(name, node.CordonedFor):
			out = append(out, CordonChange{KubeNode: name})
		}
	}
	return out
}
