//go:build e2e

package adapter

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/slurmtide/slurmtide/tools/docs"
)

// testPage runs the commands of the page on metrics for HPAs, and compares their output.
func (s *env) testPage(t *testing.T) {
	const page = "docs/metrics-for-hpas.md"
	text, err := os.ReadFile("../../../" + page)
	if err != nil {
		t.Fatal(err)
	}
	blocks, err := docs.ParseBlocks(page, string(text))
	if err != nil {
		t.Fatal(err)
	}
	want := [][]string{
		{`"nodesets.slinky.slurm.net/slurm_nodeset_required_nodes"`, `"namespaces/slurm_partition_pending_jobs"`},
		{`"value":"5"`},
		{`"value":"3"`, `"matchLabels":{"partition":"gpu"}`, `"values":["cpu","gpu"]`},
		{`"kind":"Namespace"`, `"name":"gpu"`, `"value":"2"`},
		{`"partition":"all"`, `"cluster":"alpha"`},
		{"could not find the metric"},
	}
	if len(blocks) != len(want) {
		t.Fatalf("the page has %d blocks, want %d", len(blocks), len(want))
	}
	for i, b := range blocks {
		if b.Place != docs.Test {
			t.Errorf("%s is run in %q", b, b.Place)
		}
		cmd := exec.CommandContext(t.Context(), "bash", "-euo", "pipefail", "-c", b.Script)
		if strings.Contains(b.Script, "2>&1 |") {
			cmd = exec.CommandContext(t.Context(), "bash", "-eu", "-c", b.Script) // kubectl fails, as the page says
		}
		cmd.Env = append(os.Environ(), "KUBECONFIG="+s.kube.Kubeconfig(),
			"PATH="+filepath.Join(s.kube.Dir, "bin")+":"+os.Getenv("PATH"))
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Errorf("%s: %v\n%s", b, err, out)
		}
		for _, text := range want[i] {
			if !strings.Contains(string(out), text) {
				t.Errorf("%s: %q is missing in %s", b, text, out)
			}
		}
	}
}
