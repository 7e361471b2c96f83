package rotation

import (
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/slurmtide/slurmtide/operator/rotation/plan"
)

// maxNamed is how many pods a message names.
const maxNamed = 5

// conditionOf returns what the condition KeysRotated says while daemons learn the written key set.
func conditionOf(step plan.Step, written plan.KeySet) metav1.Condition {
	out := metav1.Condition{Status: metav1.ConditionFalse, Reason: string(step.Phase)}
	newest := plan.FirstKey
	if ids := written.IDs(); len(ids) > 0 {
		newest = ids[len(ids)-1]
	}
	switch step.Phase {
	case plan.Rotated:
		out.Status = metav1.ConditionTrue
		out.Message = fmt.Sprintf("all daemons have the key %s alone", newest)
		return out
	case plan.NotBegun:
		out.Message = fmt.Sprintf("another key takes the place of %s when all daemons are known to have it", newest)
	case plan.Distributing:
		out.Message = fmt.Sprintf("all daemons are being given the key %s, with which none signs yet", newest)
	case plan.Switching:
		out.Message = fmt.Sprintf("all daemons are being told to sign with the key %s", newest)
	case plan.Retiring:
		out.Message = fmt.Sprintf("all daemons are being told to accept the key %s alone", newest)
	}
	if len(step.Waiting) > 0 {
		out.Message += "; waiting for " + describeWaiting(step.Waiting)
	}
	return out
}

// describeWaiting names the pods that a rotation waits for.
func describeWaiting(members []plan.Member) string {
	var out []string
	for _, m := range members[:min(len(members), maxNamed)] {
		if m.Problem != "" {
			out = append(out, fmt.Sprintf("%s (%s)", m.Name, m.Problem))
			continue
		}
		out = append(out, m.Name)
	}
	if more := len(members) - len(out); more > 0 {
		out = append(out, fmt.Sprintf("%d more", more))
	}
	return strings.Join(out, ", ")
}
