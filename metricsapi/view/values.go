package view

import (
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/slurmtide/slurmtide/metricsapi/view/v1alpha1"
	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

// clusterValues yields the name of the cluster's object.
func clusterValues[T any](h ClusterRef, _ *T, yield func(string) bool) { yield(h.Name) }

// textValues returns an attribute that yields a field unless it is empty.
func textValues[T any](field func(*T) string) attributeValues[T] {
	return func(_ ClusterRef, t *T, yield func(string) bool) {
		if v := field(t); v != "" {
			yield(v)
		}
	}
}

func yieldAll(list []string, yield func(string) bool) {
	for _, v := range list {
		if !yield(v) {
			return
		}
	}
}

// yieldList yields the non-empty items of a comma-separated list.
func yieldList(list string, yield func(string) bool) {
	for v := range strings.SplitSeq(list, ",") {
		if v != "" && !yield(v) {
			return
		}
	}
}

// positiveNumber converts a number for which 0 means unset; 0 and an unset number become nil.
func positiveNumber(n slurm.Number) *int64 {
	out := numberOf(n)
	if out != nil && *out == 0 {
		return nil
	}
	return out
}

func typeOf(kind string) metav1.TypeMeta {
	return metav1.TypeMeta{APIVersion: v1alpha1.SchemeGroupVersion.String(), Kind: kind}
}

// placement returns the placement of the cluster's objects.
func (p *clusterRecords[T]) placement(version uint64) placement {
	return placement{p.ref, p.prefix, version}
}
