//go:build e2e

package release

import (
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestPluginByKrew installs, upgrades and removes the plugin with krew's client, from an index on this machine.
func TestPluginByKrew(t *testing.T) {
	manifest, err := os.ReadFile(onlyFile(t, "slurm.yaml"))
	must(t, err)
	krew := compile(t, "krew", "sigs.k8s.io/krew/cmd/krew")
	server := httptest.NewServer(http.FileServer(http.Dir(dist(t))))
	defer server.Close()
	home := t.TempDir()
	index := filepath.Join(home, "index")
	must(t, os.MkdirAll(filepath.Join(index, "plugins"), 0o755))
	version := "v" + releaseVersion(t)
	text := strings.ReplaceAll(string(manifest), "https://github.com/slurmtide/slurmtide/releases/download/"+version, server.URL)
	must(t, os.WriteFile(filepath.Join(index, "plugins", "slurm.yaml"), []byte(text), 0o644))
	for _, words := range [][]string{{"init", "-q"}, {"add", "."},
		{"-c", "user.name=test", "-c", "user.email=test@example.com", "commit", "-q", "-m", "slurm"}} {
		mustRun(t, "git", append([]string{"-C", index}, words...)...)
	}
	run := func(words ...string) string {
		cmd := exec.CommandContext(t.Context(), krew, words...)
		cmd.Env = append(os.Environ(), "KREW_ROOT="+filepath.Join(home, "krew"), "KREW_NO_UPGRADE_CHECK=1")
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("krew %s: %v\n%s", strings.Join(words, " "), err, out)
		}
		return string(out)
	}
	run("index", "add", "local", "file://"+index)
	if out := run("search", "slurm"); !strings.Contains(out, "Show and explain Slurm clusters") {
		t.Errorf("krew search prints %q", out)
	}
	run("install", "local/slurm")
	plugin := filepath.Join(home, "krew", "bin", "kubectl-slurm")
	if out := mustRun(t, plugin, "--help"); !strings.Contains(out, "kubectl slurm") {
		t.Errorf("the plugin prints %q", out)
	}
	if out := run("list"); !strings.Contains(out, "slurm") {
		t.Errorf("krew list prints %q, want slurm", out)
	}
	run("uninstall", "slurm")
	if _, err := os.Lstat(plugin); !os.IsNotExist(err) {
		t.Errorf("the plugin is still there: %v", err)
	}
}

// releaseVersion returns the version of the release.
func releaseVersion(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(onlyFile(t, "VERSION"))
	must(t, err)
	return strings.TrimSpace(string(text))
}
