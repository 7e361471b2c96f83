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
	maxCPUWorkers = 6
	maxGPUWorkers = 2
)

// playDemo starts the demo cluster and plays the burst once.
func (o *options) playDemo(ctx context.Context) error {
	release, err := o.lockFolder()
	if err != nil {
		return err
	}
	defer release()
	if why := o.whySimulated(); why != "" {
		fmt.Println(why)
		return o.playSimulation(ctx)
	}
	demo := local.New(o.repo, o.dir,
		local.NodeSet{Name: "cpu", Max: maxCPUWorkers}, local.NodeSet{Name: "gpu", Max: maxGPUWorkers})
	defer demo.Close()
	err = o.showDemo(ctx, "the chart slurm-stack with Slurm "+local.SlurmVersion+", a stock HorizontalPodAutoscaler",
		demo.Steps(), demo)
	if err == nil {
		fmt.Printf(whatNext, demo.EnvFile())
	}
	return err
}

// whatNext is printed after a play on Kubernetes, with the env file.
const whatNext = `  short times   the HPA waits 5 s before it scales in, and Slurm is read every second; a real cluster
                has minutes and 10 s (hack/demo/values.yaml)
  look around   source %s; kubectl get pods,nodesets,hpa; kubectl slurm top nodesets
  log in        make demo-login
`

// display shows the progress of the demo.
type display interface {
	Steps([]steps.Status)
	// Preview shows a simulation while the steps run.
	Preview(play.View)
	Play(play.View)
	Close()
}

// showDemo runs the steps, plays the burst in the environment and prints the result.
func (o *options) showDemo(ctx context.Context, how string, todo []steps.Step, world play.Environment) error {
	var screen display = show.NewPlain(os.Stdout, time.Now)
	if !o.ci && show.IsTerminal(os.Stdout) {
		screen = show.NewTerminal(os.Stdout, how)
	}
	result, err := o.runStepsAndPlay(ctx, screen, todo, world)
	screen.Close()
	if err != nil {
		return err
	}
	fmt.Print(show.Summary(result))
	if err := errors.Join(result.Verdict(), o.drawPictures(result, how)); err != nil {
		return err
	}
	fmt.Printf("  picture       %s and demo.png\n", filepath.Join(o.pictures, "demo.svg"))
	return nil
}

func (o *options) runStepsAndPlay(ctx context.Context, screen display, todo []steps.Step, world play.Environment) (
	play.Result, error) {
	preview := func(ctx context.Context) { playPreview(ctx, screen.Preview) }
	if err := runStepsWithPreview(ctx, screen.Steps, todo, preview); err != nil {
		return play.Result{}, err
	}
	return play.Run(ctx, world, playConfig(screen.Play))
}

// playConfig returns the configuration of every play.
func playConfig(show func(play.View)) play.Config {
	return play.Config{
		Templates: burst.JobTemplates(maxCPUWorkers), SampleInterval: 500 * time.Millisecond,
		ZeroPeriod: 3 * time.Second, Timeout: 5 * time.Minute, Show: show,
	}
}

// whySimulated returns the reason why the demo is simulated, or "" if it is not.
func (o *options) whySimulated() string {
	if o.simulate {
		return "simulating Slurm and its workers, as requested"
	}
	why := local.MissingRequirement()
	if why == "" {
		return ""
	}
	return why + "; simulating Slurm and its workers instead (for a kind cluster see docs/quickstart.md)"
}

// playSimulation plays the burst in a simulation.
func (o *options) playSimulation(ctx context.Context) error {
	world, err := newSimulation(ctx)
	if err != nil {
		return err
	}
	defer world.Close()
	return o.showDemo(ctx, "SIMULATED Slurm and workers, without Kubernetes; slurmtide's own client and demand",
		world.Steps(), world)
}

// newSimulation starts a simulation with the NodeSets of the demo.
func newSimulation(ctx context.Context) (*simulated.Simulation, error) {
	return simulated.New(ctx,
		simulated.NodeSet{Name: "cpu", Max: maxCPUWorkers, CPUs: 2, MemoryMiB: 500},
		simulated.NodeSet{Name: "gpu", Max: maxGPUWorkers, CPUs: 2, MemoryMiB: 500, GRES: "gpu:h100:2"})
}

// removeDemo stops the demo and removes its folder.
func (o *options) removeDemo(ctx context.Context) error {
	if _, err := os.Stat(o.dir); errors.Is(err, os.ErrNotExist) {
		fmt.Println("no demo in", o.dir)
		return nil
	}
	release, err := o.lockFolder()
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
func (o *options) lockFolder() (release func(), err error) {
	if err := os.MkdirAll(o.dir, 0o700); err != nil {
		return nil, fmt.Errorf("creating the demo's folder: %w", err)
	}
	file, err := os.OpenFile(filepath.Join(o.dir, "lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("locking the demo's folder: %w", err)
	}
	if err := syscall.Flock(int(file.Fd()),
		syscall.LOCK_EX|syscall.LOCK_NB); err != nil { //nolint:gosec // a small number
		return nil, errors.Join(fmt.Errorf("another demo uses %s; stop it with Ctrl-C first", o.dir), file.Close())
	}
	return func() { _ = file.Close() }, nil
}
