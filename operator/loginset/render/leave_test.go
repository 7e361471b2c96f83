package render

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// TestLeaveCountsSessions of releases of OpenSSH before and after 9.8, which differ in the titles of processes.
func TestLeaveCountsSessions(t *testing.T) {
	const head = "  sl  local_address rem_address   st tx_queue rx_queue\n"
	const listens = head + "   0: 00000000:0016 00000000:0000 0A 00000000:00000000 00:00000000 00000000\n"
	for _, tc := range []struct {
		name   string
		titles []string
		tcp    string
		want   bool
	}{
		{"nobody, 9.2", []string{"sshd: /usr/sbin/sshd -D -e -f /etc/sshd_config [listener] 0 of 10-100 startups"}, listens, false},
		{"nobody, 10.0", []string{"sshd: /usr/sbin/sshd -D -e [listener] 0 of 10-100 startups", "sh"}, listens, false},
		{"a terminal, 9.2", []string{"sshd: alice [priv]", "sshd: alice@pts/0"}, listens, true},
		{"a command, 9.2", []string{"sshd: alice@notty"}, listens, true},
		{"forwarded ports, 9.2", []string{"sshd: alice"}, listens, true},
		{"not logged in, 9.2", []string{"sshd: alice [priv]", "sshd: alice [net]", "sshd: [accepted]"}, listens, false},
		{"a terminal, 10.0", []string{"sshd-session: alice [priv]", "sshd-session: alice@pts/0"}, listens, true},
		{"not logged in, 10.0", []string{"sshd-session: alice [priv]", "sshd-session: [accepted]"}, listens, false},
		{"an open connection", nil, listens + "   1: 0100007F:0016 0100007F:EC0A 01 00000000:00000000\n", true},
		{"a connection of another port", nil, listens + "   1: 0100007F:1F90 0100007F:0016 01 00000000:00000000\n", false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			proc := t.TempDir()
			files := map[string]string{"net/tcp": tc.tcp}
			for i, title := range tc.titles {
				files[strconv.Itoa(i+1)+"/cmdline"] = title + "\x00\x00\x00"
			}
			for name, text := range files {
				path := filepath.Join(proc, name)
				if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			functions, _, found := strings.Cut(leaveScript, "\nend=")
			if !found {
				t.Fatal("the script does not set end after its functions")
			}
			err := exec.Command("sh", "-c", functions+"\nhas_sessions", "leave.sh", "60", proc).Run()
			if got := err == nil; got != tc.want {
				t.Errorf("has_sessions: %t, %v", got, err)
			}
		})
	}
}
