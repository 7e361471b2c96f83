package contract

import (
	"context"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/slurmtide/slurmtide/slurmclient"
	"github.com/slurmtide/slurmtide/slurmclient/slurmtest"
)

// TestThousandReadersCauseNoRequests reads the cache in a thousand goroutines and counts the
// requests at the server: there must be no more than the polls cause.
func TestThousandReadersCauseNoRequests(t *testing.T) {
	cluster := slurmtest.NewSized(time.Now, 100, 2000)
	server := httptest.NewServer(cluster.Handler())
	defer server.Close()
	client, err := slurmclient.New(slurmclient.Config{URL: server.URL, Token: fixedToken("any")})
	must(t, err)
	defer client.Close()
	const period = 500 * time.Millisecond
	cache := slurmclient.NewCache(client, slurmclient.CacheConfig{Period: period, JobsReader: slurmclient.ReadList})
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	wg.Go(func() { cache.Run(ctx) })
	must(t, cache.Refresh(ctx))
	cluster.ResetRequests()

	begin := time.Now()
	reading, stop := context.WithTimeout(ctx, 3*time.Second)
	defer stop()
	var reads atomic.Int64
	var readers sync.WaitGroup
	for range 1000 {
		readers.Go(func() {
			var after uint64
			for {
				s := cache.Snapshot()
				if len(s.Nodes.Value) != 100 || len(s.Jobs.Value) == 0 {
					t.Error("a reader got an incomplete snapshot")
					return
				}
				reads.Add(1)
				next, err := cache.Next(reading, after)
				if err != nil {
					return
				}
				after = next.Sequence
			}
		})
	}
	readers.Wait()
	periods := int(time.Since(begin)/period) + 1
	lists := 0
	for op, n := range cluster.RequestCounts() {
		if !strings.HasPrefix(op, "GET ") {
			t.Errorf("unexpected request %s", op)
		}
		// The poll period has a jitter of one tenth.
		if most := periods + periods/10 + 1; n > most {
			t.Errorf("%d times %s in %d periods", n, op, periods)
		}
		lists += n
	}
	cancel()
	wg.Wait()
	t.Logf("%d reads, %d requests in %d periods: %v", reads.Load(), lists, periods, cluster.RequestCounts())
	if lists == 0 || reads.Load() < 5000 {
		t.Errorf("only %d requests and %d reads", lists, reads.Load())
	}
}
