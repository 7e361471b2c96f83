package view

import (
	"cmp"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/slurmtide/slurmtide/metricsapi/view/convert"
	"github.com/slurmtide/slurmtide/metricsapi/view/v1alpha1"
	"github.com/slurmtide/slurmtide/slurmclient"
	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

func nodeResource() *resource[slurm.Node] {
	return &resource[slurm.Node]{
		kind: v1alpha1.KindNode, plural: v1alpha1.Nodes, singular: "slurmnode", short: "snode",
		read: func(s *slurmclient.Snapshot) ([]*slurm.Node, slurmclient.Poll) {
			return s.Nodes.Value,
				s.Nodes.Poll
		},
		key:     func(n *slurm.Node) string { return n.Name },
		withKey: func(key string) *slurm.Node { return &slurm.Node{Name: key} },
		compare: func(a, b *slurm.Node) int { return cmp.Compare(a.Name, b.Name) },
		same: func(a, b *slurm.Node) bool {
			c, d := shownNode(a), shownNode(b)
			return c.Same(&d)
		},
		fingerprint: func(n *slurm.Node) uint64 {
			c := shownNode(n)
			return fingerprint(&c)
		},
		isPrivate: func(p PrivateData) bool { return p.Nodes },
		attributes: map[attribute]attributeValues[slurm.Node]{
			byCluster:   clusterValues[slurm.Node],
			byPartition: func(_ ClusterRef, n *slurm.Node, yield func(string) bool) { yieldAll(n.Partitions, yield) },
			byState:     nodeStateValues,
			byNode:      textValues(func(n *slurm.Node) string { return n.Name }),
			byName:      textValues(func(n *slurm.Node) string { return n.Name }),
		},
		fields: map[string]attribute{
			v1alpha1.FieldCluster: byCluster, v1alpha1.FieldPartition: byPartition, v1alpha1.FieldState: byState,
			v1alpha1.FieldNode: byNode, v1alpha1.FieldName: byName,
		},
		newObject: func(s placement, n *slurm.Node) runtime.Object { return nodeObject(s, n) },
		newList: func(matches []match[slurm.Node], meta metav1.ListMeta, version version) runtime.Object {
			out := &v1alpha1.SlurmNodeList{ListMeta: meta, Items: make([]v1alpha1.SlurmNode, len(matches))}
			for i, m := range matches {
				out.Items[i] = *nodeObject(m.cluster.placement(version), m.record)
			}
			return out
		},
		newEmpty: func() runtime.Object { return &v1alpha1.SlurmNode{} },
		table:    nodeTable(),
	}
}

// nodeStateValues yields the state that sinfo shows, the base state and the flags.
func nodeStateValues(_ ClusterRef, n *slurm.Node, yield func(string) bool) {
	if yield(n.State.Word()) {
		yieldAll(n.State.Names(), yield)
	}
}

func nodeObject(s placement, n *slurm.Node) *v1alpha1.SlurmNode {
	meta := s.meta(v1alpha1.KindNode, n.Name, 0, labelsOf(map[string]string{
		v1alpha1.LabelCluster: s.ref.Name, v1alpha1.LabelState: n.State.Word(), v1alpha1.LabelNode: n.Name,
	}, n.Partitions))
	return convert.NodeObject(meta, s.cluster(), n)
}

// shownNode returns a node without the fields that its object does not have.
func shownNode(n *slurm.Node) slurm.Node {
	c := *n
	c.Port, c.Boards, c.Sockets, c.CoresPerSocket, c.ThreadsPerCore, c.SpecializedMemoryMiB = 0, 0, 0, 0, 0, 0
	c.NextState = 0
	return c
}
