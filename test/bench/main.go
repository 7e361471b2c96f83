// Command bench measures what the project promises: the cost of a poll for us and for slurmrestd, the duration of a
// scrape, and the exporter's memory. It prints one line per figure, NAME VALUE UNIT, and writes the latest figures to
// docs/performance.md.
//
// It is a separate module, so the libraries that it compares are not dependencies of the project.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
)

// benchmarks lists the available benchmarks in the order in which they run.
var benchmarks = []struct {
	name string
	run  func(ctx context.Context) ([]figure, error)
}{
	{"poll", benchPoll},
	{"scrape", benchScrape},
	{"memory", benchMemory},
	{"restd", benchRestd},
	{"distance", benchDistance},
	{"demand", benchDemand},
	{"adapter", benchAdapter},
	{"reaction", benchReaction},
	{"operator", benchOperator},
	{"cluster", benchCluster},
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := runBenchmarks(ctx, os.Args[1:])
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func runBenchmarks(ctx context.Context, args []string) error {
	if len(args) > 0 {
		switch args[0] { // what the benchmarks start of themselves
		case "serve":
			return serveSlurmrestd(ctx, args[1:])
		case "child":
			return runChild(ctx, args[1:])
		}
	}
	var names []string
	for _, b := range benchmarks {
		names = append(names, b.name)
	}
	for _, a := range args {
		if !slices.Contains(names, a) {
			return fmt.Errorf("there is no benchmark %q, only %s", a, strings.Join(names, ", "))
		}
	}
	var all []figure
	for _, b := range benchmarks {
		if len(args) > 0 && !slices.Contains(args, b.name) {
			continue
		}
		fmt.Fprintln(os.Stderr, "== "+b.name)
		figures, err := b.run(ctx)
		if err != nil {
			return fmt.Errorf("%s: %w", b.name, err)
		}
		if err := updateReport(b.name, figures); err != nil {
			return err
		}
		all = append(all, figures...)
	}
	for _, f := range all {
		fmt.Println(f)
	}
	return nil
}

// figure is one result.
type figure struct {
	name  string
	value float64
	unit  string
	// aim describes the wanted value; empty for figures that only inform.
	aim string
}

func (f figure) String() string {
	return fmt.Sprintf("%s %s %s", f.name, formatNumber(f.value), f.unit)
}

func formatNumber(v float64) string {
	switch {
	case v >= 100 || v == float64(int64(v)):
		return fmt.Sprintf("%.0f", v)
	case v >= 10:
		return fmt.Sprintf("%.1f", v)
	}
	return fmt.Sprintf("%.3g", v)
}

// median returns the middle of an odd number of values.
func median(values []float64) float64 {
	values = slices.Sorted(slices.Values(values))
	return values[len(values)/2]
}
