package local

import (
	"context"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/slurmtide/slurmtide/cmd/slurmtide/internal/steps"
)

// programImages returns the programs that run in pods.
func programImages() []string {
	return []string{"slurm-operator", "slurm-metrics-adapter", "slurm-agent"}
}

// firstImages returns the images that pods need at once: MariaDB, slurmdbd, slurmctld and our programs.
func firstImages() []string {
	return append([]string{"services:dev", "slurmdbd:" + SlurmVersion, "slurmctld:" + SlurmVersion}, programImages()...)
}

// laterImages returns the images of pods that wait for slurmctld in any case, so that they are loaded while it starts.
func laterImages() []string {
	return []string{"slurmrestd:" + SlurmVersion, "login:" + SlurmVersion, "slurmd:" + SlurmVersion}
}

// packageImages returns the images of Debian's packages.
func packageImages() []string {
	return slices.DeleteFunc(append(firstImages(), laterImages()...), func(image string) bool {
		return !strings.Contains(image, ":")
	})
}

// makeRoots makes the root file systems of the images, two at a time: one uses one processor.
func (l *Demo) makeRoots(ctx context.Context, report func(steps.Progress)) error {
	var mu sync.Mutex
	progress := steps.Progress{Total: len(packageImages())}
	tell := func(done int, text string) {
		mu.Lock()
		defer mu.Unlock()
		progress.Done += done
		progress.Text = text
		report(progress)
	}
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(2)
	for _, image := range packageImages() {
		group.Go(func() error {
			err := l.scriptStep("hack/images/root", image)(ctx, func(p steps.Progress) { tell(0, p.Text) })
			if err == nil {
				tell(1, image)
			}
			return err
		})
	}
	return group.Wait()
}

// loadImages returns a step that loads images into the node.
func (l *Demo) loadImages(images []string) func(context.Context, func(steps.Progress)) error {
	return l.scriptStep("hack/images/load", append([]string{"--dir", l.kubeDir()}, images...)...)
}
