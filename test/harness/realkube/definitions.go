package realkube

import (
	"context"
	"fmt"
	"time"
)

// establishTimeout is how long the API server may take to serve CRDs.
const establishTimeout = time.Minute

// AwaitEstablished waits until the API server serves the named custom resource definitions.
// kubectl wait fails for a definition that has no conditions yet, so it is retried.
func (c *Cluster) AwaitEstablished(ctx context.Context, definitions ...string) error {
	args := append([]string{"wait", "--for=condition=Established", "--timeout=60s", "crd"}, definitions...)
	for begin := time.Now(); ; time.Sleep(100 * time.Millisecond) {
		_, err := c.Kubectl(ctx, args...)
		switch {
		case err == nil:
			return nil
		case ctx.Err() != nil || time.Since(begin) > establishTimeout:
			return fmt.Errorf("waiting for definitions: %w", err)
		}
	}
}
