package local

import (
	"context"
	"fmt"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/slurmtide/slurmtide/cmd/slurmtide/internal/steps"
)

// programImages returns the programs that run in pods.
func programImages() []string {
	return []string{"slurm-operator", "slurm-metrics-adapter", "slurm-agent"}
}

// packageImages returns the images of Debian's packages: MariaDB and the daemons of Slurm.
func packageImages() []string {
	images := []string{"services:dev"}
	for _, daemon := range []string{"slurmctld", "slurmdbd", "slurmrestd", "login", "slurmd"} {
		images = append(images, daemon+":"+SlurmVersion)
	}
	return images
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

// loadImages loads the images into the node, one after the other.
func (l *Demo) loadImages(ctx context.Context, report func(steps.Progress)) error {
	names := append(packageImages(), programImages()...)
	for i, name := range names {
		report(steps.Progress{Done: i, Total: len(names), Text: fmt.Sprintf("%s, %d of %d", name, i+1, len(names))})
		if err := l.scriptStep("hack/images/load", "--dir", l.kubeDir(), name)(
			ctx, func(steps.Progress) {}); err != nil {
			return err
		}
	}
	return nil
}
