package view

import (
	"cmp"
	"encoding/json"

	"github.com/cespare/xxhash/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/slurmtide/slurmtide/metricsapi/view/convert"
	"github.com/slurmtide/slurmtide/metricsapi/view/v1alpha1"
	"github.com/slurmtide/slurmtide/slurmclient"
	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

func partitionResource() *resource[slurm.Partition] {
	return &resource[slurm.Partition]{
		kind: v1alpha1.KindPartition, plural: v1alpha1.Partitions, singular: "slurmpartition", short: "spart",
		read: func(s *slurmclient.Snapshot) ([]*slurm.Partition, slurmclient.Poll) {
			return s.Partitions.Value, s.Partitions.Poll
		},
		key:         func(p *slurm.Partition) string { return p.Name },
		withKey:     func(key string) *slurm.Partition { return &slurm.Partition{Name: key} },
		compare:     func(a, b *slurm.Partition) int { return cmp.Compare(a.Name, b.Name) },
		same:        func(a, b *slurm.Partition) bool { return shownPartition(a) == shownPartition(b) },
		fingerprint: func(p *slurm.Partition) uint64 { return xxhash.Sum64String(shownPartition(p)) },
		isPrivate:   func(p PrivateData) bool { return p.Partitions },
		attributes: map[attribute]attributeValues[slurm.Partition]{
			byCluster:   clusterValues[slurm.Partition],
			byPartition: textValues(func(p *slurm.Partition) string { return p.Name }),
			byState:     textValues(func(p *slurm.Partition) string { return string(p.State) }),
			byName:      textValues(func(p *slurm.Partition) string { return p.Name }),
		},
		fields: map[string]attribute{
			v1alpha1.FieldCluster: byCluster, v1alpha1.FieldPartition: byPartition, v1alpha1.FieldState: byState,
			v1alpha1.FieldName: byName,
		},
		newObject: func(s placement, p *slurm.Partition) runtime.Object { return partitionObject(s, p) },
		newList: func(matches []match[slurm.Partition], meta metav1.ListMeta, version version) runtime.Object {
			out := &v1alpha1.SlurmPartitionList{ListMeta: meta, Items: make([]v1alpha1.SlurmPartition, len(matches))}
			for i, m := range matches {
				out.Items[i] = *partitionObject(m.cluster.placement(version), m.record)
			}
			return out
		},
		newEmpty: func() runtime.Object { return &v1alpha1.SlurmPartition{} },
		table:    partitionTable(),
	}
}

func partitionObject(s placement, p *slurm.Partition) *v1alpha1.SlurmPartition {
	meta := s.meta(v1alpha1.KindPartition, p.Name, 0, labelsOf(map[string]string{
		v1alpha1.LabelCluster: s.ref.Name, v1alpha1.LabelState: string(p.State),
	}, []string{p.Name}))
	return convert.PartitionObject(meta, s.cluster(), p)
}

// shownPartition returns what the object of a partition shows.
func shownPartition(p *slurm.Partition) string {
	text, _ := json.Marshal(partitionObject(placement{}, p)) // texts and numbers only
	return string(text)
}
