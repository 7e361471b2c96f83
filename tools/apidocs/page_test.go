package main

import (
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const definitionsFolder = "../../charts/slurm-operator-crds/templates"

func TestThePageIsUpToDate(t *testing.T) {
	read, err := readDefinitions(definitionsFolder)
	if err != nil {
		t.Fatal(err)
	}
	want, err := os.ReadFile("../../docs/api.md")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(renderPage(read), string(want)); diff != "" {
		t.Errorf("run make generate (-of the definitions +docs/api.md):\n%s", diff)
	}
}

func TestThePageDescribesEachField(t *testing.T) {
	read, err := readDefinitions(definitionsFolder)
	if err != nil {
		t.Fatal(err)
	}
	text := renderPage(read)
	for _, want := range []string{
		"## NodeSet\n",
		"`v1beta1`, short names: `nodesets`, `nss`, `slurmd`; has a scale subresource.",
		"`v1alpha1` has not `spec.clusterRef`, `spec.controllerRef`, but:\n\n- `spec.clusterName`: ",
		"| `spec.slurmd` | object, open | ",
		"| `spec.scalingMode` | string | scalingMode says whether the NodeSet runs spec.replicas workers with ordinals (StatefulSet) or one worker on each matching Kubernetes node (DaemonSet). Default: `StatefulSet`. One of `DaemonSet`, `StatefulSet`. |",
		"| `spec.ssh.sssdConfRef` | key of a Secret | ",
		"Rule: exactly one of controllerRef and clusterRef must be given.",
		"| `status.conditions` | list of conditions | ",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the page has no %q", want)
		}
	}
	if strings.Contains(text, "More info") {
		t.Error("the page lists fields of Kubernetes' own types")
	}
}

func TestAFolderWithoutDefinitionsIsAnError(t *testing.T) {
	if _, err := readDefinitions(t.TempDir()); err == nil {
		t.Error("reading succeeded")
	}
}
