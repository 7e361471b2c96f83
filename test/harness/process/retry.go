package process

import (
	"context"
	"fmt"
	"time"
)

// retryInterval is the pause between two attempts.
const retryInterval = 200 * time.Millisecond

// Retry calls try until it returns nil. After limit, or when ctx has ended, it returns the last error of
// an attempt that the end did not interrupt. The context of try ends with the limit.
func Retry(ctx context.Context, limit time.Duration, try func(ctx context.Context) error) error {
	ctx, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("no success within %v", limit))
	defer cancel()
	tick := time.NewTicker(retryInterval)
	defer tick.Stop()
	var last error
	for {
		err := try(ctx)
		if err == nil {
			return nil
		}
		if last == nil || ctx.Err() == nil {
			last = err
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
		}
		if ctx.Err() != nil {
			return fmt.Errorf("%w: %w", context.Cause(ctx), last)
		}
	}
}
