package status

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
)

// SetNodeSetsIncluded reports the NodeSets that slurm.conf leaves out, and the reasons. Without NodeSets it sets
// no condition.
func SetNodeSetsIncluded(s *v1beta1.ControllerStatus, leftOut map[string]string, generation int64, now time.Time) {
	if len(leftOut) == 0 {
		meta.RemoveStatusCondition(&s.Conditions, v1beta1.ConditionNodeSetsIncluded)
		return
	}
	var text []string
	for _, name := range slices.Sorted(maps.Keys(leftOut)) {
		text = append(text, fmt.Sprintf("NodeSet %s is not in slurm.conf: %s", name, leftOut[name]))
	}
	v1beta1.SetCondition(&s.Conditions, v1beta1.ConditionNodeSetsIncluded, metav1.Condition{Status: metav1.ConditionFalse,
		Reason: v1beta1.ReasonNameTaken, Message: strings.Join(text, "; ")}, generation, now)
}
