//go:build e2e

package charts

import (
	"regexp"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
)

// TestTheJudgeSeesContradictions: the operator cannot follow any of these changes to the rendered chart.
func TestTheJudgeSeesContradictions(t *testing.T) {
	text, err := renderChart(t, "slurm", "--values", valuesFiles(t, "slurm")["full"])
	if err != nil {
		t.Fatal(err)
	}
	if complaints := judgeObjects(t, text).complaints; len(complaints) > 0 {
		t.Fatal(complaints)
	}
	const nodeSet = "\nkind: NodeSet\n"
	for _, tc := range []struct{ name, old, new, want string }{
		{"a NodeSet of a Controller that does not exist", "controllerRef:\n    name: hpc\n", "controllerRef:\n    name: other\n",
			v1beta1.ReasonReferenceNotFound},
		{"a worker with a fixed name", "  slurmd:\n", "  slurmd:\n    args: [-D, -Z, -N, n1]\n", "the webhook refuses it"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			at := strings.Index(text, nodeSet)
			before, from := text[:at], text[at:]
			changed := strings.Replace(from, tc.old, tc.new, 1)
			if changed == from {
				t.Fatalf("there is no %q in\n%s", tc.old, from)
			}
			complaints := strings.Join(judgeObjects(t, before+changed).complaints, "\n")
			if !strings.Contains(complaints, "NodeSet ") || !strings.Contains(complaints, tc.want) {
				t.Errorf("the complaints are %q, want %q", complaints, tc.want)
			}
		})
	}
}

// TestTheJudgeSeesAutoscalersOfNothing: an autoscaler whose target is not rendered scales nothing.
func TestTheJudgeSeesAutoscalersOfNothing(t *testing.T) {
	text, err := renderChart(t, "slurm", "--values", valuesFiles(t, "slurm")["full"])
	if err != nil {
		t.Fatal(err)
	}
	target := regexp.MustCompile(`(\n  scaleTargetRef:\n    apiVersion: )(.+)(\n    kind: )(.+)(\n    name: )(.+)`)
	autoscalers := strings.Count(text, "\nkind: HorizontalPodAutoscaler\n")
	if found := len(target.FindAllString(text, -1)); found == 0 || found != autoscalers {
		t.Fatalf("%d of %d autoscalers have a target", found, autoscalers)
	}
	for _, tc := range []struct{ name, changed, want string }{
		{"another name", "${1}${2}${3}${4}${5}wrong-${6}", "does not exist: NodeSet wrong-"},
		{"another kind", "${1}${2}${3}LoginSet${5}${6}", "does not exist: LoginSet "},
		{"another API version", "${1}slinky.slurm.net/v1alpha1${3}${4}${5}${6}", "does not exist: NodeSet "},
	} {
		t.Run(tc.name, func(t *testing.T) {
			complaints := judgeObjects(t, target.ReplaceAllString(text, tc.changed)).complaints
			if len(complaints) != autoscalers {
				t.Errorf("%d autoscalers have %d complaints: %q", autoscalers, len(complaints), complaints)
			}
			for _, complaint := range complaints {
				if !strings.HasPrefix(complaint, "HorizontalPodAutoscaler ") || !strings.Contains(complaint, tc.want) {
					t.Errorf("the complaint is %q, want %q", complaint, tc.want)
				}
			}
		})
	}
}

// TestTheJudgeComparesNodeSetsWithSlurmConf: a configuration without what workers need is a contradiction.
func TestTheJudgeComparesNodeSetsWithSlurmConf(t *testing.T) {
	n := &v1beta1.NodeSet{ObjectMeta: metav1.ObjectMeta{Name: "gpu"}}
	n.Spec.ExtraConf = "Gres=gpu:h100:8"
	n.Spec.Partition = &v1beta1.NodeSetPartition{Enabled: true}
	const lines = "GresTypes=gpu\nNodeSet=gpu Feature=gpu\nPartitionName=gpu Nodes=gpu Default=YES\n"
	for _, tc := range []struct{ name, without, want string }{
		{"all lines", "", ""},
		{"no GresTypes", "GresTypes=gpu\n", "GresTypes of slurm.conf lacks gpu"},
		{"no NodeSet", "NodeSet=gpu Feature=gpu\n", "slurm.conf does not define it"},
		{"no partition", "PartitionName=gpu Nodes=gpu Default=YES\n", "slurm.conf has no partition of it"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			j := &judgement{}
			j.judgeSlurmConf(n, map[string]string{"slurm.conf": strings.Replace(lines, tc.without, "", 1)})
			if got := strings.Join(j.complaints, "\n"); (got == "") != (tc.want == "") || !strings.Contains(got, tc.want) {
				t.Errorf("the complaints are %q, want %q", got, tc.want)
			}
		})
	}
}
