//go:build e2e

package release

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/slurmtide/slurmtide/test/harness/process"
)

// host is a Debian host with systemd and Slurm that hack/host started.
type host struct{ scripts, dir string }

// startHost starts a host, which ends with the test.
func startHost(t *testing.T, slurm string) host {
	t.Helper()
	h := host{scripts: filepath.Join(moduleRoot(t), "hack", "host"), dir: filepath.Join(t.TempDir(), "host")}
	mustRun(t, filepath.Join(h.scripts, "up"), "--dir", h.dir, "--slurm", slurm, "--owner", fmt.Sprint(os.Getpid()))
	t.Cleanup(func() {
		if out, err := exec.Command(filepath.Join(h.scripts, "down"), "--dir", h.dir).CombinedOutput(); err != nil {
			t.Errorf("ending the host: %v\n%s", err, out)
		}
	})
	return h
}

// try runs a script as root with an input.
func (h host) try(input []byte, script string) (string, error) {
	cmd := exec.Command(filepath.Join(h.scripts, "run"), "--dir", h.dir,
		"env", "DEBIAN_FRONTEND=noninteractive", "bash", "-euo", "pipefail", "-c", "cd; "+script)
	cmd.Stdin = bytes.NewReader(input)
	out, err := cmd.CombinedOutput()
	return strings.TrimSpace(string(out)), err
}

// run runs a script that must succeed.
func (h host) run(t *testing.T, script string) string {
	t.Helper()
	out, err := h.try(nil, script)
	if err != nil {
		journal, _ := h.try(nil, "journalctl --no-pager -n 40")
		t.Fatalf("%v\n%s\n%s\n%s", err, script, out, journal)
	}
	return out
}

// copyIn copies a file into root's home and returns its name there.
func (h host) copyIn(t *testing.T, file string) string {
	t.Helper()
	content, err := os.ReadFile(file)
	must(t, err)
	name := filepath.Base(file)
	if out, err := h.try(content, "cat >"+name); err != nil {
		t.Fatalf("copying %s: %v\n%s", name, err, out)
	}
	return name
}

// await runs a script until its output contains a text.
func (h host) await(t *testing.T, script, want string) {
	t.Helper()
	begin := time.Now()
	process.Await(t, func() error {
		out, err := h.try(nil, script)
		if err == nil && strings.Contains(out, want) {
			return nil
		}
		journal, _ := h.try(nil, "journalctl --no-pager -n 20 -u slurm-exporter -u slurm-exporter-token")
		return fmt.Errorf("%s: %w, the output lacks %q: %.500s\n%s", script, err, want, out, journal)
	})
	t.Logf("%q after %.1f s", want, time.Since(begin).Seconds())
}
