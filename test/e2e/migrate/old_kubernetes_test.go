//go:build e2e

package migrate

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/slurmtide/slurmtide/test/e2e/hpa/loop"
	"github.com/slurmtide/slurmtide/test/harness/realkube"
)

// TestHPAsBeforeKubernetes137 tries the HPAs of the pages, as the pages do, and applies them without HPAScaleToZero, as before Kubernetes
// 1.37. test/integration/charts tests that older versions know their fields.
func TestHPAsBeforeKubernetes137(t *testing.T) {
	if !*long {
		t.Skip("it takes minutes, run it with -long")
	}
	if why := realkube.MissingRequirement(); why != "" {
		t.Skip(why)
	}
	c, err := loop.NewControlPlane(t.Context(), realkube.Config{FeatureGates: map[string]bool{"HPAScaleToZero": false}})
	must(t, err)
	t.Cleanup(func() { must(t, c.Close()) })
	for file, applies := range map[string]bool{
		"required-nodes.yaml": false, "required-nodes-external.yaml": false,
		"required-nodes-before-1.37.yaml": true, "required-nodes-before-1.33.yaml": true,
	} {
		t.Run(file, func(t *testing.T) {
			path := filepath.Join("..", "..", "..", "docs", "examples", "hpa", file)
			for _, mode := range []string{"server", "none"} {
				_, err := c.Kube.Kubectl(t.Context(), "apply", "--filename", path, "--dry-run="+mode)
				switch {
				case applies:
					must(t, err)
				case err == nil || !strings.Contains(err.Error(), "spec.minReplicas"):
					t.Errorf("with --dry-run=%s the error is %v, want one about spec.minReplicas", mode, err)
				}
			}
		})
	}
}
