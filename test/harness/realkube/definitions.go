package realkube

import (
	"context"
	"fmt"
	"time"

	"github.com/slurmtide/slurmtide/test/harness/process"
)

// establishTimeout is how long the API server may take to serve CRDs.
const establishTimeout = time.Minute

// AwaitEstablished waits until the API server serves the named custom resource definitions.
// kubectl wait fails for a definition that has no conditions yet, so it is retried.
func (c *Cluster) AwaitEstablished(ctx context.Context, definitions ...string) error {
	args := append([]string{"wait", "--for=condition=Established", "--timeout=60s", "crd"}, definitions...)
	err := process.Retry(ctx, establishTimeout, func(ctx context.Context) error {
		_, err := c.Kubectl(ctx, args...)
		return err
	})
	if err != nil {
		return fmt.Errorf("waiting for definitions: %w", err)
	}
	return nil
}
