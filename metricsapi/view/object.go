package view

import (
	"crypto/sha256"
	"fmt"
	"math"
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/slurmtide/slurmtide/metricsapi/view/v1alpha1"
	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

// setting is where an object is shown.
type setting struct {
	home    Home
	prefix  string
	version uint64
}

// meta is the metadata of the object with the key. born tells apart two records that
// had one key after the other; it may be 0.
func (s setting) meta(kind, key string, born slurm.Time, labels map[string]string) metav1.ObjectMeta {
	m := metav1.ObjectMeta{
		Namespace: s.home.Namespace, Name: s.prefix + key, Labels: labels,
		ResourceVersion: strconv.FormatUint(s.version, 10),
		UID:             uid(s.home.Kind, s.home.Namespace, s.home.Name, kind, key, strconv.FormatInt(int64(born), 10)),
	}
	if t := moment(born); t != nil {
		m.CreationTimestamp = *t
	}
	return m
}

func (s setting) cluster() v1alpha1.ClusterReference {
	return v1alpha1.ClusterReference{Kind: s.home.Kind, Name: s.home.Name}
}

// uid is the same for the same words, on every replica.
func uid(words ...string) types.UID {
	h := sha256.Sum256([]byte(strings.Join(words, "\x00")))
	h[6], h[8] = h[6]&0x0f|0x80, h[8]&0x3f|0x80 // RFC 9562, version 8
	return types.UID(fmt.Sprintf("%x-%x-%x-%x-%x", h[0:4], h[4:6], h[6:8], h[8:10], h[10:16]))
}

// labelsOf leaves out what has no value, or one that a label can not have.
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

// moment is the time, nil where there is none or it never comes.
func moment(t slurm.Time) *metav1.Time {
	at := t.Time()
	if at.IsZero() {
		return nil
	}
	out := metav1.NewTime(at.UTC())
	return &out
}

// number is the number, nil where there is none.
func number(n slurm.Number) *int64 {
	v, ok := n.Value()
	if !ok {
		return nil
	}
	out := int64(min(v, math.MaxInt64))
	return &out
}

// unlimited is what Slurm's infinite reads as.
const unlimited = "unlimited"

// limit is the number or "unlimited", nil where there is none. A number that the type
// can not hold is in text.
func limit(n slurm.Number) *intstr.IntOrString {
	v, ok := n.Value()
	switch {
	case n.IsInfinite():
		out := intstr.FromString(unlimited)
		return &out
	case !ok:
		return nil
	case v > math.MaxInt32:
		out := intstr.FromString(strconv.FormatUint(v, 10))
		return &out
	}
	out := intstr.FromInt32(int32(v))
	return &out
}

// told is the text, empty where it is one of Slurm's words for nothing.
func told(text string) string {
	if text == "(null)" || text == "N/A" {
		return ""
	}
	return text
}
