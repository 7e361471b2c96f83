//go:build e2e

package loop_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
	"github.com/slurmtide/slurmtide/test/e2e/hpa/loop"
	"github.com/slurmtide/slurmtide/test/harness/process"
)

// hpaStatus returns a field of the HPA's status, empty if it is missing.
func hpaStatus(ctx context.Context, l *loop.Loop, field string) (string, error) {
	return l.Kube.Kubectl(ctx, "get", "hpa", "--namespace", loop.Namespace, loop.NodeSet, "-o", "jsonpath={.status."+field+"}")
}

func awaitHPAStatus(t *testing.T, l *loop.Loop, field, want string, limit time.Duration) {
	t.Helper()
	requireNoError(t, process.Retry(t.Context(), limit, func(ctx context.Context) error {
		got, err := hpaStatus(ctx, l, field)
		if err != nil || got != want {
			return fmt.Errorf("%s is %q, not %q: %w", field, got, want, err)
		}
		return nil
	}))
}

// TestANodeSetIsScaledUpAtOnce: it is scaled up between two syncs of the HPA, which then computes the same number and
// reverts nothing.
func TestANodeSetIsScaledUpAtOnce(t *testing.T) {
	t.Parallel()
	const sync = 30 * time.Second
	l := startLoop(t, loop.Config{Replicas: 1, SyncPeriod: sync}, "required-nodes")
	awaitHPAStatus(t, l, `conditions[?(@.type=="ScalingActive")].status`, "True", 2*sync+slack)
	_, err := l.Kube.Kubectl(t.Context(), "annotate", "nodeset", "--namespace", loop.Namespace, loop.NodeSet,
		v1beta1.AnnotationScaleUp+"="+v1beta1.ScaleUpImmediate)
	requireNoError(t, err)
	for _, nodes := range []int{2, 4} {
		sbatch(t, l, "--exclusive", "-N2", "--wrap", "sleep 600")
		awaitReplicas(t, l, nodes, slack)
	}
	reason, err := l.Kube.Kubectl(t.Context(), "get", "nodeset", "--namespace", loop.Namespace, loop.NodeSet, "-o",
		`jsonpath={.status.conditions[?(@.type=="WakeUp")].reason}`)
	requireNoError(t, err)
	if reason != v1beta1.ReasonScaledUp {
		t.Errorf("the reason of WakeUp is %q", reason)
	}
	scaled, err := hpaStatus(t.Context(), l, "lastScaleTime")
	requireNoError(t, err)
	awaitHPAStatus(t, l, "desiredReplicas", "4", sync+slack)
	requireReplicas(t, l, 4, 2*time.Second)
	if again, err := hpaStatus(t.Context(), l, "lastScaleTime"); err != nil || strings.TrimSpace(again) != strings.TrimSpace(scaled) {
		t.Errorf("the HPA scaled at %q and, after the operator did, at %q: %v", scaled, again, err)
	}
}
