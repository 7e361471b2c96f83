// Command run runs the blocks of commands on the project's pages that are marked with a place. It
// is started in the root of the repository:
//
//	go run ./tools/docs/run [-after COMMAND] here|kube|demo
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/slurmtide/slurmtide/tools/docs"
)

// blockTimeout is the time limit of a block.
const blockTimeout = 10 * time.Minute

func main() {
	after := flag.String("after", "", "a command that clears up after each block")
	flag.Parse()
	if err := runBlocks(docs.Place(flag.Arg(0)), *after); err != nil {
		fmt.Fprintln(os.Stderr, "run:", err)
		os.Exit(1)
	}
}

func runBlocks(place docs.Place, after string) error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if !slices.Contains([]docs.Place{docs.Here, docs.Kube, docs.Demo}, place) {
		return fmt.Errorf("no such place: %q", place)
	}
	pages, err := docs.ListPages(ctx, ".")
	if err != nil {
		return err
	}
	var failed []string
	count := 0
	for _, page := range pages {
		text, err := os.ReadFile(page)
		if err != nil {
			return err
		}
		blocks, err := docs.ParseBlocks(page, string(text))
		if err != nil {
			return err
		}
		for _, b := range blocks {
			if b.Place != place {
				continue
			}
			count++
			if err := runBlock(ctx, b, after); err != nil {
				failed = append(failed, b.String())
			}
		}
	}
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case count == 0:
		return fmt.Errorf("no page has a block for place %s", place)
	case len(failed) > 0:
		return fmt.Errorf("%d of %d blocks failed: %s", len(failed), count, strings.Join(failed, ", "))
	}
	fmt.Printf("%d blocks were run\n", count)
	return nil
}

// runBlock runs a block and prints the result, with the block's output only if it failed.
func runBlock(ctx context.Context, b docs.Block, after string) error {
	begin := time.Now()
	out, err := runShell(ctx, docs.BoundWatches(b.Script))
	if err != nil {
		fmt.Printf("%s: %v\n%s\n", b, err, out)
	} else {
		fmt.Printf("%s: ok after %.1f s\n", b, time.Since(begin).Seconds())
	}
	if after != "" {
		if out, afterErr := runShell(ctx, after); afterErr != nil {
			return errors.Join(err, fmt.Errorf("cleaning up after %s: %w\n%s", b, afterErr, out))
		}
	}
	return err
}

func runShell(ctx context.Context, script string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, blockTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, "bash", "-euo", "pipefail", "-c", script)
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = 10 * time.Second
	out, err := cmd.CombinedOutput()
	return string(out), err
}
