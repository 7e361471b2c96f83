package configagent

import (
	"bufio"
	"os/exec"
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

func TestKeysOfSlurmd(t *testing.T) {
	e := newEnv(t)
	e.cfg.Daemon, e.cfg.Check = KeysDaemon("slurmd"), CheckKeys
	e.agent = New(e.cfg)
	e.wantFiles("slurm.key", "a")
	checkKeys(t, e, "", "")
	e.wantFiles("slurm.key", "a", "slurm.jwks", `{"keys":[]}`, slurmconf.KeySetFile, "first*,k2\n")
	checkKeys(t, e, "first*,k2", "")
	e.wantFiles("slurm.key", "a", "slurm.jwks", "{", slurmconf.KeySetFile, "first,k2*")
	checkKeys(t, e, "first*,k2", "slurm.jwks is no JSON")
	e.wantFiles("slurm.key", "a", "slurm.jwks", `{"keys":[]}`, slurmconf.KeySetFile, "first,k2*")
	checkKeys(t, e, "first,k2*", "")
	if len(e.effects) != 2 || e.effects[0] != slurmconf.NeedsReconfigure {
		t.Errorf("slurmd was given its keys with %v", e.effects)
	}
	e.agent = New(e.cfg) // the agent starts again
	e.agent.look(t.Context())
	checkKeys(t, e, "first,k2*", "")
	if len(e.effects) != 3 {
		t.Errorf("slurmd may have older keys when the agent starts, but got them %d times", len(e.effects))
	}
}

// wantFiles writes the wanted files, given by name and content, and lets the agent look.
func (e *env) wantFiles(files ...string) {
	e.t.Helper()
	wanted := Files{}
	for i := 0; i < len(files); i += 2 {
		wanted[files[i]] = File{[]byte(files[i+1]), 0o400}
	}
	if err := WriteFiles(e.cfg.Wanted, wanted); err != nil {
		e.t.Fatal(err)
	}
	e.agent.look(e.t.Context())
}

func checkKeys(t *testing.T, e *env, keys, problem string) {
	t.Helper()
	if s := e.agent.Status(); s.Keys != keys || s.Error != problem || !e.agent.HasStarted() {
		t.Errorf("the status is %+v, want keys %q and error %q", s, keys, problem)
	}
}
