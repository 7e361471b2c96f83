// Command slurmtide shows the whole of slurmtide on one machine: jobs wait, a stock
// HorizontalPodAutoscaler starts workers, they run the jobs, and all is at zero again.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"
)

// errInterrupted is the cause of a context that a signal has ended.
var errInterrupted = errors.New("interrupted")

func main() {
	os.Exit(run(os.Args[1:]))
}

// run returns the exit status: 0 when all went well, 1 when something was lost or could
// not be done, 2 for flags that make no sense, 130 after Ctrl-C.
func run(args []string) int {
	o, err := parse(args)
	if err != nil {
		fmt.Fprintf(os.Stderr, "slurmtide: %v\nslurmtide: --help lists the flags\n", err)
		return 2
	}
	ctx, cancel := context.WithCancelCause(context.Background())
	defer cancel(nil)
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	go func() {
		<-signals
		cancel(errInterrupted)
	}()
	switch err := o.do(ctx); {
	case errors.Is(err, errInterrupted):
		fmt.Fprintln(os.Stderr, "interrupted; 'make demo-down' clears up, 'make demo' goes on")
		return 130
	case err != nil:
		fmt.Fprintf(os.Stderr, "slurmtide: %v\n", err)
		return 1
	}
	return 0
}
