package daemon

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/slurmtide/slurmtide/operator/slurmconf"
)

// startFakeDaemon starts the test's program under a name and returns its process id and its output.
func startFakeDaemon(t *testing.T, name string) (int, *bufio.Scanner) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "/proc/self/exe")
	cmd.Args = []string{"/usr/sbin/" + name}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill() // it may have ended
		_ = cmd.Wait()
	})
	lines := bufio.NewScanner(out)
	if !lines.Scan() || lines.Text() != "started" {
		t.Fatalf("the daemon says %q", lines.Text())
	}
	return cmd.Process.Pid, lines
}

func TestReloadReturnsWhenTheDaemonHasExecutedItself(t *testing.T) {
	_, lines := startFakeDaemon(t, "fake-daemon-1")
	reloader := Reloader{Daemon: "fake-daemon-1", Proc: "/proc", Timeout: 20 * time.Second}
	for _, effect := range []slurmconf.Effect{slurmconf.NoEffect, slurmconf.NeedsReconfigure} {
		if err := reloader.Apply(t.Context(), effect); err != nil {
			t.Fatal(err)
		}
	}
	if !lines.Scan() || lines.Text() != "started" {
		t.Errorf("the daemon says %q", lines.Text())
	}
}

func TestADaemonThatIgnoresSIGHUPIsReported(t *testing.T) {
	startFakeDaemon(t, "fake-daemon-deaf")
	reloader := Reloader{Daemon: "fake-daemon-deaf", Proc: "/proc", Timeout: 100 * time.Millisecond}
	err := reloader.Apply(t.Context(), slurmconf.NeedsReconfigure)
	if err == nil || !strings.Contains(err.Error(), "has not read its keys again") {
		t.Errorf("the error is %v", err)
	}
}

func TestADaemonThatIsStillStartingIsLeftAlone(t *testing.T) {
	pid, _ := startFakeDaemon(t, "fake-daemon-starting")
	reloader := Reloader{Daemon: "fake-daemon-starting", Proc: "/proc", Timeout: 100 * time.Millisecond}
	err := reloader.Apply(t.Context(), slurmconf.NeedsReconfigure)
	if err == nil || !strings.Contains(err.Error(), "does not heed SIGHUP yet") || !isAlive(pid) {
		t.Errorf("the error is %v", err)
	}
}

func TestADaemonThatDoesNotRunReadsItsKeysAtItsStart(t *testing.T) {
	reloader := Reloader{Daemon: "no-daemon", Proc: "/proc", Timeout: time.Second}
	if err := reloader.Apply(t.Context(), slurmconf.NeedsRestart); err != nil {
		t.Error(err)
	}
}

func TestHasSteps(t *testing.T) {
	for _, tc := range []struct {
		name, cmdline string
		want          bool
	}{
		{"a batch step", "slurmstepd: [17.batch]\x00", true},
		{"what PrologFlags=Contain starts", "slurmstepd: [17.extern]\x00", false},
		{"a shell of salloc", "slurmstepd: [17.interactive]\x00", true},
		{"a session", "sshd-session: ada@pts/0\x00", true},
		{"a session of OpenSSH before 9.8", "sshd: ada@notty\x00", true},
		{"a listener", "sshd: /usr/sbin/sshd -D [listener] 0 of 10-100 startups\x00", false},
		{"a login", "sshd-session: [accepted]\x00", false},
		{"a step that starts", "/usr/sbin/slurmstepd\x00", true},
		{"the keeper of a cgroup", "/usr/sbin/slurmstepd\x00infinity\x00", false},
		{"slurmd", "slurmd\x00-D\x00", false},
		{"a shell that names one", "sh\x00-c\x00slurmstepd\x00", false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			proc := t.TempDir()
			if err := os.MkdirAll(filepath.Join(proc, "12"), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(proc, "12", "cmdline"), []byte(tc.cmdline), 0o644); err != nil {
				t.Fatal(err)
			}
			if got, err := (Reloader{Proc: proc}).HasSteps(); got != tc.want || err != nil {
				t.Errorf("HasSteps = %t, %v, want %t", got, err, tc.want)
			}
		})
	}
	if _, err := (Reloader{Proc: "/nonexistent"}).HasSteps(); err == nil {
		t.Error("an unreadable /proc has no error")
	}
}
