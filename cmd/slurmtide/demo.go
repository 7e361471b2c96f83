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
	"github.com/slurmtide/slurmtide/cmd/slurmtide/internal/simulated"
	"github.com/slurmtide/slurmtide/cmd/slurmtide/internal/steps"
)

const (
	cpuMax = 6
	gpuMax = 2
)

// playDemo starts the demo cluster and plays the burst once.
func (o *options) run(ctx context.Context) error {
	release, err := o.lock()
	if err != nil {
		return err
	}
	defer release()
	if why := o.simulated(); why != "" {
		fmt.Println(why)
		return o.simulation(ctx)
	}
	demo := local.New(o.repo, o.dir,
		local.NodeSet{Name: "cpu", ExtraConf: "CPUs=2 RealMemory=500", Max: cpuMax},
		local.NodeSet{Name: "gpu", ExtraConf: "CPUs=2 RealMemory=500 Gres=gpu:h100:2", Max: gpuMax})
	defer demo.Close()
	return o.show(ctx, "Slurm "+local.Version+" in pods, a stock HorizontalPodAutoscaler, slurmtide", demo.Steps(),
		demo)
}

// display shows the progress of the demo.
type screen interface {
	Steps([]steps.Status)
	Play(play.View)
	Close()
}

// showDemo runs the steps, plays the burst in the environment and prints the result.
func (o *options) show(ctx context.Context, how string, todo []steps.Step, world play.World) error {
	var screen screen = show.NewPlain(os.Stdout, time.Now)
	if !o.ci && show.IsTerminal(os.Stdout) {
		screen = show.NewTerminal(os.Stdout, how)
	}
	result, err := o.shown(ctx, screen, todo, world)
	screen.Close()
	if err != nil {
		return err
	}
	fmt.Print(show.Summary(result))
	if err := errors.Join(result.Verdict(), o.draw(result, how)); err != nil {
		return err
	}
	fmt.Printf("  picture       %s and demo.png\n", filepath.Join(o.pictures, "demo.svg"))
	return nil
}

func (o *options) shown(ctx context.Context, screen screen, todo []steps.Step, world play.World) (play.Result, error) {
	if err := steps.Run(ctx, time.Now, todo, screen.Steps); err != nil {
		return play.Result{}, err
	}
	return play.Run(ctx, world, play.Config{
		Shapes: burst.Shapes(cpuMax), Pause: 500 * time.Millisecond, Calm: 3 * time.Second, Limit: 5 * time.Minute,
		Show: screen.Play,
	})
}

// whySimulated says why the demo is simulated. It is empty when the demo is not simulated.
func (o *options) simulated() string {
	if o.simulate {
		return "simulating Slurm and its workers, as requested"
	}
	why := local.Missing()
	if why == "" {
		return ""
	}
	return why + "; simulating Slurm and its workers instead (for a kind cluster see docs/quickstart.md)"
}

// playSimulation plays the burst in a simulation.
func (o *options) simulation(ctx context.Context) error {
	world, err := simulated.New(ctx,
		simulated.Set{Name: "cpu", Max: cpuMax, CPUs: 2, MemoryMiB: 500},
		simulated.Set{Name: "gpu", Max: gpuMax, CPUs: 2, MemoryMiB: 500, GRES: "gpu:h100:2"})
	if err != nil {
		return err
	}
	defer world.Close()
	return o.show(ctx, "SIMULATED Slurm and workers, without Kubernetes; slurmtide's own client and demand",
		world.Steps(), world)
}

// removeDemo stops the demo and removes its folder.
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
	fmt.Println("the demo is removed")
	return nil
}

// lockFolder keeps two processes from using the same folder. It does not wait for the lock.
func (o *options) lock() (release func(), err error) {
	if err := os.MkdirAll(o.dir, 0o700); err != nil {
		return nil, fmt.Errorf("creating the demo's folder: %w", err)
	}
	file, err := os.OpenFile(filepath.Join(o.dir, "lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("locking the demo's folder: %w", err)
	}
	if err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil { //nolint:gosec // a small number
		return nil, errors.Join(fmt.Errorf("another demo uses %s; stop it with Ctrl-C first", o.dir), file.Close())
	}
	return func() { _ = file.Close() }, nil
}
