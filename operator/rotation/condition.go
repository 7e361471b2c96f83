package rotation

import (
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
	"github.com/slurmtide/slurmtide/operator/rotation/plan"
)

// maxNamed is how many pods a message names.
const maxNamed = 5

// conditionOf returns the condition KeysRotated while daemons learn the written key set.
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

// outsideCondition returns the condition KeysRotated while hosts outside may lack the written key set, which is in a Secret.
// It names the signs of such hosts, the remedy, and how to confirm it.
func outsideCondition(c *v1beta1.Controller, secret string, in plan.Input) metav1.Condition {
	shown := "hosts outside of Kubernetes may have the key, since there is " + strings.Join(in.Outside.Signs, ", ")
	if more := len(in.Outside.Signs) - maxNamed; more > 0 {
		shown = fmt.Sprintf("hosts outside of Kubernetes may have the key, since there is %s and %d more",
			strings.Join(in.Outside.Signs[:maxNamed], ", "), more)
	}
	if len(in.Outside.Signs) == 0 {
		shown = "it is not known whether hosts outside of Kubernetes have the key: " + in.Outside.Unknown
	}
	return metav1.Condition{Status: metav1.ConditionFalse, Reason: v1beta1.ReasonWaitingForHostsOutside, Message: fmt.Sprintf(
		"%s. The next step cuts off every host that does not have the present key set. Copy it to each, "+
			"kubectl get secret --namespace %s %s -o jsonpath='{.data.slurm\\.jwks}' | base64 -d >/etc/slurm/slurm.jwks, have the "+
			"daemons read it (docs/hybrid.md), and confirm it: kubectl annotate controller --namespace %s %s %s=%s --overwrite",
		shown, c.Namespace, secret, c.Namespace, c.Name, v1beta1.AnnotationOutsideKeys, plan.Confirmation(in.Written))}
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
