package render

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
	"github.com/slurmtide/slurmtide/operator/names"
)

// TestNamesHaveTheWorkerPrefix compares the names of Slurm nodes with the prefix that demand knows
// their records by.
func TestNamesHaveTheWorkerPrefix(t *testing.T) {
	onKube := func(kubeNode, hostname string) Identity {
		return Identity{KubeNode: kubeNode, Facts: KubeNodeFacts{Hostname: hostname}}
	}
	for _, tc := range []struct {
		name, spec string
		id         Identity
	}{
		{"the NodeSet's name", "", atOrdinal(12)},
		{"a padded ordinal", "ordinalPadding: 3", atOrdinal(12)},
		{"an ordinal longer than the padding", "ordinalPadding: 1", atOrdinal(12)},
		{"a hostname", "ordinalPadding: 2, template: {spec: {hostname: gpu-}}", atOrdinal(7)},
		{"the host's network", "template: {spec: {hostNetwork: true}}", atOrdinal(7)},
		{"per Kubernetes node", "scalingMode: DaemonSet", onKube("kube-a.example.com", "")},
		{"per Kubernetes node with an annotation", "scalingMode: DaemonSet", onKube("kube-a", "rack1-a")},
	} {
		t.Run(tc.name, func(t *testing.T) {
			in := newInput(t, tc.spec)
			workers, err := names.NewWorkers(in.NodeSet, in.Cluster)
			if err != nil {
				t.Fatal(err)
			}
			slurm, prefix := workers.SlurmNode(tc.id.ID()), names.WorkerPrefix(in.NodeSet)
			if known := tc.id.Ordinal != nil && slurm != ""; known != (prefix != "") || known &&
				strings.Trim(strings.TrimPrefix(slurm, prefix), "0123456789") != "" {
				t.Errorf("%s is no name with the prefix %q", slurm, prefix)
			}
		})
	}
}

func TestNamesThatKubernetesWouldRefuse(t *testing.T) {
	long := strings.Repeat("x", 60)
	for _, tc := range []struct {
		name, spec string
		id         Identity
		want       string
	}{
		{"a prefix that is too long", "template: {spec: {hostname: " + long + "}}", atOrdinal(1000),
			"naming the Slurm node"},
		{"a padding that is too long", "ordinalPadding: 80", atOrdinal(1), "naming the pod"},
		{"a hostname that is none", "scalingMode: DaemonSet",
			Identity{KubeNode: "a", Facts: KubeNodeFacts{Hostname: "a.b"}}, "naming the Slurm node"},
		{"no ordinal", "", Identity{}, "it has no ordinal"},
		{"no Kubernetes node", "scalingMode: DaemonSet", atOrdinal(1), "it has no Kubernetes node"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			in := newInput(t, tc.spec)
			_, err := Worker(in, templateOf(t, in), tc.id)
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("the error is %v, not %q", err, tc.want)
			}
		})
	}
}

func TestAWorkerDoesNotChangeItsTemplate(t *testing.T) {
	in, id := loadInput(t, "everything"), goldenIdentities()["everything"]
	template := templateOf(t, in)
	before := template.DeepCopy()
	if _, err := Worker(in, template, id); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(*before, template); diff != "" {
		t.Errorf("it did (-before +after):\n%s", diff)
	}
}

func TestAUsersOwnConfIsLeftAlone(t *testing.T) {
	in := newInput(t, "slurmd: {env: [{name: SLURMD_CONF, value: Weight=1}]}")
	id := atOrdinal(0)
	id.KubeNode, id.Facts = "a", KubeNodeFacts{Topology: "t:s"}
	pod, err := Worker(in, templateOf(t, in), id)
	if err != nil {
		t.Fatal(err)
	}
	if got := envVar(pod.Spec.Containers[0], EnvConf).Value; got != "Weight=1" {
		t.Errorf("it is %q", got)
	}
}

func TestClaimTemplatesThatAreWrongNameTheField(t *testing.T) {
	for flow, want := range map[string]string{
		"volumeClaimTemplates: [{spec: {}}]": "spec.volumeClaimTemplates[0].metadata.name",
		"volumeClaimTemplates: [{metadata: {name: a}}, {metadata: {name: b}, spec: {volumeName: 5}}]": "spec.volumeClaimTemplates[1].spec.volumeName",
	} {
		if _, err := Claims(newInput(t, flow), atOrdinal(0)); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: the error is %v, not of %s", flow, err, want)
		}
	}
}

func TestFactsOf(t *testing.T) {
	got := FactsOf(map[string]string{v1beta1.AnnotationFeatures: "a,b", v1beta1.AnnotationTopology: "t:s",
		v1beta1.AnnotationHostnameOverride: "h"})
	if want := (KubeNodeFacts{Hostname: "h", Topology: "t:s", Features: "a,b"}); got != want {
		t.Errorf("they are %+v", got)
	}
}
