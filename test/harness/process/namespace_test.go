package process

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
)

func TestZombiesDoNotRun(t *testing.T) {
	own, err := os.Readlink("/proc/self/ns/pid")
	if err != nil {
		t.Skip("there is no /proc")
	}
	folder := t.TempDir()
	for name, program := range map[string]string{"waits (a) b": "sleep", "has-ended": "true"} {
		path, err := exec.LookPath(program)
		if err != nil {
			t.Fatal(err)
		}
		content, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(folder, name), content, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	// The parent of has-ended becomes a program that never waits for it.
	parent := exec.Command("sh", "-c", `./has-ended & echo $!; exec "./waits (a) b" 600`)
	parent.Dir = folder
	out, err := parent.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := parent.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		parent.Process.Kill()
		parent.Wait()
	})
	var child int
	if _, err := fmt.Fscan(out, &child); err != nil {
		t.Fatal(err)
	}
	Await(t, func() error {
		names := NamesIn(t, own)
		if _, err := os.Stat(fmt.Sprintf("/proc/%d", child)); err != nil {
			t.Fatalf("the child was reaped, so the test shows nothing: %v", err)
		}
		if !slices.Contains(names, "waits (a) b") || slices.Contains(names, "has-ended") {
			return fmt.Errorf("the programs are %q", names)
		}
		return nil
	})
}
