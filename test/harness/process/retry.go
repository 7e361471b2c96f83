package process

import (
	"context"
	"fmt"
	"time"
)

// retryInterval is the least pause between two attempts. The pause is also at least as long as the last attempt, and as a twentieth of the
// waiting time, up to longestPause. Waiting thus leaves the processors to the awaited work.
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
