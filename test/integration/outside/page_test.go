//go:build e2e

package outside

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/slurmtide/slurmtide/test/harness/process"
	"github.com/slurmtide/slurmtide/test/harness/realkube"
	"github.com/slurmtide/slurmtide/tools/docs"
)

// TestRunOutside runs all blocks of docs/run-outside.md. Those with `make run-` continue beside the next ones.
func TestRunOutside(t *testing.T) {
	if missing := realkube.MissingRequirement(); missing != "" {
		t.Skip(missing)
	}
	const page = "docs/run-outside.md"
	root, err := process.FindModuleRoot()
	must(t, err)
	text, err := os.ReadFile(filepath.Join(root, page))
	must(t, err)
	blocks, err := docs.ParseBlocks(page, string(text))
	must(t, err)
	kube, err := realkube.Start(t.Context(), realkube.Config{Name: "outside"})
	must(t, err)
	t.Cleanup(func() { must(t, kube.Close()) })
	helm, err := exec.CommandContext(t.Context(), filepath.Join(root, "hack/kube/build"), "helm").Output() //nolint:gosec // a script of ours
	must(t, err)
	env := append(os.Environ(), "KUBECONFIG="+kube.Kubeconfig(), "MY_NAME=localhost", "HELM_CACHE_HOME="+t.TempDir(),
		"PATH="+filepath.Join(kube.Dir, "bin")+":"+strings.TrimSpace(string(helm))+":"+os.Getenv("PATH"))
	begin, ran := time.Now(), 0
	for _, b := range blocks {
		if b.Test != t.Name() {
			t.Errorf("%s is run in %q", b, b.Place)
		}
		cmd := exec.CommandContext(t.Context(), "bash", "-euo", "pipefail", "-c", b.Script) //nolint:gosec // a page of ours
		cmd.Dir, cmd.Env = root, env
		if strings.HasPrefix(b.Script, "make run-") {
			startBeside(t, cmd, portOf(b.Script))
			ran++
			continue
		}
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%s: %v\n%s\n%s", b, err, b.Script, out)
		}
		t.Logf("%s: ok\n%s", b, out)
	}
	if ran != 2 {
		t.Errorf("%d programs ran, want operator and adapter", ran)
	}
	t.Logf("%s: %.1f minutes", page, time.Since(begin).Minutes())
}

// portOf returns where the program of the block answers.
func portOf(script string) string {
	if strings.Contains(script, "run-operator") {
		return "127.0.0.1:8081"
	}
	return "127.0.0.1:9341"
}

// startBeside starts a program that runs until the test ends, and waits until it is ready.
func startBeside(t *testing.T, cmd *exec.Cmd, address string) {
	t.Helper()
	var log lockedBuffer
	cmd.Stdout, cmd.Stderr = &log, &log
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	must(t, cmd.Start())
	t.Cleanup(func() {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // make, and the program
		_ = cmd.Wait()
		if t.Failed() {
			t.Logf("%s:\n%s", cmd.Args[len(cmd.Args)-1], log.String())
		}
	})
	ready := map[string]string{"127.0.0.1:8081": "/readyz"}[address]
	if ready == "" {
		ready = "/-/ready"
	}
	process.AwaitValue(t, "the program", "ready", func(context.Context) (string, error) {
		if err := process.CheckOK("http://" + address + ready); err != nil {
			return err.Error(), fmt.Errorf("asking the program: %w", err)
		}
		return "ready", nil
	})
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// lockedBuffer is a buffer for a running program's output.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}
