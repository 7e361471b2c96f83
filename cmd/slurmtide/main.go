// Command slurmtide demonstrates slurmtide on one machine: jobs wait, a stock
// HorizontalPodAutoscaler starts workers, the workers run the jobs, and the NodeSets scale back to
// zero.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/slurmtide/slurmtide/cmd/internal/flags"
)

// errInterrupted is the cause of a context that a signal has cancelled.
var errInterrupted = errors.New("interrupted")

func main() {
	os.Exit(run(os.Args[1:]))
}

// run returns the exit status: 0 for success, 1 when a job was lost or a step failed, 2 for invalid
// flags, 130 after Ctrl-C.
func run(args []string) int {
	o, err := parseFlags(args)
	if err != nil {
		return flags.ReportError(os.Stderr, "slurmtide", err)
	}
	ctx, cancel := context.WithCancelCause(context.Background())
	defer cancel(nil)
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	go func() {
		<-signals
		cancel(errInterrupted)
	}()
	switch err := o.subcommand(ctx); {
	case errors.Is(err, errInterrupted):
		fmt.Fprintln(os.Stderr, "interrupted; 'make demo' continues, 'make demo-down' cleans up")
		return 130
	case err != nil:
		fmt.Fprintf(os.Stderr, "slurmtide: %v\n", err)
		return 1
	}
	return 0
}
