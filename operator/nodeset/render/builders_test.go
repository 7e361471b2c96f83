package render

import (
	"os"
	"path/filepath"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
	"github.com/slurmtide/slurmtide/operator/refs"
)

// loadInput returns the input of a NodeSet in testdata.
func loadInput(t *testing.T, name string) Input {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", name+".yaml"))
	if err != nil {
		t.Fatal(err)
	}
	return parseInput(t, string(text))
}

// parseInput returns the input of a NodeSet in YAML.
func parseInput(t *testing.T, text string) Input {
	t.Helper()
	n := new(v1beta1.NodeSet)
	if err := yaml.UnmarshalStrict([]byte(text), n); err != nil {
		t.Fatal(err)
	}
	in := Input{
		NodeSet: n, NamespaceUID: "uid-namespace", Cluster: "slurm",
		Endpoint: refs.Address{Host: "slurm-controller", Port: 6817},
		SlurmKey: corev1.SecretKeySelector{LocalObjectReference: corev1.LocalObjectReference{Name: "slurm-auth"},
			Key: "key"},
		Image: "registry.example.com/default:1", Hashes: map[string]string{v1beta1.AnnotationSlurmKeyHash: "abc"},
	}
	if n.Spec.ClusterRef != nil {
		in.Cluster, in.Endpoint = n.Spec.ClusterRef.Name, refs.Address{Host: "2001:db8::1", Port: 7000}
	}
	return in
}

// newInput returns the input of NodeSet "n" with a spec in YAML flow style.
func newInput(t *testing.T, flow string) Input {
	t.Helper()
	return parseInput(t, "metadata: {name: \"n\", namespace: slurm, uid: u}\nspec: {"+flow+"}")
}

func templateOf(t *testing.T, in Input) corev1.PodTemplateSpec {
	t.Helper()
	out, err := Template(in)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func slurmdOf(t *testing.T, in Input) corev1.Container {
	t.Helper()
	c := templateOf(t, in).Spec.Containers[0]
	if c.Name != ContainerSlurmd {
		t.Fatalf("the first container is %q", c.Name)
	}
	return c
}

func atOrdinal(ordinal int) Identity { return Identity{Ordinal: &ordinal, Revision: "0123456789"} }
