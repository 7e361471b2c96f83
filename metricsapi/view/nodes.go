package view

import (
	"cmp"
	"strconv"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/slurmtide/slurmtide/metricsapi/view/v1alpha1"
	"github.com/slurmtide/slurmtide/slurmclient"
	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

func nodeNoun() *noun[slurm.Node] {
	return &noun[slurm.Node]{
		kind: v1alpha1.KindNode, resource: v1alpha1.Nodes, singular: "slurmnode", short: "snode",
		read: func(s *slurmclient.Snapshot) ([]*slurm.Node, slurmclient.Poll) {
			return s.Nodes.Value,
				s.Nodes.Poll
		},
		key:     func(n *slurm.Node) string { return n.Name },
		blank:   func(key string) *slurm.Node { return &slurm.Node{Name: key} },
		compare: func(a, b *slurm.Node) int { return cmp.Compare(a.Name, b.Name) },
		same:    (*slurm.Node).Same,
		private: func(p Private) bool { return p.Nodes },
		attributes: map[attribute]values[slurm.Node]{
			byCluster:   clusterOf[slurm.Node],
			byPartition: func(_ Home, n *slurm.Node, yield func(string) bool) { each(n.Partitions, yield) },
			byState:     nodeStates,
			byNode:      text(func(n *slurm.Node) string { return n.Name }),
			byName:      text(func(n *slurm.Node) string { return n.Name }),
		},
		fields: map[string]attribute{
			v1alpha1.FieldCluster: byCluster, v1alpha1.FieldPartition: byPartition, v1alpha1.FieldState: byState,
			v1alpha1.FieldNode: byNode, v1alpha1.FieldName: byName,
		},
		object: func(s setting, n *slurm.Node) runtime.Object { return nodeObject(s, n) },
		list: func(matches []hit[slurm.Node], meta metav1.ListMeta, version uint64) runtime.Object {
			out := &v1alpha1.SlurmNodeList{ListMeta: meta, Items: make([]v1alpha1.SlurmNode, len(matches))}
			for i, m := range matches {
				out.Items[i] = *nodeObject(m.in.setting(version), m.item)
			}
			return out
		},
		empty: func() runtime.Object { return &v1alpha1.SlurmNode{} },
		table: nodeTable(),
	}
}

// nodeStateValues yields the state that sinfo shows, the base state and the flags.
func nodeStates(_ Home, n *slurm.Node, yield func(string) bool) {
	if yield(n.State.Word()) {
		each(n.State.Names(), yield)
	}
}

func nodeObject(s setting, n *slurm.Node) *v1alpha1.SlurmNode {
	return &v1alpha1.SlurmNode{
		TypeMeta: typeOf(v1alpha1.KindNode),
		ObjectMeta: s.meta(v1alpha1.KindNode, n.Name, 0, labelsOf(map[string]string{
			v1alpha1.LabelCluster: s.home.Name, v1alpha1.LabelState: n.State.Word(), v1alpha1.LabelNode: n.Name,
		}, n.Partitions)),
		Spec:   nodeSpec(s, n),
		Status: nodeStatus(n),
	}
}

func nodeSpec(s setting, n *slurm.Node) v1alpha1.SlurmNodeSpec {
	return v1alpha1.SlurmNodeSpec{
		Cluster: s.cluster(), Name: n.Name, Address: n.Address, Hostname: n.Hostname,
		Partitions: n.Partitions, Features: n.Features, CPUs: int64(n.CPUs), MemoryMiB: int64(n.MemoryMiB),
		TmpDiskMiB: int64(n.TmpDiskMiB), Weight: int64(n.Weight), GRES: told(n.GRES), TRES: n.TRES,
		Topology: n.Topology, Comment: n.Comment, Extra: n.Extra, InstanceID: n.InstanceID,
		InstanceType: n.InstanceType,
	}
}

func nodeStatus(n *slurm.Node) v1alpha1.SlurmNodeStatus {
	status := v1alpha1.SlurmNodeStatus{
		State: n.State.Word(), States: n.State.Names(), Reason: n.Reason, ReasonBy: n.ReasonBy,
		ReasonTime:     moment(n.ReasonAt),
		ActiveFeatures: n.ActiveFeatures, EffectiveCPUs: int64(n.EffectiveCPUs), AllocatedCPUs: int64(n.AllocCPUs),
		IdleCPUs: int64(n.IdleCPUs), AllocatedMemoryMiB: int64(n.AllocMemoryMiB),
		FreeMemoryMiB: number(n.FreeMemoryMiB),
		GRESUsed:      told(n.GRESUsed), TRESUsed: n.TRESUsed, Reservation: n.Reservation, Owner: told(n.Owner),
		BootTime: moment(n.BootTime), SlurmdStartTime: moment(n.SlurmdStartTime), LastBusy: moment(n.LastBusy),
		ResumeAfter: moment(n.ResumeAfter), Version: n.Version, Architecture: n.Architecture, OS: n.OS,
	}
	if load, ok := n.Load.Value(); ok {
		status.Load = strconv.FormatFloat(load, 'f', 2, 64)
	}
	return status
}
