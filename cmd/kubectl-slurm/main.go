// Command kubectl-slurm is a kubectl plugin: kubectl slurm shows and explains Slurm on Kubernetes.
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
	// Signals stay caught: a second one, such as from timeout(1), does not change the exit status.
	ctx, _ := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	os.Exit(run(ctx, os.Args[1:]))
}

// exitInterrupted is the exit status that shells use for SIGINT.
const exitInterrupted = 130

// run returns the exit status: see command.ExitStatus and exitInterrupted.
func run(ctx context.Context, args []string) int {
	streams := command.Streams{In: os.Stdin, Out: os.Stdout, Err: os.Stderr}
	if term.IsTerminal(int(os.Stdout.Fd())) {
		streams.Size = terminalSize
		if term.IsTerminal(int(os.Stdin.Fd())) {
			streams.Terminal = rawTerminal
		}
		streams.Color = os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
	}
	root := command.New(streams, time.Now, version.Info())
	root.SetArgs(args)
	err := command.Run(ctx, root)
	status := command.ExitStatus(err)
	if err != nil && ctx.Err() != nil {
		return exitInterrupted
	}
	if text := command.ErrorText(err); text != "" {
		fmt.Fprintln(os.Stderr, text)
	}
	return status
}

// terminalSize returns the size of the terminal, 80 columns and 24 lines if it is unknown.
func terminalSize() (columns, lines int) {
	columns, lines, err := term.GetSize(int(os.Stdout.Fd()))
	if err != nil || columns <= 0 || lines <= 0 {
		return 80, 24
	}
	return columns, lines
}
