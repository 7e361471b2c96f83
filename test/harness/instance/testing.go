package instance

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/slurmtide/slurmtide/test/harness/process"
)

// CheckEndsWithOwner fails unless a cluster, started with the flags, ends with the process that owns
// it. daemon is one of the cluster's daemons.
func CheckEndsWithOwner(t *testing.T, kind, daemon string, flags ...string) {
	t.Helper()
	owner := exec.CommandContext(t.Context(), "sleep", "600")
	must(t, owner.Start())
	t.Cleanup(func() {
		_ = owner.Process.Kill()
		_ = owner.Wait()
	})
	i, err := Prepare(kind)
	must(t, err)
	t.Cleanup(func() { must(t, i.Close()) })
	_, err = i.up(t.Context(), owner.Process.Pid, flags)
	must(t, err)
	namespace, err := i.PIDNamespace(t.Context(), daemon)
	must(t, err)
	defer namespace.Close()
	must(t, owner.Process.Kill())
	_ = owner.Wait()
	process.Await(t, func() error {
		if names := namespace.Programs(t); len(names) > 0 {
			return fmt.Errorf("processes are left: %v", names)
		}
		return nil
	})
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// Refusal is a wrong command line of a script, such as "up --name Dev", and the line that the script
// prints about it.
type Refusal struct{ Name, Command, Want string }

// CheckRefusals fails unless each script of a kind reports a wrong command line in one line. It skips
// the test on a machine without bash.
func CheckRefusals(t *testing.T, kind string, refusals []Refusal) {
	t.Helper()
	scripts, err := ScriptsDir(kind)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := exec.LookPath("bash"); err != nil {
		t.Skip("bash is not installed")
	}
	for _, r := range refusals {
		t.Run(r.Name, func(t *testing.T) {
			words := strings.Fields(r.Command)
			out, err := exec.CommandContext(t.Context(), filepath.Join(scripts, words[0]), words[1:]...).CombinedOutput()
			if err == nil {
				t.Errorf("%s succeeded", r.Command)
			}
			if string(out) != r.Want+"\n" {
				t.Errorf("%s printed %q, want %q", r.Command, out, r.Want+"\n")
			}
		})
	}
}
