//go:build e2e

package charts

import (
	"path/filepath"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// lacking lists words of a chart's notes that appear only before a version of Kubernetes.
var lacking = []struct {
	chart, values string
	before        int // the minor version that has it
	words         string
}{
	{"slurm", "full", 37, "Before Kubernetes 1.37 HPAs do not scale to zero"},
	{"slurm", "full", 35, "Before Kubernetes 1.35 HPAs ignore differences below 10 %"},
	{"slurm-stack", "minimal", 37, "Before Kubernetes 1.37 HPAs do not scale to zero"},
	{"slurm-stack", "minimal", 35, "Before Kubernetes 1.35 HPAs ignore differences below 10 %"},
	{"slurm-flux", "no-removal", 37, "Before Kubernetes 1.37 HPAs do not scale to zero"},
	{"slurm-flux", "no-removal", 35, "Before 1.35 HPAs ignore differences below 10 %"},
	{"slurm-metrics", "minimal", 37, "Before Kubernetes 1.37 an HPA needs minReplicas: 1"},
	{"slurm-metrics", "minimal", 35, "Before 1.35 an HPA has no tolerance"},
	{"slurm-operator", "minimal", 30, "Before Kubernetes 1.30 every write of an object validates all its fields"},
	{"slurm-operator", "minimal", 29, "WARNING: before Kubernetes 1.29 there are no sidecar containers"},
}

// TestNotesSayWhatAnOldKubernetesLacks renders the notes for each version that a chart supports.
func TestNotesSayWhatAnOldKubernetesLacks(t *testing.T) {
	for _, v := range kubeVersions {
		notes := map[string]string{}
		for _, l := range lacking {
			if minorOf(t, v.kube) < minorOf(t, firstKubeVersion(t, l.chart)) {
				continue
			}
			if notes[l.chart] == "" {
				notes[l.chart] = renderNotes(t, l.chart, l.values, v.kube)
			}
			want := minorOf(t, v.kube) < l.before
			if strings.Contains(notes[l.chart], l.words) != want {
				t.Errorf("%s on %s: the notes say %q: %t, want %t:\n%s", l.chart, v.kube, l.words, !want, want, notes[l.chart])
			}
		}
	}
}

// TestNotesOfAnotherClusterSayNothingOfThisKubernetes renders the notes of slurm-flux for a tenant, whose Kubernetes is not the one of the
// notes.
func TestNotesOfAnotherClusterSayNothingOfThisKubernetes(t *testing.T) {
	if notes := renderNotes(t, "slurm-flux", "tenant", "1.29"); strings.Contains(notes, "Before Kubernetes") {
		t.Errorf("the notes describe the Kubernetes of the management cluster:\n%s", notes)
	}
}

// renderNotes renders the notes of a chart for a version of Kubernetes. Helm prints them only when it installs, so a copy
// of the chart has them in an object.
func renderNotes(t *testing.T, chart, values, kube string, args ...string) string {
	t.Helper()
	dir := copyWithNotes(t, chart)
	args = append([]string{"--values", filepath.Join("testdata", chart, values+".values.yaml"),
		"--kube-version", kube + ".0", "--show-only", "templates/notes-of-test.yaml"}, args...)
	text := mustRun(t)(renderFolder(t, "test", "slurm", dir, args...))
	var out struct{ Notes string }
	if err := yaml.Unmarshal([]byte(text), &out); err != nil || out.Notes == "" {
		t.Fatalf("no notes of %s: %v\n%s", chart, err, text)
	}
	return out.Notes
}
