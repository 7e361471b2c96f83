package sshd

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/slurmtide/slurmtide/test/harness/process"
)

// TestKnownOptions: an sshd before 9.8 does not start with PerSourcePenalties, so it must not get it.
func TestKnownOptions(t *testing.T) {
	for _, tc := range []struct{ name, extra, sshd, want string }{
		{"known", "", "exit 0", " -o PerSourcePenalties=no"},
		{"unknown", "", "case $* in *PerSourcePenalties*) exit 255;; esac", ""},
		{"set by the user", "persourcepenalties crash:3600", "exit 0", ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			text, err := Config{Extra: tc.extra}.Render()
			if err != nil {
				t.Fatal(err)
			}
			dir := t.TempDir()
			config, program := filepath.Join(dir, "sshd_config"), filepath.Join(dir, "sshd")
			if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			if err := process.WriteProgram(program, []byte("#!/bin/sh\n"+tc.sshd+"\n")); err != nil {
				t.Fatal(err)
			}
			script := strings.ReplaceAll(KnownOptions, "/usr/sbin/sshd", program) + "known_options " + config
			out, err := exec.Command("sh", "-c", script).CombinedOutput()
			if err != nil || string(out) != tc.want {
				t.Errorf("it prints %q, %v, not %q", out, err, tc.want)
			}
		})
	}
}

// TestOptionsOfOldReleases: every other line is known to OpenSSH since 6.2, so that 8.7 (Rocky 9) starts with it.
func TestOptionsOfOldReleases(t *testing.T) {
	old := map[string]bool{"Port": true, "HostKey": true, "UsePAM": true, "AuthorizedKeysFile": true,
		"AuthorizedKeysCommand": true, "AuthorizedKeysCommandUser": true, "Subsystem": true, "AcceptEnv": true,
		"PrintMotd": true, "PidFile": true, "ClientAliveInterval": true}
	for _, o := range (Config{}).options() {
		if !old[o.Name] {
			t.Errorf("%s: note the release that introduced it, or make it one of newOptions", o.Name)
		}
	}
}
