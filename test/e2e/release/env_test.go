//go:build e2e

package release

import (
	"context"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/slurmtide/slurmtide/test/harness/process"
)

var (
	long   = flag.Bool("long", false, "install from a release")
	folder = flag.String("dist", "", "folder of the release; without it the test makes one for Linux")
)

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// moduleRoot returns the folder of the repository.
func moduleRoot(t *testing.T) string {
	t.Helper()
	root, err := process.FindModuleRoot()
	must(t, err)
	return root
}

// cacheFolder returns the folder for things that are built once.
func cacheFolder(t *testing.T) string {
	t.Helper()
	user, err := os.UserCacheDir()
	must(t, err)
	return filepath.Join(user, "slurmtide", "release")
}

// makeRelease makes a release for Linux, without images of another architecture's daemons, once.
var makeRelease = sync.OnceValues(func() (string, error) {
	root, err := process.FindModuleRoot()
	if err != nil {
		return "", err
	}
	cmd := exec.Command("make", "release", "ARGS=--os linux --arch amd64")
	cmd.Dir = root
	cmd.Stdout, cmd.Stderr = os.Stderr, os.Stderr
	return filepath.Join(root, "dist"), cmd.Run()
})

// dist returns the folder of the release.
func dist(t *testing.T) string {
	t.Helper()
	if !*long {
		t.Skip("it takes minutes, run it with -long")
	}
	if *folder != "" {
		return *folder
	}
	made, err := makeRelease()
	must(t, err)
	return made
}

// onlyFile returns the path of the one file of the release that matches a pattern.
func onlyFile(t *testing.T, pattern string) string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(dist(t), pattern))
	if err != nil || len(found) != 1 {
		t.Fatalf("the release has %v for %s, %v, want one file", found, pattern, err)
	}
	return found[0]
}

// output runs a command and returns its output and errors.
func output(ctx context.Context, name string, args ...string) (string, error) {
	out, err := exec.CommandContext(ctx, name, args...).CombinedOutput()
	return strings.TrimSpace(string(out)), err
}

// mustRun runs a command that must succeed.
func mustRun(t *testing.T, name string, args ...string) string {
	t.Helper()
	out, err := output(t.Context(), name, args...)
	if err != nil {
		t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, out)
	}
	return out
}

// compile compiles a program from a module below hack/release, once.
func compile(t *testing.T, module, pkg string) string {
	t.Helper()
	program := filepath.Join(cacheFolder(t), module)
	cmd := exec.CommandContext(t.Context(), "go", "build", "-ldflags=-s -w", "-o", program, pkg)
	cmd.Dir = filepath.Join(moduleRoot(t), "hack", "release", module)
	cmd.Env = append(cmd.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("compiling %s: %v\n%s", pkg, err, out)
	}
	return program
}
