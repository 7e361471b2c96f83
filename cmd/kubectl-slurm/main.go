// Command kubectl-slurm is a plugin of kubectl: kubectl slurm shows and explains Slurm
// on Kubernetes.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/prometheus/common/version"
	"golang.org/x/term"

	"github.com/slurmtide/slurmtide/cmd/kubectl-slurm/internal/command"
)

func main() {
	// The signals stay caught: a second one, as timeout(1) sends it, does not change the status.
	ctx, _ := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	os.Exit(run(ctx, os.Args[1:]))
}

// interrupted is the exit status that shells give for SIGINT.
const interrupted = 130

// run returns the exit status: see command.Status, and interrupted.
func run(ctx context.Context, args []string) int {
	streams := command.Streams{In: os.Stdin, Out: os.Stdout, Err: os.Stderr}
	if term.IsTerminal(int(os.Stdout.Fd())) {
		streams.Size = size
	}
	root := command.New(streams, time.Now, version.Info())
	root.SetArgs(args)
	err := command.Run(ctx, root)
	status := command.Status(err)
	if err != nil && ctx.Err() != nil {
		return interrupted
	}
	if text := command.Report(err); text != "" {
		fmt.Fprintln(os.Stderr, text)
	}
	return status
}

// size is that of the terminal; 80 columns and 24 lines where it does not tell.
func size() (columns, lines int) {
	columns, lines, err := term.GetSize(int(os.Stdout.Fd()))
	if err != nil || columns <= 0 || lines <= 0 {
		return 80, 24
	}
	return columns, lines
}
