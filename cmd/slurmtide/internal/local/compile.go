package local

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"

	"github.com/slurmtide/slurmtide/cmd/slurmtide/internal/steps"
)

// compilePackages compiles the packages of the operator and the adapter and reports the progress.
// hack/images/load links them later.
func (l *Demo) compilePackages(ctx context.Context, report func(steps.Progress)) error {
	list := l.goTool(ctx, "list", "-deps", "-f", `{{if ne .Name "main"}}{{.ImportPath}}{{end}}`,
		"./cmd/slurm-operator", "./cmd/slurm-metrics-adapter")
	out, err := l.runCommand(ctx, list, func(line string) { report(steps.Progress{Text: line}) })
	if err != nil {
		return err
	}
	packages := strings.Fields(out)
	if len(packages) == 0 {
		return errors.New("go list found no packages of the operator and the adapter")
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
	return err
}

// goTool returns a go command with the build environment of hack/images/load.
func (l *Demo) goTool(ctx context.Context, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	return cmd
}

// chartDir returns the folder of a chart.
func (l *Demo) chartDir(name string) string { return fmt.Sprintf("%s/charts/%s", l.repo, name) }
