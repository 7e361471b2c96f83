package realkube

import (
	"context"
	"fmt"
	"time"
)

// established is how long definitions may take to be served.
const established = time.Minute

// Established waits until the custom resource definitions, by their names, are served.
// kubectl wait alone fails for one that has no conditions yet.
func (c *Cluster) Established(ctx context.Context, definitions ...string) error {
	args := append([]string{"wait", "--for=condition=Established", "--timeout=60s", "crd"}, definitions...)
	for begin := time.Now(); ; time.Sleep(100 * time.Millisecond) {
		_, err := c.Kubectl(ctx, args...)
		switch {
		case err == nil:
			return nil
		case ctx.Err() != nil || time.Since(begin) > established:
			return fmt.Errorf("waiting for definitions: %w", err)
		}
	}
}
