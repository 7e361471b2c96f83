package process

import (
	"context"
	"fmt"
	"time"
)

// retryInterval is the least pause between two attempts. It is at least as long as the attempt took, and as a twentieth of
// the time waited until it is longestPause, so that waiting leaves the processors to what is waited for.
const (
	retryInterval = 200 * time.Millisecond
	longestPause  = time.Second
)

// Retry calls try until it returns nil. After limit, or when ctx has ended, it returns the last error of
// an attempt that the end did not interrupt. The context of try ends with the limit.
func Retry(ctx context.Context, limit time.Duration, try func(ctx context.Context) error) error {
	ctx, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("no success within %v", limit))
	defer cancel()
	var last error
	for start := time.Now(); ; {
		begin := time.Now()
		err := try(ctx)
		if err == nil {
			return nil
		}
		if last == nil || ctx.Err() == nil {
			last = err
		}
		select {
		case <-time.After(max(retryInterval, time.Since(begin), min(longestPause, time.Since(start)/20))):
		case <-ctx.Done():
		}
		if ctx.Err() != nil {
			return fmt.Errorf("%w: %w", context.Cause(ctx), last)
		}
	}
}
