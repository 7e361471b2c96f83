//go:build e2e

package host

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/slurmtide/slurmtide/test/harness/process"
)

// host is a Debian host that hack/host started.
type host struct{ scripts, dir string }

// startHost starts a host with Slurm, which ends with the test.
func startHost(t *testing.T, release string) *host {
	t.Helper()
	root, err := process.FindModuleRoot()
	must(t, err)
	h := &host{scripts: filepath.Join(root, "hack/host"), dir: filepath.Join(t.TempDir(), "host")}
	up := exec.CommandContext(t.Context(), filepath.Join(h.scripts, "up"), //nolint:gosec // a script of ours
		"--dir", h.dir, "--slurm", release, "--owner", fmt.Sprint(os.Getpid()))
	if out, err := up.CombinedOutput(); err != nil {
		t.Fatalf("starting the host: %v\n%s", err, out)
	}
	t.Cleanup(func() {
		if out, err := exec.Command(filepath.Join(h.scripts, "down"), "--dir", h.dir).CombinedOutput(); err != nil { //nolint:gosec,noctx // the test has ended
			t.Errorf("ending the host: %v\n%s", err, out)
		}
	})
	return h
}

// run runs a script as root in root's home, and returns its output.
func (h *host) run(t *testing.T, script string) string {
	t.Helper()
	out, err := h.try(t, script)
	if err != nil {
		journal, _ := h.try(t, "journalctl --no-pager -n 60")
		t.Fatalf("%v\n%s\n%s\n%s", err, script, out, journal)
	}
	return out
}

func (h *host) try(t *testing.T, script string) (string, error) {
	t.Helper()
	return h.pipe(t, nil, script)
}

func (h *host) pipe(t *testing.T, input []byte, script string) (string, error) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), filepath.Join(h.scripts, "run"), //nolint:gosec // a script of ours
		"--dir", h.dir, "env", "DEBIAN_FRONTEND=noninteractive", "bash", "-euo", "pipefail", "-c", "cd; "+script)
	cmd.Stdin = bytes.NewReader(input)
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// copyClone copies the files of the repository that the page names, and the built exporter, to ~/slurmtide.
func (h *host) copyClone(t *testing.T) {
	t.Helper()
	folder := t.TempDir()
	must(t, os.MkdirAll(filepath.Join(folder, "slurmtide/bin"), 0o755))
	_, err := process.Build(t.Context(), filepath.Join(folder, "slurmtide/bin"), "slurm-exporter")
	must(t, err)
	tar := exec.CommandContext(t.Context(), "bash", "-euo", "pipefail", "-c", //nolint:gosec // paths of this test
		`tar -C "$1" -cf - --transform 's|^|slurmtide/|' cmd/slurm-exporter/package dashboards/rules >"$2/clone.tar"
		tar -C "$2" -rf "$2/clone.tar" slurmtide/bin`, "clone", filepath.Dir(filepath.Dir(h.scripts)), folder)
	if out, err := tar.CombinedOutput(); err != nil {
		t.Fatalf("packing the clone: %v\n%s", err, out)
	}
	content, err := os.ReadFile(filepath.Join(folder, "clone.tar"))
	must(t, err)
	if out, err := h.pipe(t, content, "tar -C /root -xf -"); err != nil {
		t.Fatalf("copying the clone: %v\n%s", err, out)
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// require fails the test if the output lacks a text.
func require(t *testing.T, what, out string, texts ...string) {
	t.Helper()
	for _, text := range texts {
		if !strings.Contains(out, text) {
			t.Errorf("%s lacks %q:\n%s", what, text, out)
		}
	}
}
