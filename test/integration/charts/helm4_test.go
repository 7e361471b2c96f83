//go:build e2e

package charts

import (
	"bytes"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestHelm4RendersTheSame renders every chart with all its values by Helm 4, and compares with Helm 3.
func TestHelm4RendersTheSame(t *testing.T) {
	out, err := exec.Command(filepath.Join("..", "..", "..", "hack", "kube", "build"), "helm4").Output()
	if err != nil {
		t.Fatalf("building Helm 4: %v: %s", err, stderrOf(err))
	}
	program := filepath.Join(strings.TrimSpace(string(out)), "helm")
	compared := 0
	for _, name := range chartNames() {
		for title, values := range valuesFiles(t, name) {
			t.Run(name+" with "+title, func(t *testing.T) {
				want, err := renderChart(t, name, "--values", values)
				if err != nil {
					t.Fatal(err)
				}
				got, err := templateByHelm4(program, name, values)
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(splitObjects(want), splitObjects(got)); diff != "" {
					t.Errorf("(-Helm 3 +Helm 4):\n%s", diff)
				}
				compared += len(splitObjects(got))
			})
		}
	}
	t.Logf("%d objects are compared", compared)
}

// splitObjects returns the objects of a rendering, sorted and without the empty lines between them. Helm 4 has more empty lines, and sorts
// webhooks and APIServices differently.
func splitObjects(text string) (objects []string) {
	for part := range strings.SplitSeq(text, "\n---\n") {
		objects = append(objects, strings.Trim(part, "-\n"))
	}
	slices.Sort(objects)
	return objects
}

func templateByHelm4(program, name, values string) (string, error) {
	cmd := exec.Command(program, "template", "test", chartDir(name), "--namespace", "slurm", "--kube-version", "1.37.0",
		"--values", values)
	var problems bytes.Buffer
	cmd.Stderr = &problems
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("%w: %s", err, &problems)
	}
	return string(out), nil
}
