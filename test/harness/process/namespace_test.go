package process

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestZombiesDoNotRun(t *testing.T) {
	own, err := OpenPIDNamespace(os.Getpid())
	if err != nil {
		t.Skip("there is no /proc")
	}
	defer own.Close()
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
		if err := WriteProgram(filepath.Join(folder, name), content); err != nil {
			t.Fatal(err)
		}
	}
	// The child ends after its parent has become a program that never waits for it.
	parent := exec.Command("sh", "-c",
		`exec 3<&0; (read -r _ <&3; exec ./has-ended) & echo $!; exec "./waits (a) b" 600`)
	parent.Dir = folder
	in, err := parent.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
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
		if names := own.Programs(t); !slices.Contains(names, "waits (a) b") {
			return fmt.Errorf("the programs are %q", names)
		}
		return nil
	})
	if _, err := fmt.Fprintln(in); err != nil {
		t.Fatal(err)
	}
	status := fmt.Sprintf("/proc/%d/status", child)
	Await(t, func() error {
		text, err := os.ReadFile(status)
		if err != nil {
			t.Fatalf("the child was reaped, so the test shows nothing: %v", err)
		}
		if !strings.Contains(string(text), "State:\tZ") {
			return fmt.Errorf("the child has not ended: %s", text)
		}
		return nil
	})
	if names := own.Programs(t); slices.Contains(names, "has-ended") {
		t.Errorf("a zombie is among %q", names)
	}
}
