package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/slurmtide/slurmtide/cmd/slurmtide/internal/burst"
	"github.com/slurmtide/slurmtide/cmd/slurmtide/internal/local"
	"github.com/slurmtide/slurmtide/cmd/slurmtide/internal/play"
	"github.com/slurmtide/slurmtide/cmd/slurmtide/internal/show"
	"github.com/slurmtide/slurmtide/cmd/slurmtide/internal/steps"
)

const (
	cpuMax = 6
	gpuMax = 2
)

// run puts up the demo and plays it once.
func (o *options) run(ctx context.Context) error {
	release, err := o.lock()
	if err != nil {
		return err
	}
	defer release()
	demo := local.New(o.repo, o.dir,
		local.NodeSet{Name: "cpu", ExtraConf: "CPUs=2 RealMemory=500", Max: cpuMax},
		local.NodeSet{Name: "gpu", ExtraConf: "CPUs=2 RealMemory=500 Gres=gpu:h100:2", Max: gpuMax})
	defer demo.Close()
	plain := show.NewPlain(os.Stdout, time.Now)
	if err := steps.Run(ctx, time.Now, demo.Steps(), plain.Steps); err != nil {
		return err
	}
	result, err := play.Run(ctx, demo, play.Config{
		Shapes: burst.Shapes(cpuMax), Pause: 500 * time.Millisecond, Calm: 3 * time.Second, Limit: 5 * time.Minute, Show: plain.Play,
	})
	if err != nil {
		return err
	}
	fmt.Print(show.Summary(result))
	return result.Verdict()
}

// down ends the demo and removes its folder.
func (o *options) down(ctx context.Context) error {
	if _, err := os.Stat(o.dir); errors.Is(err, os.ErrNotExist) {
		fmt.Println("no demo in", o.dir)
		return nil
	}
	release, err := o.lock()
	if err != nil {
		return err
	}
	defer release()
	demo := local.New(o.repo, o.dir)
	if err := demo.Down(ctx, func(p steps.Progress) { fmt.Println(p.Text) }); err != nil {
		return err
	}
	if err := os.RemoveAll(o.dir); err != nil {
		return fmt.Errorf("removing the demo's folder: %w", err)
	}
	fmt.Println("the demo is gone")
	return nil
}

// lock keeps two from working in one folder.
func (o *options) lock() (release func(), err error) {
	if err := os.MkdirAll(o.dir, 0o700); err != nil {
		return nil, fmt.Errorf("making the demo's folder: %w", err)
	}
	file, err := os.OpenFile(filepath.Join(o.dir, "lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("locking the demo's folder: %w", err)
	}
	if err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil { //nolint:gosec // a small number
		return nil, errors.Join(fmt.Errorf("another demo works in %s; end it with Ctrl-C first", o.dir), file.Close())
	}
	return func() { _ = file.Close() }, nil
}
