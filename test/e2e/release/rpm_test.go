//go:build e2e

package release

import (
	"os/exec"
	"strings"
	"testing"
)

// TestPackagesOfRPM reads the packages with rpm: their checksums, files and scripts. It installs none, because it has no system with RPM.
func TestPackagesOfRPM(t *testing.T) {
	dist(t)
	if _, err := exec.LookPath("rpm"); err != nil {
		t.Skip("it needs rpm (in Debian the package rpm)")
	}
	for _, arch := range []string{"x86_64", "aarch64"} {
		exporter, plugin := onlyFile(t, "slurm-exporter-*."+arch+".rpm"), onlyFile(t, "kubectl-slurm-*."+arch+".rpm")
		for _, file := range []string{exporter, plugin} {
			mustRun(t, "rpm", "--checksig", "--nosignature", file)
		}
		checkLines(t, mustRun(t, "rpm", "--query", "--package", "--nosignature",
			"--queryformat", "[%{FILEMODES:perms} %{FILEUSERNAME} %{FILENAMES}\n]", exporter),
			"-rwxr-xr-x root /usr/bin/slurm-exporter",
			"-rw-r--r-- root /usr/lib/systemd/system/slurm-exporter.service",
			"-rw-r--r-- root /etc/default/slurm-exporter",
			"-rw------- root /etc/slurm-exporter/web.yml")
		checkLines(t, mustRun(t, "rpm", "--query", "--package", "--nosignature", "--configfiles", exporter),
			"/etc/default/slurm-exporter", "/etc/slurm-exporter/web.yml")
		checkLines(t, mustRun(t, "rpm", "--query", "--package", "--nosignature", "--scripts", exporter),
			"systemctl daemon-reload", "systemd-sysusers slurm-exporter.conf")
		checkLines(t, mustRun(t, "rpm", "--query", "--package", "--nosignature", "--list", plugin),
			"/usr/bin/kubectl-slurm", "/usr/bin/kubectl_complete-slurm")
		if scripts := mustRun(t, "rpm", "--query", "--package", "--nosignature", "--scripts", plugin); scripts != "" {
			t.Errorf("kubectl-slurm's package has scripts: %s", scripts)
		}
	}
}

// checkLines checks that a text has lines.
func checkLines(t *testing.T, text string, wanted ...string) {
	t.Helper()
	has := map[string]bool{}
	for line := range strings.Lines(text) {
		has[strings.TrimSpace(line)] = true
	}
	for _, line := range wanted {
		if !has[line] {
			t.Errorf("the line %q is missing in\n%s", line, text)
		}
	}
}
