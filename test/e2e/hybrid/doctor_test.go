//go:build e2e

package hybrid

import (
	"encoding/json"
	"os"
	"os/exec"
	"slices"
	"testing"

	"github.com/slurmtide/slurmtide/test/harness/process"
)

// hybridFindings are the findings of the doctor that docs/hybrid.md lists.
var hybridFindings = []string{"HostUnreachable", "AddressNotServed", "PortDiffers", "SourceAddressLost",
	"ServiceUnresolved"}

// buildPlugin builds the plugin and returns its path.
func buildPlugin(t *testing.T) string {
	t.Helper()
	program, err := process.Build(t.Context(), t.TempDir(), "kubectl-slurm")
	must(t, err)
	return program
}

// checkDoctor checks which of these findings the doctor reports in the namespace.
func (e *env) checkDoctor(want ...string) {
	e.Helper()
	doctor := exec.CommandContext(e.Context(), e.plugin, "doctor", "--namespace", e.namespace, "--output", "json")
	doctor.Env = append(os.Environ(), "KUBECONFIG="+e.kube.Kubeconfig(), "NO_PROXY="+e.kube.HostAddress)
	text, err := doctor.Output() // its exit status is 1 if it finds any problem, such as a missing adapter
	var report struct {
		Findings []struct{ Code, Problem string }
	}
	if json.Unmarshal(text, &report) != nil {
		e.Fatalf("the doctor says %q, %v", text, err)
	}
	var got []string
	for _, f := range report.Findings {
		if slices.Contains(hybridFindings, f.Code) {
			got = append(got, f.Code)
			e.Logf("the doctor: %s: %s", f.Code, f.Problem)
		}
	}
	if !slices.Equal(got, want) {
		e.Errorf("the doctor finds %v, not %v", got, want)
	}
}
