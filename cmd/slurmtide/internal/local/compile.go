package local

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"

	"github.com/slurmtide/slurmtide/cmd/slurmtide/internal/steps"
)

// plugin is the program that extends kubectl.
const plugin = "kubectl-slurm"

// compilePrograms builds the programs of the images and the kubectl plugin, and reports the progress.
func (l *Demo) compilePrograms(ctx context.Context, report func(steps.Progress)) error {
	programs := append(programImages(), plugin)
	total := sync.OnceValue(func() int { return l.countPackages(ctx, programs) })
	compiled := 0
	build := exec.CommandContext(ctx, filepath.Join(l.repo, "hack", "images", "programs"), programs...)
	folder, err := l.runCommand(ctx, build, func(line string) {
		if strings.ContainsAny(line, " :") { // not a package name
			return
		}
		compiled++
		report(steps.Progress{Done: compiled, Total: total(),
			Text: fmt.Sprintf("%d packages compiled of %d at most", compiled, total())})
	})
	if err != nil {
		return err
	}
	return l.linkPlugin(strings.TrimSpace(folder))
}

// countPackages returns how many packages the programs consist of. It is 0 if that is unknown.
func (l *Demo) countPackages(ctx context.Context, programs []string) int {
	list := exec.CommandContext(ctx, "go", "list", "-deps")
	for _, program := range programs {
		list.Args = append(list.Args, "./cmd/"+program)
	}
	list.Env = append(os.Environ(), "CGO_ENABLED=0")
	out, err := l.runCommand(ctx, list, nil)
	if err != nil {
		return 0
	}
	return len(strings.Fields(out))
}

// linkPlugin links the kubectl plugin into the folder that the env file adds to PATH.
func (l *Demo) linkPlugin(folder string) error {
	link := filepath.Join(l.binDir(), plugin)
	if err := os.MkdirAll(l.binDir(), 0o700); err != nil {
		return fmt.Errorf("linking the kubectl plugin: %w", err)
	}
	if err := os.Remove(link); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("linking the kubectl plugin: %w", err)
	}
	return os.Symlink(filepath.Join(folder, plugin), link)
}
