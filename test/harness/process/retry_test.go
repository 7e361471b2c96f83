package process

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"
)

func TestRetryEndsWithTheFirstSuccess(t *testing.T) {
	n := 0
	err := Retry(t.Context(), time.Minute, func(context.Context) error {
		if n++; n < 3 {
			return errors.New("not yet")
		}
		return nil
	})
	if err != nil || n != 3 {
		t.Errorf("after %d attempts: %v", n, err)
	}
}

func TestRetryReturnsTheErrorThatTheEndDidNotCause(t *testing.T) {
	n := 0
	err := Retry(t.Context(), 300*time.Millisecond, func(ctx context.Context) error {
		if n++; n == 1 {
			return errors.New("the pod is pending")
		}
		<-ctx.Done()
		return ctx.Err()
	})
	if err == nil || !strings.Contains(err.Error(), "no success within 300ms: the pod is pending") {
		t.Error(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := Retry(ctx, time.Minute, func(ctx context.Context) error { return ctx.Err() }); !errors.Is(err,
		context.Canceled) {
		t.Error(err)
	}
}
