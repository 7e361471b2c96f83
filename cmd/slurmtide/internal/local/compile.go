package local

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/slurmtide/slurmtide/cmd/slurmtide/internal/steps"
)

// compilePrograms compiles the packages of all programs, reports the progress, and links the kubectl plugin.
// hack/images/load links the others later.
func (l *Demo) compilePrograms(ctx context.Context, report func(steps.Progress)) error {
	list := []string{"list", "-deps", "-f", `{{if ne .Name "main"}}{{.ImportPath}}{{end}}`, pluginPackage}
	for _, program := range programImages() {
		list = append(list, "./cmd/"+program)
	}
	out, err := l.runCommand(ctx, l.goTool(ctx, list...), func(line string) { report(steps.Progress{Text: line}) })
	if err != nil {
		return err
	}
	packages := strings.Fields(out)
	if len(packages) == 0 {
		return errors.New("go list found no packages of the programs")
	}
	compiled := 0
	build := l.goTool(ctx, append([]string{"build", "-v", "-buildvcs=false"}, packages...)...)
	_, err = l.runCommand(ctx, build, func(line string) {
		if strings.ContainsAny(line, " :") { // not a package name
			return
		}
		compiled++
		report(steps.Progress{Done: compiled, Total: len(packages),
			Text: fmt.Sprintf("%d packages compiled of %d at most", compiled, len(packages))})
	})
	if err != nil {
		return err
	}
	return l.linkPlugin(ctx)
}

// pluginPackage is the package of the kubectl plugin.
const pluginPackage = "./cmd/kubectl-slurm"

// linkPlugin puts the kubectl plugin into the folder that the env file adds to PATH.
func (l *Demo) linkPlugin(ctx context.Context) error {
	link := l.goTool(ctx, "build", "-buildvcs=false", "-ldflags", "-s -w", "-o",
		filepath.Join(l.binDir(), "kubectl-slurm"), pluginPackage)
	_, err := l.runCommand(ctx, link, nil)
	return err
}

// goTool returns a go command with the build environment of hack/images/load.
func (l *Demo) goTool(ctx context.Context, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	return cmd
}
