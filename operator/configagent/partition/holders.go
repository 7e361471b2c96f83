package partition

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"
)

// holderFile returns the path of the file whose time records the last Set for a holder.
func (o Override) holderFile() string {
	sum := sha256.Sum256([]byte(o.Holder))
	return fmt.Sprintf("%s.holder-%x", o.File, sum[:8])
}

// holderFiles returns the files of all holders.
func (o Override) holderFiles() []string {
	files, _ := filepath.Glob(o.File + ".holder-*") // the pattern is valid
	return files
}

// noteHolder records that partitions are overridden for the holder, if any are.
func (o Override) noteHolder(names []string) error {
	if o.Holder == "" || len(names) == 0 {
		return nil
	}
	if err := os.WriteFile(o.holderFile(), []byte(o.Holder), 0o600); err != nil {
		return fmt.Errorf("noting for what partitions are set: %w", err)
	}
	return nil
}

// isHeldByAnother reports whether partitions are overridden for another holder whose last Set is recent.
func (o Override) isHeldByAnother() bool {
	if o.Holder == "" {
		return false
	}
	var now time.Time
	for _, path := range o.holderFiles() {
		info, err := os.Stat(path)
		if err != nil || path == o.holderFile() {
			continue
		}
		if now.IsZero() {
			now = o.now()
		}
		if now.Sub(info.ModTime()).Abs() < o.HeldFor {
			return true
		}
	}
	return false
}

// forgetHolders removes the files of noteHolder. A file that remains gets old.
func (o Override) forgetHolders() {
	for _, path := range o.holderFiles() {
		_ = os.Remove(path)
	}
}

// KeepFresh keeps Age young until stop is called, such as while a slow slurmctld gets a configuration. Otherwise a Watch
// would conclude that the agent has ended.
func (o Override) KeepFresh(ctx context.Context, interval time.Duration) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	var refreshing sync.WaitGroup
	refreshing.Go(func() {
		tick := time.NewTicker(interval)
		defer tick.Stop()
		for ctx.Err() == nil {
			o.refresh()
			select {
			case <-ctx.Done():
			case <-tick.C:
			}
		}
	})
	return func() { cancel(); refreshing.Wait() }
}

// refresh gives File and the holder's file the time of a new file. Without these files it does nothing.
func (o Override) refresh() {
	paths := []string{o.File}
	if o.Holder != "" {
		paths = append(paths, o.holderFile())
	}
	for _, path := range paths {
		if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
			now := o.now()
			_ = os.Chtimes(path, now, now) // the next one may succeed
		}
	}
}
