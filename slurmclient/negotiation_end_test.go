package slurmclient_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/slurmtide/slurmtide/slurmclient"
)

// TestANegotiationEndsWithTheLastRequest checks that a negotiation outlives the request that began it while another
// one waits for it, and then ends: synctest reports goroutines that are left behind.
func TestANegotiationEndsWithTheLastRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client, err := slurmclient.New(slurmclient.Config{URL: "unix://" + t.TempDir() + "/nobody.sock"})
		if err != nil {
			t.Fatal(err)
		}
		ping := func(after time.Duration) <-chan error {
			ctx, cancel := context.WithTimeout(t.Context(), after)
			result := make(chan error, 1)
			go func() {
				defer cancel()
				_, err := client.Ping(ctx)
				result <- err
			}()
			return result
		}
		first, second := ping(time.Millisecond), ping(2*time.Millisecond)
		for _, result := range []<-chan error{first, second} {
			if err := <-result; !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("the error is %v", err)
			}
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if _, err := client.Ping(ctx); err == nil || errors.Is(err, context.Canceled) {
			t.Errorf("a request after them joined the negotiation that was cancelled: %v", err)
		}
	})
}
