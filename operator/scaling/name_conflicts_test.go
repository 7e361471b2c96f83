package scaling

import (
	"strings"
	"testing"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
)

func newNodeSet(name string) v1beta1.NodeSet {
	n := v1beta1.NodeSet{ObjectMeta: metav1.ObjectMeta{Name: name}}
	n.Spec.ControllerRef = &corev1.LocalObjectReference{Name: "slurm"}
	return n
}

func newController(extraConf string) *v1beta1.Controller {
	c := &v1beta1.Controller{ObjectMeta: metav1.ObjectMeta{Name: "slurm"}}
	c.Spec.ExtraConf = extraConf
	return c
}

func TestNamesOfLinesInExtraConf(t *testing.T) {
	for _, tc := range []struct {
		name, nodeSet, extraConf string
		leftOut                  bool
		reserved                 string
	}{
		{name: "no line", nodeSet: "gpu"},
		{name: "a node", nodeSet: "n3", extraConf: "NodeName=n[1-4] CPUs=4", leftOut: true},
		{name: "a node that a worker could have", nodeSet: "n", extraConf: "nodename=n-[1-4] CPUs=4", reserved: "n-3"},
		{name: "another node", nodeSet: "n5", extraConf: "NodeName=n[1-4] CPUs=4"},
		{name: "a node in other case", nodeSet: "n3", extraConf: "nodename=N3"},
		{name: "its partition", nodeSet: "gpu", extraConf: "PartitionName=gpu Nodes=gpu"},
		{name: "its own line", nodeSet: "gpu", extraConf: "NodeSet=gpu Feature=big"},
		{name: "a node set with the name of a worker", nodeSet: "gpu", extraConf: "NodeSet=gpu-0 Nodes=a,b", reserved: "gpu-0"},
		{name: "defaults", nodeSet: "gpu", extraConf: "NodeName=DEFAULT CPUs=4\nPartitionName=DEFAULT State=UP"},
		{name: "a node of an included file", nodeSet: "n8", extraConf: "Include nodes.conf", leftOut: true},
		{name: "a node set of an included file", nodeSet: "n", extraConf: "Include nodes.conf", reserved: "n-5"},
		{name: "a file that nothing includes", nodeSet: "n8"},
		{name: "a list of nodes that cannot be read", nodeSet: "n1", extraConf: "NodeName=n[1-"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := AssignNames(newController(tc.extraConf), []v1beta1.NodeSet{newNodeSet(tc.nodeSet)}, nil, nil,
				map[string]string{"nodes.conf": "NodeName=n[7-9]\nNodeSet=n-5 Nodes=x"})
			if (got.LeftOut[tc.nodeSet] != "") != tc.leftOut {
				t.Errorf("left out are %v, want one: %v", got.LeftOut, tc.leftOut)
			}
			if tc.reserved != "" && got.Reserved[tc.reserved] == "" {
				t.Errorf("reserved are %v, want %s", got.Reserved, tc.reserved)
			}
		})
	}
}

func TestNamesOfKubernetesNodes(t *testing.T) {
	kubeNodes := []corev1.Node{{ObjectMeta: metav1.ObjectMeta{Name: "gpu1.rack-a"}},
		{ObjectMeta: metav1.ObjectMeta{Name: "b", Annotations: map[string]string{v1beta1.AnnotationHostnameOverride: "c"}}}}
	perKubeNode, host := newNodeSet("a"), newNodeSet("a")
	perKubeNode.Spec.ScalingMode = v1beta1.ScalingModeDaemonSet
	host.Spec.Template.Spec.Raw = []byte(`{"hostNetwork":true}`)
	for _, tc := range []struct {
		name, younger string
		older         v1beta1.NodeSet
		want          bool
	}{
		{"the short name", "gpu1", perKubeNode, true},
		{"the annotation", "c", perKubeNode, true},
		{"the name that the annotation replaces", "b", perKubeNode, false},
		{"the network of the Kubernetes node", "b", host, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			younger := newNodeSet(tc.younger)
			younger.UID = "z"
			if !HasWorkersOnKubeNodes([]v1beta1.NodeSet{younger, tc.older}) {
				t.Error("the Kubernetes nodes are not read")
			}
			got := AssignNames(newController(""), []v1beta1.NodeSet{younger, tc.older}, nil, kubeNodes, nil)
			if (got.LeftOut[tc.younger] != "") != tc.want || len(got.LeftOut) > 1 {
				t.Errorf("left out are %v, want %s: %v", got.LeftOut, tc.younger, tc.want)
			}
		})
	}
}

func TestListedNodeSetsKeepTheirNames(t *testing.T) {
	gpu, five := newNodeSet("gpu"), newNodeSet("gpu-5")
	gpu.UID, five.UID = "a", "b"
	hpas := []autoscalingv2.HorizontalPodAutoscaler{{}}
	hpas[0].Spec.ScaleTargetRef = autoscalingv2.CrossVersionObjectReference{APIVersion: v1beta1.SchemeGroupVersion.String(),
		Kind: v1beta1.KindNodeSet, Name: "gpu"}
	hpas[0].Spec.MaxReplicas = 10
	both := "NodeSet=gpu Feature=gpu\nNodeSet=gpu-5 Feature=gpu-5\n"
	deleting := *five.DeepCopy()
	deleting.DeletionTimestamp = &metav1.Time{}
	busy := *deleting.DeepCopy()
	busy.Status.Replicas = 1
	for _, tc := range []struct {
		name, live string
		five       v1beta1.NodeSet
		hpas       []autoscalingv2.HorizontalPodAutoscaler
		want       string
	}{
		{"the maximum of the other was raised", both, five, hpas, ""},
		{"a newcomer", "NodeSet=gpu Feature=gpu\n", five, hpas, "gpu-5"},
		{"a newcomer beyond the maximum", "NodeSet=gpu Feature=gpu\n", five, nil, ""},
		{"it is deleted and has no workers", both, deleting, hpas, "gpu-5"},
		{"it is deleted and has workers", both, busy, hpas, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := AssignNames(newController(""), []v1beta1.NodeSet{tc.five, gpu}, tc.hpas, nil,
				map[string]string{"slurm.conf": tc.live})
			if tc.want == "" && len(got.LeftOut) > 0 || tc.want != "" && !strings.Contains(got.LeftOut[tc.want], "NodeSet gpu has") {
				t.Errorf("left out are %v, want %q", got.LeftOut, tc.want)
			}
		})
	}
}
