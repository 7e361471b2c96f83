package metricsapi

import (
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// mostNamed limits the partitions that an error names.
const mostNamed = 20

// describeSelectable describes the labels that a selector of the metric can use.
func describeSelectable(e Entry, partitions []string) string {
	if !e.OfPartitions() {
		return e.Name + " has no labels to select by"
	}
	names := slices.Compact(slices.Sorted(slices.Values(partitions)))
	if len(names) == 0 {
		return "it serves no partition"
	}
	more := ""
	if n := len(names) - mostNamed; n > 0 {
		names, more = names[:mostNamed], fmt.Sprintf(", and %d more", n)
	}
	return fmt.Sprintf("its partitions are %s%s, selected by the labels %s and %s",
		strings.Join(names, ", "), more, labelPartition, labelCluster)
}

// explainNotFound appends what can be selected to a 404, which kubectl and the HPA's event show.
func explainNotFound(notFound *apierrors.StatusError, e Entry, partitions []string) error {
	notFound.ErrStatus.Message += ": " + describeSelectable(e, partitions)
	return notFound
}
