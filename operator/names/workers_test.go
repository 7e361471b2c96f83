package names

import (
	"maps"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
)

// newNodeSet returns a NodeSet "n" with a spec in YAML.
func newNodeSet(t *testing.T, spec string) *v1beta1.NodeSet {
	t.Helper()
	n := &v1beta1.NodeSet{}
	n.Name = "n"
	if err := yaml.UnmarshalStrict([]byte("{"+spec+"}"), &n.Spec); err != nil {
		t.Fatal(err)
	}
	return n
}

func atOrdinal(ordinal int) WorkerID { return WorkerID{Ordinal: &ordinal} }

func TestNamesOfWorkers(t *testing.T) {
	for _, tc := range []struct {
		name, spec string
		id         WorkerID
		pod, slurm string
		// index is the label with the ordinal.
		index string
	}{
		{"both are the NodeSet's with the ordinal", "", atOrdinal(12), "n-12", "n-12", "12"},
		{"ordinals are padded, but not in the label", "ordinalPadding: 3", atOrdinal(12), "n-012", "n-012", "12"},
		{"ordinals longer than the padding are whole", "ordinalPadding: 1", atOrdinal(12), "n-12", "n-12", "12"},
		{"a hostname is a prefix", "ordinalPadding: 2, template: {spec: {hostname: gpu-}}", atOrdinal(7), "n-07",
			"gpu-07", "7"},
		{"a pinned worker's are those of its ordinal", "", WorkerID{Ordinal: new(7), KubeNode: "kube-a"}, "n-7", "n-7",
			"7"},
		{"the annotation counts only in scaling mode DaemonSet", "",
			WorkerID{Ordinal: new(7), KubeNode: "kube-a", Hostname: "rack1-a"}, "n-7", "n-7", "7"},
		{"with the host's network it is not known before it is scheduled", "template: {spec: {hostNetwork: true}}",
			atOrdinal(7), "n-7", "", "7"},
		{"with the host's network a pinned worker's is that of its Kubernetes node",
			"template: {spec: {hostNetwork: true}}", WorkerID{Ordinal: new(7), KubeNode: "kube-a.example.com"}, "n-7",
			"kube-a.example.com", "7"},
		{"per Kubernetes node it is the node's short name", "scalingMode: DaemonSet",
			WorkerID{KubeNode: "kube-a.example.com"}, "n-kube-a-example-com-59f6fdc4", "kube-a", ""},
		{"or what the annotation says", "scalingMode: DaemonSet", WorkerID{KubeNode: "kube-a", Hostname: "rack1-a"},
			"n-kube-a-a31ac824", "rack1-a", ""},
		{"an ordinal means nothing per Kubernetes node", "scalingMode: DaemonSet",
			WorkerID{Ordinal: new(7), KubeNode: "kube-a", Hostname: "rack1-a"}, "n-kube-a-a31ac824", "rack1-a", ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			workers, err := NewWorkers(newNodeSet(t, tc.spec), "slurm")
			if err != nil {
				t.Fatal(err)
			}
			if err := workers.Check(tc.id); err != nil {
				t.Error(err)
			}
			if got := [2]string{workers.Pod(tc.id), workers.SlurmNode(tc.id)}; got != [2]string{tc.pod, tc.slurm} {
				t.Errorf("the names are %q, not %q and %q", got, tc.pod, tc.slurm)
			}
			if got := workers.Claim("data", tc.id); got != "data-"+tc.pod {
				t.Errorf("the claim is %s", got)
			}
			want := map[string]string{v1beta1.LabelPodName: tc.pod}
			if tc.slurm != "" {
				want[v1beta1.LabelPodHostname] = tc.slurm
			}
			if tc.index != "" {
				want[v1beta1.LabelPodIndex] = tc.index
			}
			if got := workers.Labels(tc.id); !maps.Equal(got, want) {
				t.Errorf("the labels are %v, not %v", got, want)
			}
		})
	}
}

func TestNamesThatKubernetesWouldRefuse(t *testing.T) {
	long := strings.Repeat("x", 60)
	for _, tc := range []struct {
		name, spec string
		id         WorkerID
		want       string // of the error; empty means none
	}{
		{"a prefix that is too long", "template: {spec: {hostname: " + long + "}}", atOrdinal(1000),
			"naming the Slurm node"},
		{"a padding that is too long", "ordinalPadding: 80", atOrdinal(1), "naming the pod"},
		{"a hostname that is none", "scalingMode: DaemonSet", WorkerID{KubeNode: "a", Hostname: "a.b"},
			"naming the Slurm node"},
		{"a Kubernetes node that fits no label", "template: {spec: {hostNetwork: true}}",
			WorkerID{Ordinal: new(1), KubeNode: long + ".example.com"}, "naming the Slurm node"},
		{"a Kubernetes node with dots", "template: {spec: {hostNetwork: true}}",
			WorkerID{Ordinal: new(1), KubeNode: "kube-a.example.com"}, ""},
		{"no ordinal", "", WorkerID{}, "it has no ordinal"},
		{"a negative ordinal", "", atOrdinal(-1), "it has no ordinal"},
		{"no Kubernetes node", "scalingMode: DaemonSet", atOrdinal(1), "it has no Kubernetes node"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			workers, err := NewWorkers(newNodeSet(t, tc.spec), "slurm")
			if err != nil {
				t.Fatal(err)
			}
			err = workers.Check(tc.id)
			if (err == nil) != (tc.want == "") || err != nil && !strings.Contains(err.Error(), tc.want) {
				t.Errorf("the error is %v, not %q", err, tc.want)
			}
		})
	}
}

func TestNewWorkersRefusesWhatNoWorkerCanHave(t *testing.T) {
	for _, tc := range []struct{ name, spec, cluster, want string }{
		{"a Service with a name of more than 63 letters", "", strings.Repeat("x", 60), "naming the workers' Service"},
		{"a malformed pod", "template: {spec: {hostNetwork: 5}}", "slurm", "spec.template.spec.hostNetwork"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, err := NewWorkers(newNodeSet(t, tc.spec), tc.cluster)
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("the error is %v, not %q", err, tc.want)
			}
		})
	}
}

func TestPodsOfKubernetesNodesNeverHaveOneName(t *testing.T) {
	seen := map[string]string{}
	for _, nodeSet := range []string{"a", "a-b", strings.Repeat("a", 40)} {
		for _, kubeNode := range []string{"b-c", "c", "b.c", "0", strings.Repeat("k", 63) + ".a",
			strings.Repeat("k", 63) + ".b"} {
			n := newNodeSet(t, "scalingMode: DaemonSet")
			n.Name = nodeSet
			workers, err := NewWorkers(n, "slurm")
			if err != nil {
				t.Fatal(err)
			}
			id := WorkerID{KubeNode: kubeNode}
			pod := workers.Pod(id)
			if err := workers.Check(id); err != nil || seen[pod] != "" {
				t.Errorf("%s on %s is %q, as is %q (%v)", nodeSet, kubeNode, pod, seen[pod], err)
			}
			seen[pod] = nodeSet + " on " + kubeNode
		}
	}
}

func TestParseOrdinal(t *testing.T) {
	for label, want := range map[string]int{"": -1, "x": -1, "-3": -1, "0": 0, "17": 17} {
		got, ok := ParseOrdinal(map[string]string{v1beta1.LabelPodIndex: label})
		if ok != (want >= 0) || ok && got != want {
			t.Errorf("of %q it is %d, %t", label, got, ok)
		}
	}
}
