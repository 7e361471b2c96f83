package view

import (
	"crypto/sha256"
	"fmt"
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/slurmtide/slurmtide/metricsapi/view/v1alpha1"
	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

// placement determines the namespace, name and resourceVersion of an object.
type placement struct {
	ref     ClusterRef
	prefix  string
	version version
}

// meta returns the metadata of the object with the key. born distinguishes two records that had
// the same key one after the other; it may be 0.
func (s placement) meta(kind, key string, born slurm.Time, labels map[string]string) metav1.ObjectMeta {
	return metav1.ObjectMeta{
		Namespace: s.ref.Namespace, Name: s.prefix + key, Labels: labels,
		ResourceVersion: s.version.String(),
		UID: uidOf(s.ref.Kind, s.ref.Namespace, s.ref.Name, kind, key,
			strconv.FormatInt(int64(born), 10)),
	}
}

func (s placement) cluster() v1alpha1.ClusterReference {
	return v1alpha1.ClusterReference{Kind: s.ref.Kind, Name: s.ref.Name}
}

// uidOf returns the same UID for the same words on every replica.
func uidOf(words ...string) types.UID {
	h := sha256.Sum256([]byte(strings.Join(words, "\x00")))
	h[6], h[8] = h[6]&0x0f|0x80, h[8]&0x3f|0x80 // RFC 9562, version 8
	return types.UID(fmt.Sprintf("%x-%x-%x-%x-%x", h[0:4], h[4:6], h[6:8], h[8:10], h[10:16]))
}

// labelsOf returns the labels with a valid, non-empty value, and those of the partitions.
func labelsOf(pairs map[string]string, partitions []string) map[string]string {
	out := make(map[string]string, len(pairs)+len(partitions))
	for k, v := range pairs {
		if v != "" && isLabelValue(v) {
			out[k] = v
		}
	}
	for _, p := range partitions {
		if k := v1alpha1.PartitionPrefix + p; p != "" && isLabelValue(p) {
			out[k] = "true"
		}
	}
	if len(partitions) > 0 && isLabelValue(partitions[0]) {
		out[v1alpha1.LabelPartition] = partitions[0]
	}
	return out
}

func isLabelValue(text string) bool { return len(validation.IsValidLabelValue(text)) == 0 }

// placement returns the placement of the cluster's objects.
func (p *clusterRecords[T]) placement(v version) placement {
	return placement{p.ref, p.prefix, v}
}
