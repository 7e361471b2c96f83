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

// compile compiles what the operator and the adapter are made of, so that one sees how
// far it is; hack/images/load then links them.
func (l *Local) compile(ctx context.Context, tell func(steps.Progress)) error {
	list := l.goTool(ctx, "list", "-deps", "-f", `{{if ne .Name "main"}}{{.ImportPath}}{{end}}`, "./cmd/slurm-operator", "./cmd/slurm-metrics-adapter")
	out, err := l.run(ctx, list, func(line string) { tell(steps.Progress{Text: line}) })
	if err != nil {
		return err
	}
	packages := strings.Fields(out)
	if len(packages) == 0 {
		return errors.New("the operator and the adapter are made of no packages")
	}
	compiled := 0
	build := l.goTool(ctx, append([]string{"build", "-v", "-buildvcs=false"}, packages...)...)
	_, err = l.run(ctx, build, func(line string) {
		if strings.ContainsAny(line, " :") { // no package's name
			return
		}
		compiled++
		tell(steps.Progress{Done: compiled, Total: len(packages), Text: fmt.Sprintf("%d packages compiled of %d at most", compiled, len(packages))})
	})
	return err
}

// goTool makes a command that builds as hack/images/load does.
func (l *Local) goTool(ctx context.Context, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	return cmd
}

// chart is the folder of a chart.
func (l *Local) chart(name string) string { return fmt.Sprintf("%s/charts/%s", l.repo, name) }
