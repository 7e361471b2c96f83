package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// runPackageScript runs a script of the package slurm-exporter on a host whose folders are in a temporary one. Its systemctl notes its
// arguments, and fails if it is told to. It returns the arguments, or an error with what the script printed.
func runPackageScript(t *testing.T, host, name, argument, fails string) (asked, printed string, err error) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("packages/slurm-exporter", name))
	if err != nil {
		t.Fatal(err)
	}
	for _, folder := range []string{"/run/systemd/system", "/run/slurm-exporter", "/etc/slurm-exporter"} {
		text = []byte(strings.ReplaceAll(string(text), folder, host+folder))
	}
	bin := t.TempDir()
	record := filepath.Join(bin, "record")
	for _, program := range []string{"systemctl", "systemd-sysusers"} {
		stand := "#!/bin/sh\necho " + program + " \"$@\" >>" + record + "\ncase \"$1\" in " + fails + ") exit 1 ;; esac\n"
		if err := os.WriteFile(filepath.Join(bin, program), []byte(stand), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.CommandContext(t.Context(), "sh", "-c", string(text), name, argument)
	cmd.Env = []string{"PATH=" + bin + ":" + os.Getenv("PATH")}
	out, err := cmd.CombinedOutput()
	noted, _ := os.ReadFile(record)
	return string(noted), string(out), err
}

// newPackageHost returns a host on which the package is installed and systemd runs.
func newPackageHost(t *testing.T) string {
	t.Helper()
	host := t.TempDir()
	for _, folder := range []string{"/run/systemd/system", "/run/slurm-exporter", "/etc/slurm-exporter"} {
		if err := os.MkdirAll(host+folder, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return host
}

func TestPackageScripts(t *testing.T) {
	const stop = "systemctl disable --now slurm-exporter.service slurm-exporter-token.timer slurm-exporter-token.service\n"
	const restart = "systemctl daemon-reload\nsystemctl try-restart slurm-exporter.service slurm-exporter-token.timer\n"
	for _, tc := range []struct {
		name, script, argument, fails string
		want, wantText                string
		token, settings               bool // whether the folders stay
	}{
		{"dpkg installs", "postinstall", "configure", "-", "systemd-sysusers slurm-exporter.conf\n" + restart, "", true, true},
		{"rpm upgrades", "postinstall", "2", "-", "systemd-sysusers slurm-exporter.conf\n" + restart, "", true, true},
		{"dpkg takes a removal back", "postinstall", "abort-remove", "-", "", "", true, true},
		{"the exporter does not start again", "postinstall", "configure", "try-restart",
			"systemd-sysusers slurm-exporter.conf\n" + restart, "journalctl -u slurm-exporter", true, true},
		{"systemd does not answer", "postinstall", "configure", "daemon-reload|try-restart",
			"systemd-sysusers slurm-exporter.conf\n" + restart, "journalctl -u slurm-exporter", true, true},
		{"dpkg removes", "preremove", "remove", "-", stop, "", false, true},
		{"rpm removes", "preremove", "0", "-", stop, "", false, true},
		{"a unit that is masked is removed", "preremove", "remove", "disable", stop, "", false, true},
		{"dpkg upgrades", "preremove", "upgrade", "-", "", "", true, true},
		{"rpm upgrades and removes the old files", "preremove", "1", "-", "", "", true, true},
		{"dpkg has removed", "postremove", "remove", "-", "systemctl daemon-reload\n", "", true, true},
		{"dpkg purges", "postremove", "purge", "-", "systemctl daemon-reload\n", "", true, false},
		{"dpkg purges, and systemd does not answer", "postremove", "purge", "daemon-reload", "systemctl daemon-reload\n", "", true, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			host := newPackageHost(t)
			asked, printed, err := runPackageScript(t, host, tc.script, tc.argument, tc.fails)
			if err != nil || asked != tc.want || !strings.Contains(printed, tc.wantText) {
				t.Errorf("it ends with %v, asks\n%sand prints %q, want\n%sand %q", err, asked, printed, tc.want, tc.wantText)
			}
			for folder, stays := range map[string]bool{"/run/slurm-exporter": tc.token, "/etc/slurm-exporter": tc.settings} {
				if _, err := os.Stat(host + folder); (err == nil) != stays {
					t.Errorf("%s: %v", folder, err)
				}
			}
		})
	}
}
